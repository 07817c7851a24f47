package clock

import (
	"fmt"

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
	page  *Page
	slot  int
	slots int // slots in use, the ones to look at
	last  unit.Time
}

// NewClock returns the view of the loop with the given slot, of slots in use in all.
func NewClock(p *Page, slot, slots int) (*Clock, error) {
	if slot < 0 || slot >= slots || slots > MaxSlots {
		return nil, fmt.Errorf("clock slot %d of %d: at most %d slots", slot, slots, MaxSlots)
	}
	return &Clock{page: p, slot: slot, slots: slots}, nil
}

// Page is the page behind the clock.
func (c *Clock) Page() *Page { return c.page }

// Now returns the virtual time, which never goes back, and the monotonic time it was read at. It
// holds the clock for loops that are late.
func (c *Clock) Now() (unit.Time, int64) {
	mono := Monotonic()
	s, ok := c.page.current()
	if !ok {
		return c.last, mono
	}
	v := s.at(mono)
	if limit := c.limit(); v > limit && s.speed != 0 {
		c.hold(mono, limit)
		v = max(limit, s.v0)
	}
	c.last = max(c.last, v)
	return c.last, mono
}

// limit is the latest time the clock may show: the budget past the earliest deadline.
func (c *Clock) limit() unit.Time {
	budget := c.page.Budget()
	if budget == unit.Never {
		return unit.Never
	}
	earliest := never
	for i := range c.slots {
		earliest = min(earliest, c.page.words.At(c.page.slotWord(i, slotDeadline)).Load())
	}
	for i := range int(c.page.words.At(wordLinks).Load()) {
		earliest = min(earliest, c.page.waiting(i))
	}
	if unit.Time(earliest) == unit.Never {
		return unit.Never
	}
	return unit.Time(earliest) + budget
}

// hold makes limit the virtual time of this moment. Somebody else's hold a moment earlier is as
// good, so losing the race for the lock is no failure.
func (c *Clock) hold(mono int64, limit unit.Time) {
	c.page.update(func(n uint64, s segment) {
		over := s.at(mono) - limit
		if over <= 0 || mono <= s.r0 || s.speed == 0 {
			return
		}
		c.page.words.At(wordHeldNs).Add(uint64(int64(float64(over) * speedOne / float64(s.speed))))
		next := segment{r0: mono, v0: max(limit, s.v0), speed: s.speed}
		if next.v0 == s.v0 {
			c.page.store(n, next) // the same stop goes on
			return
		}
		c.page.store(n+1, next)
	})
}

// Publish tells the others by when this loop must act: it will not be asked before.
func (c *Clock) Publish(deadline unit.Time) {
	c.page.words.At(c.page.slotWord(c.slot, slotDeadline)).Store(uint64(deadline))
}

// Until returns how much real time passes before the clock shows v: 0 if it already does, -1 if it
// stands still.
func (c *Clock) Until(v unit.Time, mono int64) int64 {
	s, ok := c.page.current()
	if !ok || s.speed == 0 || v == unit.Never {
		return -1
	}
	ahead := v - s.at(mono)
	if ahead <= 0 {
		return 0
	}
	return int64(float64(ahead)*speedOne/float64(s.speed)) + 1
}

// ReportLate keeps the largest lateness of this loop for the governor and the certificate.
func (c *Clock) ReportLate(late unit.Time) {
	w := c.page.words.At(c.page.slotWord(c.slot, slotLate))
	if uint64(late) > w.Load() {
		w.Store(uint64(late))
	}
}

// Leave withdraws the slot: the clock no longer waits for this loop.
func (c *Clock) Leave() { c.Publish(unit.Never) }
