package clock

import (
	"encoding/binary"
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
// does, the receiver gives up on it after a while (Forget). One that the receiver's program drops
// is taken like any other.
type Links struct{ page *Page }

// NewLinks returns the links of a page; count is how many directions are in use.
func NewLinks(p *Page, count int) (Links, error) {
	if count < 0 || count > MaxLinks {
		return Links{}, fmt.Errorf("%d directions of links: at most %d", count, MaxLinks)
	}
	p.use(wordLinks, count)
	return Links{p}, nil
}

// Flight is a frame on its way.
type Flight struct {
	At    unit.Time // when its last bit arrives
	Check Check     // by which the receiver knows it again
}

// Check is what tells a frame from the others on its way, in CheckBits bits: it is made of the
// length and of the headers, with those that tell packets of a queue pair from each other. Two
// frames of equal checks are taken for the same.
type Check uint64

// CheckBits is so many that of 10^12 pairs of frames that are not the same one has equal checks. A
// pair is compared for each frame that is lost, and for each that comes in front of one that the
// receiver's program drops.
const CheckBits = 40

// CheckOf makes the check of a frame. bpf/switch.c has its twin.
func CheckOf(frame []byte) Check {
	h := uint64(len(frame)) * checkMix
	for b := frame[:min(len(frame), checked)]; len(b) >= 8; b = b[8:] {
		h = (h ^ binary.LittleEndian.Uint64(b)) * checkMix
		h ^= h >> 32
	}
	return Check(h >> (64 - CheckBits))
}

const (
	checked  = 80                 // bytes: a VLAN tag, IPv6, UDP and the BTH
	checkMix = 0x9e3779b97f4a7c15 // 2^64 by the golden ratio: Knuth, TAOCP vol 3 6.4
)

func linkWord(link int) int { return linkBase + linkWords*link }

// flightWord is where the n-th frame of a link is: its time, and then its check.
func flightWord(link int, n uint64) int {
	return linkWord(link) + linkFrames + flightWords*int(n%LinkFrames)
}

// arrives is when the n-th frame of a link does.
func (p *Page) arrives(link int, n uint64) unit.Time {
	return unit.Time(p.words.At(flightWord(link, n)).Load())
}

// next is when the oldest frame on its way on a link arrives, never if none is, and how many have
// been handed and taken so far.
func (p *Page) next(link int) (at unit.Time, moved uint64) {
	base := linkWord(link)
	taken := p.words.At(base + linkTaken).Load()
	handed := p.words.At(base + linkHanded).Load()
	if handed == taken {
		return unit.Never, handed + taken
	}
	return p.arrives(link, taken), handed + taken
}

// Handing tells of frames that are about to be handed to the kernel, in the order of their arrival.
// Call it before they are, or the receiver could take a frame that is not on its way yet. The
// caller sees to it that no more than LinkFrames are on their way.
func (l Links) Handing(link int, frames []Flight) {
	handed := l.page.words.At(linkWord(link) + linkHanded)
	n := handed.Load()
	for i, f := range frames {
		at := flightWord(link, n+uint64(i))
		l.page.words.At(at).Store(uint64(f.At))
		l.page.words.At(at + 1).Store(uint64(f.Check))
	}
	handed.Store(n + uint64(len(frames)))
}

// Take finds the frame that the receiver got among those on their way and returns when it
// arrives. Those that were to arrive before it are lost. It reports false if the sender has not
// told of the frame.
func (l Links) Take(link int, check Check) (at unit.Time, lost int, ok bool) {
	if lost = l.Find(link, check); lost < 0 {
		return 0, 0, false
	}
	taken := l.page.words.At(linkWord(link) + linkTaken)
	n := taken.Load() + uint64(lost)
	at = l.page.arrives(link, n)
	taken.Store(n + 1) // the sender may write over it now
	return at, lost, true
}

// Find is how many frames are on their way in front of the one with this check, the first if there
// are several; below zero if the sender has not told of it.
func (l Links) Find(link int, check Check) int {
	base := linkWord(link)
	first := l.page.words.At(base + linkTaken).Load()
	end := l.page.words.At(base + linkHanded).Load()
	for n := first; n != end; n++ {
		if Check(l.page.words.At(flightWord(link, n)+1).Load()) == check {
			return int(n - first)
		}
	}
	return -1
}

// Next is when the oldest frame on its way arrives, or unit.Never.
func (l Links) Next(link int) unit.Time {
	at, _ := l.page.next(link)
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
