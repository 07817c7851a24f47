package clock

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// hand is a source of real time that a test moves.
type hand struct{ mono int64 }

func (h *hand) read() int64 { return h.mono }

// turn is a turn of a loop, some real time after the last one, which has to act again at next.
func (h *hand) turn(c *Clock, after time.Duration, next func(unit.Time) unit.Time) unit.Time {
	h.mono += after.Nanoseconds()
	now, _ := c.Begin()
	c.Publish(next(now))
	return now
}

func soon(now unit.Time) unit.Time { return now + 10_000 }

func idle(unit.Time) unit.Time { return unit.Never }

// What a loop is late by beyond the budget is lost, at every speed; what it sleeps through because
// there is nothing to do is not.
func TestOwnClockLosesStalls(t *testing.T) {
	const budget = 100_000
	for _, k := range []int64{1, 10} {
		h := &hand{mono: 7e9}
		c, err := NewOwn(float64(k), budget, h.read)
		if err != nil {
			t.Fatal(err)
		}
		virtual := func(ns int64) time.Duration { return time.Duration(ns * k) } // as real time
		check := func(what string, got, want unit.Time, lost time.Duration) {
			t.Helper()
			// The speed is a binary fraction, a tenth is none.
			const inexact = 5
			if got < want-inexact || got > want || c.Lost() < lost || c.Lost() > lost+inexact {
				t.Errorf("k=%d, %s: the clock shows %d and has lost %v, want %d and %v", k, what,
					int64(got), c.Lost(), int64(want), lost)
			}
		}
		check("at the start", h.turn(c, 0, soon), 0, 0)
		check("a little late", h.turn(c, virtual(60_000), soon), 60_000, 0)
		// Due at 70 us, and 5 ms late.
		check("after a stall", h.turn(c, virtual(5_010_000), idle), 170_000, 4_900_000)
		check("idle for a second", h.turn(c, virtual(1e9), soon), 1_000_170_000, 4_900_000)
		check("on time", h.turn(c, virtual(10_000), soon), 1_000_180_000, 4_900_000)
		// Whoever does not wait for us has seen all of it.
		if at, ok := c.Peers(h.mono - int64(virtual(2_000))); !ok ||
			at < 1_005_078_000-5 || at > 1_005_078_000 {
			t.Errorf("k=%d: a frame stamped 2 us ago came at %d of its sender's time, %v", k,
				int64(at), ok)
		}
	}
	if _, err := NewOwn(0.5, budget, Monotonic); err == nil {
		t.Error("a clock faster than real time was made")
	}
}

// On a shared clock nothing is lost, however long it is held.
func TestSharedClockLosesNothing(t *testing.T) {
	p := running(t, 500, 1)
	c := newClock(t, p, 0, 1)
	c.Publish(3000)
	if now, mono := c.Begin(); now != 3500 || c.Lost() != 0 {
		t.Errorf("the clock shows %v and has lost %v", now, c.Lost())
	} else if at, ok := c.Peers(mono); !ok || at != now {
		t.Errorf("what arrives now arrives at %v, want %v", at, now)
	}
}
