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

// queue is a four-ary heap of events ordered by time, then by the order of scheduling. Four-ary
// because the heap lives in few cache lines and sift-down dominates.
type queue struct{ heap []event }

const arity = 4

func (q *queue) push(e event) {
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

func (q *queue) next() unit.Time {
	if len(q.heap) == 0 {
		return unit.Never
	}
	return q.heap[0].at
}

func (q *queue) pop() event {
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
