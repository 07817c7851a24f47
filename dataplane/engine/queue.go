package engine

import (
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

type eventKind uint8

const (
	evArrive  eventKind = iota // f has arrived on port
	evFree                     // port's wire is free
	evWake                     // the node's deadline
	evDeliver                  // f reaches the far end of port's wire
	evCall                     // a scenario's own function
	evLost                     // f, lost on port's wire, would be at its far end
	evRelease                  // a frame held back on port's wire has waited long enough
	evStorm                    // the pauses of a storm out of port are to be announced again
)

type event struct {
	at   unit.Time
	seq  uint64
	kind eventKind
	port uint16
	node *Node
	f    *frame.Frame
	call func(unit.Time)
}

func (a *event) before(b *event) bool { return a.at < b.at || (a.at == b.at && a.seq < b.seq) }

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
	frame := e.kind == evArrive || e.kind == evDeliver
	if n := len(q.line); frame && (q.front == n || q.line[n-1].before(&e)) {
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
