package clock

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// Words of a slot.
const (
	slotDeadline = iota // virtual time by which the loop must act on its own
	slotLate            // largest lateness seen, virtual ns
)

func (p *Page) slotWord(slot, word int) int { return slotBase + slotWords*slot + word }

// Clock is one loop's view of a page. It is not safe for concurrent use.
type Clock struct {
	page *Page
	slot int
	last unit.Time
	mono func() int64 // CLOCK_MONOTONIC
	own  own
}

// NewClock returns the view of the loop with the given slot, of slots in use in all.
func NewClock(p *Page, slot, slots int) (*Clock, error) {
	if slot < 0 || slot >= slots || slots > MaxSlots {
		return nil, fmt.Errorf("clock slot %d of %d: at most %d slots", slot, slots, MaxSlots)
	}
	p.use(wordSlots, slots)
	return &Clock{page: p, slot: slot, mono: Monotonic}, nil
}

// use raises a count of what is in use.
func (p *Page) use(word, count int) {
	w := p.words.At(word)
	for old := w.Load(); old < uint64(count) && !w.CompareAndSwap(old, uint64(count)); {
		old = w.Load()
	}
}

// Page is the page behind the clock.
func (c *Clock) Page() *Page { return c.page }

// Begin starts a turn of the loop: it returns the virtual time, which never goes back, and the
// monotonic time it was read at, and publishes that the loop is at work on everything up to then;
// a deadline that has passed stays until the turn has seen to it. It holds the clock for loops
// and frames that are late, this loop included.
func (c *Clock) Begin() (unit.Time, int64) {
	own := unit.Time(c.page.words.At(c.page.slotWord(c.slot, slotDeadline)).Load())
	now, mono := c.now(own)
	c.Publish(min(own, now))
	// A thread that was suspended between reading and publishing has been waited for no longer
	// than its old deadline said; where the others have got to meanwhile is what counts. From
	// here on they wait.
	if v, m := c.now(own); v > now {
		now, mono = v, m
		c.Publish(min(own, now))
	}
	c.last = max(c.last, now)
	c.lose(mono)
	return c.last, mono
}

// now reads the clock with regard to all other loops, and to own, this one's deadline. While a
// writer is suspended inside the page, nobody can read it and time stands still for all, so now
// waits; after a while the writer must be dead, and the clock stays where it was.
func (c *Clock) now(own unit.Time) (unit.Time, int64) {
	mono := c.mono()
	for deadline := mono + dead.Nanoseconds(); mono < deadline; mono = c.mono() {
		s, ok := c.page.current()
		if !ok {
			nap(suspended)
			continue
		}
		v := s.at(mono)
		limit, known := c.page.limit(c.slot)
		if !known {
			continue
		}
		limit = min(limit, own.Add(time.Duration(c.page.Budget())))
		if v <= limit || s.speed == 0 {
			return v, mono
		}
		if c.hold(mono, limit) {
			return max(limit, s.v0), mono
		}
	}
	return c.last, mono
}

// suspended is when to look again at a page whose writer is suspended inside.
const suspended = 20 * time.Microsecond

// dead is after how long a writer inside is taken for killed: many times what a runnable thread is
// kept from running on a machine that works.
const dead = 300 * time.Millisecond

// nap is a sleep that is exact to microseconds, which the runtime's is not.
func nap(d time.Duration) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&ts, nil) // ended early by a signal: the caller looks again anyway
}

// limit is the latest time the clock may show: the budget past the earliest moment for which a
// loop or a frame on its way is waited for, and no later than its stop. One slot may be left out;
// -1 for none.
//
// What is waited for passes from a loop to a frame when one is handed over, and on to the next loop
// when it is taken. Who reads the slots and the links one after the other could miss it on its
// way, so nothing is known (false) if a frame has moved meanwhile: ask again.
func (p *Page) limit(except int) (unit.Time, bool) {
	budget := p.Budget()
	if budget == unit.Never {
		return p.stop(), true
	}
	earliest, moved := p.flights()
	for i := range int(p.words.At(wordSlots).Load()) {
		if i != except {
			deadline := p.words.At(p.slotWord(i, slotDeadline)).Load()
			earliest = min(earliest, unit.Time(deadline))
		}
	}
	again, then := p.flights()
	if earliest = min(earliest, again); earliest != unit.Never {
		earliest += budget
	}
	return min(earliest, p.stop()), then == moved
}

// flights is when the earliest frame on its way arrives, and how many have been handed and taken
// so far: if that has not changed, none has moved.
func (p *Page) flights() (earliest unit.Time, moved uint64) {
	earliest = unit.Never
	for link := range int(p.words.At(wordLinks).Load()) {
		at, n := p.next(link)
		earliest, moved = min(earliest, at), moved+n
	}
	return earliest, moved
}

// hold makes limit the virtual time of this moment, unless somebody else has held the clock since.
// It reports false if another writer was inside.
func (c *Clock) hold(mono int64, limit unit.Time) bool {
	return c.page.update(func(n uint64, s segment) {
		next := segment{r0: mono, v0: max(limit, s.v0), speed: s.speed}
		over := s.at(mono) - next.v0
		if over <= 0 || s.speed == 0 {
			return
		}
		if limit < c.page.stop() { // for who is late
			real := float64(over) * speedOne / float64(s.speed)
			c.page.words.At(wordHeldNs).Add(uint64(int64(real)))
		}
		if next.v0 == s.v0 {
			c.page.store(n, next) // the same stop goes on
			return
		}
		c.page.store(n+1, next)
	})
}

// Speed is how fast the clock runs at present, in virtual seconds per second; zero while it stands
// still.
func (c *Clock) Speed() float64 {
	s, ok := c.page.current()
	if !ok {
		return 0
	}
	return float64(s.speed) / speedOne
}

// Publish tells the others by when this loop must act: it will not be asked before.
func (c *Clock) Publish(deadline unit.Time) {
	c.page.words.At(c.page.slotWord(c.slot, slotDeadline)).Store(uint64(deadline))
}

// Until returns how much real time passes before the clock shows v: 0 if it already does, and
// limit at most, which is also the answer while the clock stands still. While the clock is held
// for others before v, it is a moment in which they can run.
func (c *Clock) Until(v unit.Time, limit time.Duration) time.Duration {
	s, ok := c.page.current()
	switch {
	case !ok:
		return min(suspended, limit)
	case s.speed == 0 || v == unit.Never:
		return limit
	}
	now := s.at(c.mono())
	ahead := time.Duration(float64(v-now) * speedOne / float64(s.speed))
	if at, known := c.page.limit(c.slot); !known || at < v {
		return min(max(ahead, others), limit)
	}
	return max(min(ahead+1, limit), 0)
}

// others is how long a loop sleeps that can do nothing before another one has moved. Loops that
// looked again and again instead would take the cores from the one that they wait for, and the
// scheduler would let it wait for milliseconds.
const others = 10 * time.Microsecond

// ReportLate keeps the largest lateness of this loop for the governor and the certificate.
func (c *Clock) ReportLate(late unit.Time) {
	w := c.page.words.At(c.page.slotWord(c.slot, slotLate))
	if uint64(late) > w.Load() {
		w.Store(uint64(late))
	}
}

// Leave withdraws the slot: the clock no longer waits for this loop.
func (c *Clock) Leave() { c.Publish(unit.Never) }
