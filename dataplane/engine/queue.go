package engine

import (
	"math/bits"

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
	node *Node
	f    *frame.Frame
}

// afterAll is a rank behind those of all events.
const afterAll = 1<<32 - 1

func rank(kind eventKind, port dataplane.PortID) uint32 { return uint32(kind)<<16 | uint32(port) }

func (a event) kind() eventKind        { return eventKind(a.rank >> 16) }
func (a event) port() dataplane.PortID { return dataplane.PortID(a.rank) }

const (
	digitBits = 6
	digits    = 1 << digitBits
	levels    = 63/digitBits + 1
)

// queue is the events in the order of time, of those of one moment by rank, of those of one rank
// in the order they were pushed. Nothing may be pushed that is earlier than what was popped last.
//
// It is a hierarchy of wheels, as in ratelimit.Wheel. The level of an event is the highest 6-bit
// digit in which its time differs from the queue's, its slot the value of that digit; so all of a
// level come before those of the levels above, and the first is found by two bit scans. What is in
// a slot is sorted when it comes down to level 0, where a slot is one nanosecond. So an event costs
// the same however many there are: no more than one move for each level.
type queue struct {
	time    unit.Time             // of the event that was popped last
	pushed  uint64                // how many ever
	moved   uint64                // how often one came down to a lower level
	filled  uint16                // levels with events
	taken   [levels]uint64        // slots with events, by level
	slots   [levels]*[digits]slot // nil: none was ever in the level
	entries []entry               // a slab; the first is nobody's
	free    int32                 // the first entry that is not in use; 0 is none
}

// slot is a list of events: in order at level 0, the latest push first above.
type slot struct {
	first, last int32     // last at level 0 only
	least       unit.Time // of the earliest
}

// entry is an event and the next in its list, 0 at the end.
type entry struct {
	at   unit.Time
	key  uint64 // the order of those of one moment
	node *Node
	f    *frame.Frame
	next int32
}

// The key of an entry is its rank, and which push it was.
const (
	pushBits = 48 // at 10 million events a second, enough for 300 days
	portBits = 12
)

func (q *queue) key(rank uint32) uint64 {
	q.pushed++
	kind, port := uint64(rank>>16), uint64(rank&(1<<16-1))
	return (kind<<portBits|port)<<pushBits | q.pushed&(1<<pushBits-1)
}

func (e *entry) event() event {
	kind, port := uint32(e.key>>(portBits+pushBits)), uint32(e.key>>pushBits)&(1<<portBits-1)
	return event{e.at, kind<<16 | port, e.node, e.f}
}

// next is the time of the earliest event, unit.Never if there is none.
func (q *queue) next() unit.Time {
	if q.filled == 0 {
		return unit.Never
	}
	n := bits.TrailingZeros16(q.filled)
	return q.slots[n][bits.TrailingZeros64(q.taken[n])].least
}

func (q *queue) push(e event) {
	k := q.free
	if k == 0 {
		k = q.grow()
	}
	to := &q.entries[k]
	q.free = to.next
	to.at, to.key, to.node, to.f = e.at, q.key(e.rank), e.node, e.f
	q.insert(k)
}

// grow makes room for one event more and returns its place.
func (q *queue) grow() int32 {
	if len(q.entries) == 0 {
		q.entries = append(q.entries, entry{})
	}
	q.entries = append(q.entries, entry{})
	return int32(len(q.entries) - 1)
}

// insert puts an entry that is in no list where it belongs.
func (q *queue) insert(k int32) {
	e := &q.entries[k]
	n := 0
	if differ := uint64(e.at ^ q.time); differ != 0 {
		n = (bits.Len64(differ) - 1) / digitBits
	}
	i := int(e.at>>(n*digitBits)) & (digits - 1)
	if q.slots[n] == nil {
		q.slots[n] = new([digits]slot)
	}
	s := &q.slots[n][i]
	if q.taken[n]&(1<<i) == 0 {
		q.taken[n] |= 1 << i
		q.filled |= 1 << n
		e.next = 0
		*s = slot{first: k, last: k, least: e.at}
		return
	}
	s.least = min(s.least, e.at)
	switch {
	case n > 0 || e.key < q.entries[s.first].key:
		e.next, s.first = s.first, k
	case e.key > q.entries[s.last].key:
		e.next = 0
		q.entries[s.last].next, s.last = k, k
	default:
		before := &q.entries[s.first]
		for q.entries[before.next].key < e.key {
			before = &q.entries[before.next]
		}
		e.next, before.next = before.next, k
	}
}

// pop takes out the earliest event; there must be one.
func (q *queue) pop() event {
	n := bits.TrailingZeros16(q.filled)
	i := bits.TrailingZeros64(q.taken[n])
	s := &q.slots[n][i]
	if q.time = s.least; n > 0 && q.entries[s.first].next != 0 {
		k := s.first
		q.emptied(n, i)
		for k != 0 {
			next := q.entries[k].next
			q.insert(k)
			q.moved++
			k = next
		}
		n, i = 0, int(q.time)&(digits-1)
		s = &q.slots[n][i]
	}
	k := s.first
	e := &q.entries[k]
	if s.first = e.next; s.first == 0 {
		q.emptied(n, i)
	}
	out := e.event()
	e.node, e.f, e.next = nil, nil, q.free // drop references
	q.free = k
	return out
}

// emptied tells that nothing is left in a slot.
func (q *queue) emptied(n, i int) {
	if q.taken[n] &^= 1 << i; q.taken[n] == 0 {
		q.filled &^= 1 << n
	}
}
