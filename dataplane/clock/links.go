package clock

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// Words of a link: one direction between two loops of the lab.
const (
	linkHanded = iota // frames the sender has handed to the kernel
	linkTaken         // frames the receiver has taken out of its ring
	linkSince         // virtual time since which the oldest of the others is on its way, at least
)

// Links counts the frames that are in the kernel between two loops, so that the clock waits for
// them as it waits for loops: a softirq that is put off must not make a frame late.
//
// Only frames that end in the receiver's socket are counted, on both sides by the same rule; what
// a NIC's program passes to its kernel is not. A frame that the kernel lost would be waited for for
// ever, so a receiver that has found its ring empty for a while gives up on it (Forget).
type Links struct{ page *Page }

// NewLinks returns the links of a page; count is how many directions are in use.
func NewLinks(p *Page, count int) (Links, error) {
	if count < 0 || count > MaxLinks {
		return Links{}, fmt.Errorf("%d directions of links: at most %d", count, MaxLinks)
	}
	p.use(wordLinks, count)
	return Links{p}, nil
}

func linkWord(link int) int { return linkBase + linkWords*link }

// waiting is since when a frame is on its way on a link; never if none is.
func (p *Page) waiting(link int) uint64 {
	base := linkWord(link)
	taken := p.words.At(base + linkTaken).Load()
	if int64(p.words.At(base+linkHanded).Load()-taken) <= 0 {
		return never
	}
	return p.words.At(base + linkSince).Load()
}

// Handing tells that n frames are about to be handed to the kernel at now. Call it before they are,
// or the receiver could take a frame that is not on its way yet.
func (l Links) Handing(link, n int, now unit.Time) {
	base := linkWord(link)
	if l.page.waiting(link) == never {
		l.page.words.At(base + linkSince).Store(uint64(now))
	}
	l.page.words.At(base + linkHanded).Add(uint64(n))
}

// Took tells that the receiver took n frames at now, all that were there.
func (l Links) Took(link, n int, now unit.Time) {
	base := linkWord(link)
	l.page.words.At(base + linkSince).Store(uint64(now))
	l.page.words.At(base + linkTaken).Add(uint64(n))
}

// OnTheWay is how many frames are in the kernel.
func (l Links) OnTheWay(link int) int {
	base := linkWord(link)
	taken := l.page.words.At(base + linkTaken).Load()
	return max(int(l.page.words.At(base+linkHanded).Load()-taken), 0)
}

// Waiting reports whether frames are on their way.
func (l Links) Waiting(link int) bool { return l.page.waiting(link) != never }

// Forget gives up on the frames that are on their way and returns how many there were.
func (l Links) Forget(link int) uint64 {
	base := linkWord(link)
	handed, taken := l.page.words.At(base+linkHanded), l.page.words.At(base+linkTaken)
	lost := handed.Load() - taken.Load()
	taken.Add(lost)
	return lost
}
