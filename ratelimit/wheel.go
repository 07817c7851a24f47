package ratelimit

import (
	"math/bits"

	"github.com/rocelab/rocelab/dataplane/unit"
)

const (
	digitBits = 6
	slots     = 1 << digitBits
	levels    = 63/digitBits + 1
)

// TimerID numbers the timers of a wheel from 0. What a number stands for is its user's affair.
type TimerID uint32

// Wheel holds timers. The level of a timer is the highest 6-bit digit in which its deadline
// differs from the wheel's time, its slot the value of that digit; so every timer of a level is
// due before those of the levels above, and the first is found by two bit scans. As time reaches
// a slot its timers move down. Timers come out in the order of their deadlines, and those of one
// instant in the order they were set.
type Wheel struct {
	nodes   []node
	time    unit.Time
	filled  uint16         // levels with timers
	slots   [levels]uint64 // slots with timers, by level
	entries int
}

// node is a timer, or the head of a slot's ring. All stand in one slab and link by index, 16
// bytes each, because with many timers the wheel is as fast as what of it fits the caches. The
// first node is nobody's, so that 0 means "in no ring"; the heads follow, then the timers.
//
// A ring is in the order of insertion. The head's at is a lower bound on its deadlines: it is
// exact unless the earliest timer was cancelled, so waking up for nothing is rare.
type node struct {
	at         unit.Time
	next, prev index
}

// index is a node's place in the slab.
type index uint32

const (
	firstHead  index = 1
	firstTimer       = firstHead + levels*slots
)

// headOf is the ring of slot i of level n.
func headOf(n, i int) index { return firstHead + index(n*slots+i) }

// NewWheel makes a wheel for so many timers.
func NewWheel(timers int) *Wheel {
	w := &Wheel{nodes: make([]node, int(firstTimer)+timers)}
	for h := firstHead; h < firstTimer; h++ {
		w.nodes[h].next, w.nodes[h].prev = h, h
	}
	return w
}

// Grow makes room for so many timers in all.
func (w *Wheel) Grow(timers int) {
	if n := int(firstTimer) + timers - len(w.nodes); n > 0 {
		w.nodes = append(w.nodes, make([]node, n)...)
	}
}

// Len is the number of armed timers.
func (w *Wheel) Len() int { return w.entries }

// Armed reports whether the timer is set.
func (w *Wheel) Armed(id TimerID) bool { return w.nodes[firstTimer+index(id)].next != 0 }

// At is the deadline last set.
func (w *Wheel) At(id TimerID) unit.Time { return w.nodes[firstTimer+index(id)].at }

// Set arms the timer for at, or moves it there. unit.Never disarms.
func (w *Wheel) Set(id TimerID, at unit.Time) {
	w.Cancel(id)
	k := firstTimer + index(id)
	w.nodes[k].at = at
	if at == unit.Never {
		return
	}
	w.insert(k)
	w.entries++
}

// Cancel disarms the timer, if it is armed.
func (w *Wheel) Cancel(id TimerID) {
	if w.Armed(id) {
		w.remove(firstTimer + index(id))
	}
}

// Next is when Pop may have something; unit.Never if the wheel is empty.
func (w *Wheel) Next() unit.Time {
	if w.filled == 0 {
		return unit.Never
	}
	n := bits.TrailingZeros16(w.filled)
	return w.nodes[headOf(n, bits.TrailingZeros64(w.slots[n]))].at
}

// Pop takes out the first timer that is due at now, and reports false if there is none.
func (w *Wheel) Pop(now unit.Time) (id TimerID, ok bool) {
	for w.filled != 0 {
		n := bits.TrailingZeros16(w.filled)
		i := bits.TrailingZeros64(w.slots[n])
		start := w.startOf(n, i)
		if start > now {
			break
		}
		h := headOf(n, i)
		first := w.nodes[h].next
		if t := &w.nodes[first]; n > 0 && (t.next != h || t.at > now) {
			w.cascade(n, i, start)
			continue
		}
		w.remove(first) // of a level above, it was alone in its slot
		return TimerID(first - firstTimer), true
	}
	// Nothing up to now: no timer's digits change if the wheel's time follows.
	w.time = max(w.time, now)
	return 0, false
}

// startOf is the first instant that slot i of level n covers.
func (w *Wheel) startOf(n, i int) unit.Time {
	shift := n * digitBits
	above := w.time >> shift >> digitBits << digitBits << shift
	return above | unit.Time(i)<<shift
}

// cascade moves the timers of a slot that time has reached to the levels below.
func (w *Wheel) cascade(n, i int, start unit.Time) {
	h := headOf(n, i)
	k := w.nodes[h].next
	w.nodes[h].next, w.nodes[h].prev = h, h
	w.emptied(h)
	w.time = max(w.time, start)
	for k != h {
		next := w.nodes[k].next
		w.insert(k)
		k = next
	}
}

// insert puts a timer that is in no ring into that of its deadline.
func (w *Wheel) insert(k index) {
	t := &w.nodes[k]
	at := max(t.at, w.time) // a deadline in the past is due at once
	n := 0
	if differ := uint64(at ^ w.time); differ != 0 {
		n = (bits.Len64(differ) - 1) / digitBits
	}
	i := int(at>>(n*digitBits)) & (slots - 1)
	h := headOf(n, i)
	head := &w.nodes[h]
	if head.next == h {
		head.at = at
		w.slots[n] |= 1 << i
		w.filled |= 1 << n
	}
	head.at = min(head.at, at)
	t.prev, t.next = head.prev, h
	w.nodes[head.prev].next = k
	head.prev = k
}

// remove takes a timer out of its ring and disarms it.
func (w *Wheel) remove(k index) {
	t := &w.nodes[k]
	w.nodes[t.prev].next, w.nodes[t.next].prev = t.next, t.prev
	if t.prev == t.next { // it was alone: both are the head
		w.emptied(t.next)
	}
	t.next, t.prev = 0, 0
	w.entries--
}

// emptied tells that nothing is left in the ring of head h.
func (w *Wheel) emptied(h index) {
	n, i := (h-firstHead)/slots, (h-firstHead)%slots
	if w.slots[n] &^= 1 << i; w.slots[n] == 0 {
		w.filled &^= 1 << n
	}
}
