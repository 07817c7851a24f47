package clock

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// Words of a link: one direction between two loops of the lab. Sender and receiver have a cache
// line each.
const (
	linkHanded = 0  // frames the sender has handed to the kernel
	linkTaken  = 8  // frames the receiver has taken out of its ring, or given up
	linkFrames = 16 // of the latest LinkFrames of them: when each arrives, and what tells it
)

// LinkFrames is how many frames of a direction can be on their way at once. It is more than the
// ring of a veth holds, 256 frames less those taken but not cleared.
const LinkFrames = 256

// Links tells for each frame in the kernel between two loops when it arrives, in virtual time. So a
// frame arrives at its time, however long the kernel took: what the receiver decides does not
// hang on the speed of the machine. And the clock waits for frames as it waits for loops: a
// softirq that is put off cannot make a frame late.
//
// Only frames that end in the receiver's socket are told of; what a NIC's program passes to its
// kernel is not. A frame that the kernel lost is found out when a later one arrives; if none
// does, the receiver gives up on it after a while (Forget).
type Links struct{ page *Page }

// NewLinks returns the links of a page; count is how many directions are in use.
func NewLinks(p *Page, count int) (Links, error) {
	if count < 0 || count > MaxLinks {
		return Links{}, fmt.Errorf("%d directions of links: at most %d", count, MaxLinks)
	}
	p.use(wordLinks, count)
	return Links{p}, nil
}

// Flight is a frame on its way: when its last bit arrives, and sixteen bits by which the receiver
// knows it again. The time is kept modulo 2^48 ns, which is three days.
type Flight uint64

const flightTime = 1<<48 - 1

// NewFlight makes the record of a frame.
func NewFlight(arrive unit.Time, check uint16) Flight {
	return Flight(uint64(check)<<48 | uint64(arrive)&flightTime)
}

// check is what tells the frame.
func (f Flight) check() uint16 { return uint16(f >> 48) }

// at is when the frame arrives: the time nearest to near that agrees with the record.
func (f Flight) at(near unit.Time) unit.Time {
	ahead := int64(uint64(f)-uint64(near)) << 16 >> 16 // the difference in 48 bits, with its sign
	return near + unit.Time(ahead)
}

func linkWord(link int) int { return linkBase + linkWords*link }

func (p *Page) flight(link int, n uint64) Flight {
	return Flight(p.words.At(linkWord(link) + linkFrames + int(n%LinkFrames)).Load())
}

// next is when the oldest frame on its way on a link arrives, never if none is, and how many have
// been handed and taken so far.
func (p *Page) next(link int, near unit.Time) (at unit.Time, moved uint64) {
	base := linkWord(link)
	taken := p.words.At(base + linkTaken).Load()
	handed := p.words.At(base + linkHanded).Load()
	if handed == taken {
		return unit.Never, handed + taken
	}
	return p.flight(link, taken).at(near), handed + taken
}

// Handing tells of frames that are about to be handed to the kernel, in the order of their arrival.
// Call it before they are, or the receiver could take a frame that is not on its way yet. The
// caller sees to it that no more than LinkFrames are on their way.
func (l Links) Handing(link int, frames []Flight) {
	base := linkWord(link)
	handed := l.page.words.At(base + linkHanded)
	n := handed.Load()
	for i, f := range frames {
		l.page.words.At(base + linkFrames + int((n+uint64(i))%LinkFrames)).Store(uint64(f))
	}
	handed.Store(n + uint64(len(frames)))
}

// Take finds the frame that the receiver got among those on their way and returns when it
// arrives; near is any time within a day of it. Those that were to arrive before it are lost. It
// reports false if the sender has not told of the frame.
func (l Links) Take(link int, check uint16, near unit.Time) (at unit.Time, lost int, ok bool) {
	base := linkWord(link)
	taken := l.page.words.At(base + linkTaken)
	first, end := taken.Load(), l.page.words.At(base+linkHanded).Load()
	for n := first; n != end; n++ {
		if f := l.page.flight(link, n); f.check() == check {
			taken.Store(n + 1)
			return f.at(near), int(n - first), true
		}
	}
	return 0, 0, false
}

// Next is when the oldest frame on its way arrives, or unit.Never; near is any time within a day.
func (l Links) Next(link int, near unit.Time) unit.Time {
	at, _ := l.page.next(link, near)
	return at
}

// OnTheWay is how many frames are in the kernel.
func (l Links) OnTheWay(link int) int {
	base := linkWord(link)
	taken := l.page.words.At(base + linkTaken).Load()
	return max(int(l.page.words.At(base+linkHanded).Load()-taken), 0)
}

// Forget gives up on n frames, the oldest that are on their way, or as many as there are. It
// returns how many that was.
func (l Links) Forget(link, n int) int {
	n = min(n, l.OnTheWay(link))
	l.page.words.At(linkWord(link) + linkTaken).Add(uint64(n))
	return n
}
