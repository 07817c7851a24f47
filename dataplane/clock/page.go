package clock

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/rocelab/rocelab/dataplane/shm"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// Layout of the page in words. Slots are a cache line each, so loops do not disturb each other.
const (
	wordMagic   = 0
	wordSeq     = 1 // odd while a writer is inside
	wordIndex   = 2 // number of the newest segment
	wordBudget  = 3 // lateness budget, virtual ns
	wordHeldNs  = 4 // real time during which the clock was held, ns
	wordStarted = 5 // real time of the first start, 0 before
	wordLinks   = 6 // directions of links in use
	wordSlots   = 7 // slots in use
	wordStop    = 8 // virtual time at which the clock stands still
	segBase     = 16
	segWords    = 4 // r0, v0, speed, spare
	segCount    = 32
	slotBase    = segBase + segWords*segCount
	slotWords   = 8
	linkBase    = slotBase + slotWords*MaxSlots
	linkWords   = 16 + flightWords*LinkFrames // what the sender writes, what the receiver does
	flightWords = 2                           // when the frame arrives, and its check
	pageWords   = linkBase + linkWords*MaxLinks

	// The version is in the magic: a daemon of another build refuses the page.
	magic = 0x726f63656c616205
)

// MaxSlots is how many loops can share a page, MaxLinks how many directions of links.
const (
	MaxSlots = 128
	MaxLinks = 1024
)

// speedOne is the speed of real time, in 32.32 fixed point virtual ns per real ns.
const speedOne = 1 << 32

// never is unit.Never as the page stores it.
const never = uint64(math.MaxInt64)

// Page is the shared clock of a lab.
type Page struct{ words *shm.Words }

// Create makes a page at path, standing still at virtual time 0. budget is how late a loop may
// act before the clock waits for it; unit.Never for not at all.
func Create(path string, budget unit.Time) (*Page, error) {
	words, err := shm.Create(path, pageWords)
	if err != nil {
		return nil, err
	}
	return format(words, budget), nil
}

// Open maps the page another process created.
func Open(path string) (*Page, error) {
	words, err := shm.Open(path, pageWords)
	if err != nil {
		return nil, err
	}
	if got := words.At(wordMagic).Load(); got != magic {
		return nil, fmt.Errorf(
			"clock page %s: magic %#x, want %#x (made by another version?)",
			path,
			got,
			uint64(magic),
		)
	}
	return &Page{words: words}, nil
}

// Private makes a page that no other process sees.
func Private(budget unit.Time) *Page { return format(shm.Private(pageWords), budget) }

func format(words *shm.Words, budget unit.Time) *Page {
	p := &Page{words: words}
	for i := range MaxSlots {
		words.At(p.slotWord(i, slotDeadline)).Store(never)
	}
	words.At(wordBudget).Store(uint64(budget))
	words.At(wordStop).Store(never)
	words.At(wordMagic).Store(magic)
	return p
}

// Close unmaps the page.
func (p *Page) Close() error { return p.words.Close() }

// Budget is the lateness in virtual time that no loop passes.
func (p *Page) Budget() unit.Time { return unit.Time(p.words.At(wordBudget).Load()) }

// StopAt has the clock stand still when it shows at, until another time is said; unit.Never for not
// at all. It must not have shown that yet. Loops then do all that is due up to at, and no more.
func (p *Page) StopAt(at unit.Time) { p.words.At(wordStop).Store(uint64(at)) }

func (p *Page) stop() unit.Time { return unit.Time(p.words.At(wordStop).Load()) }

type segment struct {
	r0    int64
	v0    unit.Time
	speed uint64
}

func (s segment) at(mono int64) unit.Time {
	if mono <= s.r0 {
		return s.v0
	}
	hi, lo := bits.Mul64(uint64(mono-s.r0), s.speed)
	return s.v0 + unit.Time(hi<<32|lo>>32)
}

func (p *Page) segment(n uint64) segment {
	base := segBase + segWords*int(n%segCount)
	return segment{
		r0:    int64(p.words.At(base).Load()),
		v0:    unit.Time(p.words.At(base + 1).Load()),
		speed: p.words.At(base + 2).Load(),
	}
}

func (p *Page) store(n uint64, s segment) {
	base := segBase + segWords*int(n%segCount)
	p.words.At(base).Store(uint64(s.r0))
	p.words.At(base + 1).Store(uint64(s.v0))
	p.words.At(base + 2).Store(s.speed)
	p.words.At(wordIndex).Store(n)
}

// current returns the newest segment. It retries while a writer is inside, but not for ever: a
// writer that was killed inside leaves a clock that stands still, which the lab notices.
func (p *Page) current() (segment, bool) {
	for range 1000 {
		seq := p.words.At(wordSeq).Load()
		if seq&1 != 0 {
			continue
		}
		s := p.segment(p.words.At(wordIndex).Load())
		if p.words.At(wordSeq).Load() == seq {
			return s, true
		}
	}
	return segment{}, false
}

// update runs change under the page's lock, giving it the newest segment. It reports false if
// another writer was inside.
func (p *Page) update(change func(n uint64, s segment)) bool {
	seq := p.words.At(wordSeq).Load()
	if seq&1 != 0 || !p.words.At(wordSeq).CompareAndSwap(seq, seq+1) {
		return false
	}
	n := p.words.At(wordIndex).Load()
	change(n, p.segment(n))
	p.words.At(wordSeq).Store(seq + 2)
	return true
}

// Virtual converts a monotonic time stamp, exactly if it is not older than the kept segments. It
// reports false if the page cannot be read because a writer is inside.
func (p *Page) Virtual(mono int64) (unit.Time, bool) {
	for range 1000 {
		seq := p.words.At(wordSeq).Load()
		if seq&1 != 0 {
			continue
		}
		v := p.lookup(mono)
		if p.words.At(wordSeq).Load() == seq {
			return v, true
		}
	}
	return 0, false
}

// Settled is Virtual for callers who may wait while a writer is suspended inside; false means that
// the writer must be dead.
func (p *Page) Settled(mono int64) (unit.Time, bool) {
	for deadline := Monotonic() + dead.Nanoseconds(); Monotonic() < deadline; nap(suspended) {
		if v, ok := p.Virtual(mono); ok {
			return v, true
		}
	}
	return 0, false
}

func (p *Page) lookup(mono int64) unit.Time {
	n := p.words.At(wordIndex).Load()
	s := p.segment(n)
	limit := unit.Never // where the following segment starts
	for back := uint64(1); mono < s.r0 && back < segCount && back <= n; back++ {
		limit = s.v0
		s = p.segment(n - back)
	}
	return min(s.at(mono), limit)
}
