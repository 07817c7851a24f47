package clock

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// own is what makes a clock one of a loop's own, which shares it with nobody: its peers are real
// and do not wait.
type own struct {
	alone bool
	peers segment       // the peers' time: what the clock would show had it never been held
	lost  time.Duration // virtual; by how much it was behind that when the turn began
}

// NewOwn returns a clock of a loop's own. It runs at once, k seconds of source for each virtual
// one, of which the loop may be late by the budget. What it is late by beyond that, because the
// machine stood still or is too slow, is lost: virtual time goes on where the loop had come to. So
// a loop never sends faster than its link, but for what the link carries in the budget, and its
// timers do not expire because it was not there to take the answer.
func NewOwn(k float64, budget unit.Time, source func() int64) (*Clock, error) {
	if k < 1 {
		return nil, fmt.Errorf("dilation %g: want 1 or more", k)
	}
	p := Private(budget)
	c, err := NewClock(p, 0, 1)
	if err != nil {
		return nil, err
	}
	c.mono = source
	c.own = own{alone: true, peers: segment{r0: source(), speed: uint64(speedOne / k)}}
	p.words.At(wordStarted).Store(uint64(c.own.peers.r0))
	p.store(1, c.own.peers)
	return c, nil
}

// Lost is how much virtual time was lost until the turn began; nothing on a shared clock, which
// waits for the loop.
func (c *Clock) Lost() time.Duration { return c.own.lost }

// Peers converts the time stamp of a frame from somebody who does not share the clock, to virtual
// time and what was lost until the turn began. So the gaps between such frames are those on their
// wire. It reports false if a shared page cannot be read because a writer is inside.
func (c *Clock) Peers(mono int64) (unit.Time, bool) {
	if c.own.alone {
		return c.own.peers.at(mono), true
	}
	return c.page.Virtual(mono)
}

// lose notes what is lost, at the beginning of a turn.
func (c *Clock) lose(mono int64) {
	if c.own.alone {
		c.own.lost = c.own.peers.at(mono).Sub(c.last)
	}
}
