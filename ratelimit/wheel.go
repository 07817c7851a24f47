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

// Timer is one deadline of one owner. It is part of the owner and never copied while armed.
type Timer struct {
	Owner uint32 // for whoever takes it out of the wheel
	Kind  uint8  // which of the owner's timers it is

	at         unit.Time
	next, prev *Timer
	level      uint8
	slot       uint8
	armed      bool
}

// Armed reports whether the timer is in a wheel.
func (t *Timer) Armed() bool { return t.armed }

// At is the deadline last set.
func (t *Timer) At() unit.Time { return t.at }

// Wheel holds timers. The level of a timer is the highest 6-bit digit in which its deadline
// differs from the wheel's time, its slot the value of that digit; so every timer of a level is
// due before those of the levels above, and the first is found by two bit scans. As time reaches
// a slot its timers move down. Timers come out in the order of their deadlines, and those of one
// instant in the order they were set.
//
// The zero value is ready.
type Wheel struct {
	time    unit.Time
	filled  uint16 // levels with timers
	levels  [levels]level
	entries int
}

type level struct {
	filled uint64 // slots with timers
	slots  [slots]slot
}

// slot is a list in the order of insertion. earliest is a lower bound on its deadlines: it is
// exact unless the earliest timer was cancelled, so waking up for nothing is rare.
type slot struct {
	head, tail *Timer
	earliest   unit.Time
}

// Len is the number of armed timers.
func (w *Wheel) Len() int { return w.entries }

// Set arms the timer for at, or moves it there. unit.Never disarms.
func (w *Wheel) Set(t *Timer, at unit.Time) {
	w.Cancel(t)
	t.at = at
	if at == unit.Never {
		return
	}
	w.insert(t)
	w.entries++
}

// Cancel disarms the timer, if it is armed.
func (w *Wheel) Cancel(t *Timer) {
	if t.armed {
		w.remove(t)
		w.entries--
	}
}

// Next is when Pop may have something; unit.Never if the wheel is empty.
func (w *Wheel) Next() unit.Time {
	if w.filled == 0 {
		return unit.Never
	}
	l := &w.levels[bits.TrailingZeros16(w.filled)]
	return l.slots[bits.TrailingZeros64(l.filled)].earliest
}

// Pop takes out the first timer that is due at now, nil if there is none.
func (w *Wheel) Pop(now unit.Time) *Timer {
	for w.filled != 0 {
		n := bits.TrailingZeros16(w.filled)
		l := &w.levels[n]
		i := bits.TrailingZeros64(l.filled)
		if start := w.startOf(n, i); start > now {
			break
		} else if n > 0 {
			w.cascade(l, n, i, start)
			continue
		}
		t := l.slots[i].head
		w.remove(t)
		w.entries--
		return t
	}
	// Nothing up to now: no timer's digits change if the wheel's time follows.
	w.time = max(w.time, now)
	return nil
}

// startOf is the first instant that slot i of level n covers.
func (w *Wheel) startOf(n, i int) unit.Time {
	shift := n * digitBits
	above := w.time >> shift >> digitBits << digitBits << shift
	return above | unit.Time(i)<<shift
}

// cascade moves the timers of a slot that time has reached to the levels below.
func (w *Wheel) cascade(l *level, n, i int, start unit.Time) {
	t := l.slots[i].head
	l.slots[i] = slot{}
	w.emptied(l, n, i)
	w.time = max(w.time, start)
	for t != nil {
		next := t.next
		w.insert(t)
		t = next
	}
}

func (w *Wheel) insert(t *Timer) {
	at := max(t.at, w.time) // a deadline in the past is due at once
	n := 0
	if differ := uint64(at ^ w.time); differ != 0 {
		n = (bits.Len64(differ) - 1) / digitBits
	}
	i := int(at>>(n*digitBits)) & (slots - 1)
	l := &w.levels[n]
	s := &l.slots[i]
	if s.head == nil {
		s.head, s.earliest = t, at
		l.filled |= 1 << i
		w.filled |= 1 << n
	} else {
		s.tail.next = t
		s.earliest = min(s.earliest, at)
	}
	t.prev, t.next, s.tail = s.tail, nil, t
	t.level, t.slot, t.armed = uint8(n), uint8(i), true
}

func (w *Wheel) remove(t *Timer) {
	l := &w.levels[t.level]
	s := &l.slots[t.slot]
	if t.prev != nil {
		t.prev.next = t.next
	} else {
		s.head = t.next
	}
	if t.next != nil {
		t.next.prev = t.prev
	} else {
		s.tail = t.prev
	}
	if s.head == nil {
		w.emptied(l, int(t.level), int(t.slot))
	}
	t.next, t.prev, t.armed = nil, nil, false
}

func (w *Wheel) emptied(l *level, n, i int) {
	if l.filled &^= 1 << i; l.filled == 0 {
		w.filled &^= 1 << n
	}
}
