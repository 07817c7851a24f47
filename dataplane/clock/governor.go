package clock

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// Governor sets the speed of a page. One per lab.
//
// Every Adjust looks at the share of real time since the last one during which the clock was held
// for a late loop. Above holdHigh it slows the clock, below holdLow it speeds it up, in steps of a
// tenth: multiplicative both ways, because the right speed is unknown by orders of magnitude.
type Governor struct {
	page     *Page
	min, max float64 // bounds of the dilation factor k

	k        float64 // 0 while the clock stands still
	lastMono int64
	lastHeld uint64
}

// Holding bounds lateness, it does not remove it, and every hold is a frame that was late by the
// budget. The band is low enough that most frames are handled as they arrive, and above zero so
// that the machine is used: two cores then run the demo's incast at k = 150 to 200.
const (
	holdLow  = 0.01
	holdHigh = 0.03
	step     = 1.1
)

// NewGovernor keeps the dilation factor of p between min and max. Equal bounds fix it.
func NewGovernor(p *Page, min, max float64) (*Governor, error) {
	if min < 1 || max < min {
		return nil, fmt.Errorf("dilation %g..%g: want 1 <= min <= max", min, max)
	}
	return &Governor{page: p, min: min, max: max}, nil
}

// Start lets the clock run, k real seconds for each virtual one.
func (g *Governor) Start(k float64) {
	mono := Monotonic()
	g.lastMono, g.lastHeld = mono, g.page.words.At(wordHeldNs).Load()
	g.page.words.At(wordStarted).CompareAndSwap(0, uint64(mono))
	g.set(k)
}

// Stop makes the clock stand still.
func (g *Governor) Stop() {
	g.k = 0
	g.setSpeed(0)
}

func (g *Governor) set(k float64) {
	g.k = min(max(k, g.min), g.max)
	g.setSpeed(uint64(speedOne / g.k))
}

func (g *Governor) setSpeed(speed uint64) {
	deadline := Monotonic() + int64(time.Second)
	for Monotonic() < deadline {
		mono := Monotonic()
		_, ok := g.page.current()
		limit, known := g.page.limit(-1)
		if !ok || !known {
			continue
		}
		if g.page.update(func(n uint64, s segment) {
			v0 := max(min(s.at(mono), limit), s.v0)
			g.page.store(n+1, segment{r0: max(mono, s.r0), v0: v0, speed: speed})
		}) {
			return
		}
	}
}

// Adjust moves the speed by at most one step. Call it every few tens of milliseconds.
func (g *Governor) Adjust() {
	mono, held := Monotonic(), g.page.words.At(wordHeldNs).Load()
	share := float64(held-g.lastHeld) / float64(max(mono-g.lastMono, 1))
	g.lastMono, g.lastHeld = mono, held
	k := g.k
	switch {
	case k == 0 || g.page.stopped(mono):
		return
	case share > holdHigh:
		k *= step
	case share < holdLow:
		k /= step
	default:
		return
	}
	g.set(k)
}

// stopped reports whether the clock stands at its stop, where how long it is held tells nothing of
// the machine.
func (p *Page) stopped(mono int64) bool {
	s, ok := p.current()
	return ok && s.at(mono) >= p.stop()
}

// Status is what the clock did so far.
type Status struct {
	Virtual  unit.Time     // virtual time now
	Dilation float64       // the factor k it runs at now; 0 if it stands still
	Readable bool          // false if a daemon was killed in the middle of setting the clock
	Real     time.Duration // real time since the first start
	Held     time.Duration // real time during which it was held for a late loop
	WorstLag time.Duration // largest lateness of any loop, virtual
}

// Status reads the page without holding the clock.
func (p *Page) Status() Status {
	mono := Monotonic()
	st := Status{Held: time.Duration(p.words.At(wordHeldNs).Load())}
	st.Virtual, st.Readable = p.Settled(mono)
	if s, ok := p.current(); ok && s.speed != 0 {
		st.Dilation = speedOne / float64(s.speed)
	}
	if start := p.words.At(wordStarted).Load(); start != 0 {
		st.Real = time.Duration(mono - int64(start))
	}
	for i := range MaxSlots {
		late := p.words.At(p.slotWord(i, slotLate)).Load()
		st.WorstLag = max(st.WorstLag, time.Duration(late))
	}
	return st
}
