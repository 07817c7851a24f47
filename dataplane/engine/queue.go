package engine

import (
	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

type eventKind uint8

// The kinds, in the order in which those of the same moment run. So what happens does not hang on
// when an event became known, which differs between the drivers: all arrivals of a moment are
// there before the first is handled, and whoever calls from outside sees the moment complete.
const (
	evDeliver eventKind = iota // f reaches the far end of port's wire
	evArrive                   // f has arrived on port
	evFree                     // port's wire is free
	evWake                     // the node's deadline
	evLaunch                   // f, on a wire that is not perfect, is due to be launched
	evRelease                  // a frame held back on port's wire has waited long enough
	evStorm                    // the pauses of a storm out of port are to be announced again
	evCall                     // a scenario's own function
)

type event struct {
	at   unit.Time
	rank uint32 // kind, then port
	seq  uint64
	node *Node
	f    *frame.Frame
	call func(unit.Time)
}

func rank(kind eventKind, port dataplane.PortID) uint32 { return uint32(kind)<<16 | uint32(port) }

func (a *event) kind() eventKind        { return eventKind(a.rank >> 16) }
func (a *event) port() dataplane.PortID { return dataplane.PortID(a.rank) }

func (a *event) before(b *event) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	if a.rank != b.rank {
		return a.rank < b.rank
	}
	return a.seq < b.seq
}

// queue is the events in the order of time, then of scheduling. Frames mostly come in that order:
// a burst from one wire, or frames that leave on one. Those stand in a line, and everything else
// is in a heap; what is earliest is at the front of one of the two.
type queue struct {
	heap  []event
	line  []event // from front on, sorted
	front int
}

// first is the earliest event, nil if there is none. It is good until the next push or pop.
func (q *queue) first() *event {
	switch {
	case q.front == len(q.line):
		if len(q.heap) == 0 {
			return nil
		}
		return &q.heap[0]
	case len(q.heap) == 0 || q.line[q.front].before(&q.heap[0]):
		return &q.line[q.front]
	}
	return &q.heap[0]
}

func (q *queue) next() unit.Time {
	if e := q.first(); e != nil {
		return e.at
	}
	return unit.Never
}

func (q *queue) push(e event) {
	isFrame := e.kind() <= evArrive
	if n := len(q.line); isFrame && (q.front == n || q.line[n-1].before(&e)) {
		q.join(e)
		return
	}
	q.pushHeap(e)
}

// pop takes out the earliest event; there must be one.
func (q *queue) pop() event {
	if q.front < len(q.line) && (len(q.heap) == 0 || q.line[q.front].before(&q.heap[0])) {
		e := q.line[q.front]
		q.line[q.front] = event{} // drop references
		if q.front++; q.front == len(q.line) {
			q.line, q.front = q.line[:0], 0
		}
		return e
	}
	return q.popHeap()
}

// join puts an event at the end of the line. A line that never runs empty moves up when half of its
// memory is behind the front, so that it grows no more than the frames in it.
func (q *queue) join(e event) {
	if len(q.line) == cap(q.line) && q.front > len(q.line)/2 {
		n := copy(q.line, q.line[q.front:])
		clear(q.line[n:])
		q.line, q.front = q.line[:n], 0
	}
	q.line = append(q.line, e)
}

// The heap is four-ary because it lives in few cache lines and sift-down dominates.
const arity = 4

func (q *queue) pushHeap(e event) {
	q.heap = append(q.heap, e)
	i := len(q.heap) - 1
	for i > 0 {
		parent := (i - 1) / arity
		if !e.before(&q.heap[parent]) {
			break
		}
		q.heap[i] = q.heap[parent]
		i = parent
	}
	q.heap[i] = e
}

func (q *queue) popHeap() event {
	top := q.heap[0]
	last := len(q.heap) - 1
	e := q.heap[last]
	q.heap[last] = event{} // drop references
	q.heap = q.heap[:last]
	if last == 0 {
		return top
	}
	i := 0
	for {
		first := arity*i + 1
		if first >= last {
			break
		}
		least := first
		for c := first + 1; c < min(first+arity, last); c++ {
			if q.heap[c].before(&q.heap[least]) {
				least = c
			}
		}
		if !q.heap[least].before(&e) {
			break
		}
		q.heap[i] = q.heap[least]
		i = least
	}
	q.heap[i] = e
	return top
}
