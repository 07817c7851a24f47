package pfc

import (
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// order is what a frame says, and when it takes effect.
type order struct {
	at      unit.Time
	enabled Set
	quanta  [wire.Priorities]uint16
}

// pipe is a queue of orders with as many places as frames can come within the delay.
type pipe struct {
	ring     []order
	first, n int
}

func newPipe(delay time.Duration, rate unit.Rate) pipe {
	if delay <= 0 {
		return pipe{}
	}
	const most = 1 << 12 // no delay that the standard allows needs more than a quarter of it
	n := int(rate.BytesIn(delay)/wire.OnLine(wire.MinFrame)) + 2
	return pipe{ring: make([]order, min(n, most))}
}

func (q *pipe) full() bool { return q.n == len(q.ring) }

// head is the oldest; nil if there is none.
func (q *pipe) head() *order {
	if q.n == 0 {
		return nil
	}
	return &q.ring[q.first]
}

// push needs room.
func (q *pipe) push(o *order) {
	at := q.first + q.n
	if at >= len(q.ring) {
		at -= len(q.ring)
	}
	q.ring[at] = *o
	q.n++
}

// pop takes out the oldest; it stays as it is until the next push.
func (q *pipe) pop() *order {
	o := &q.ring[q.first]
	q.n--
	if q.first++; q.first == len(q.ring) {
		q.first = 0
	}
	return o
}

func (q *pipe) clear() { q.first, q.n = 0, 0 }
