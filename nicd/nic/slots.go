package nic

import "github.com/rocelab/rocelab/roce/cm"

// slots are those that no QP has, given out first in, first out: the number that has rested
// longest comes first, so that a late packet for a QP that is gone rarely finds another one.
type slots struct {
	rests []resting // a ring
	head  int
	n     int
}

// resting is a free slot.
type resting struct {
	slot       uint32
	connection cm.ID // of the QP that had it; 0: none
}

// newSlots has all of them, the lowest first.
func newSlots(n int) slots {
	s := slots{rests: make([]resting, n), n: n}
	for i := range s.rests {
		s.rests[i].slot = uint32(i)
	}
	return s
}

// put makes a slot free.
func (s *slots) put(slot uint32, connection cm.ID) {
	s.rests[(s.head+s.n)%len(s.rests)] = resting{slot, connection}
	s.n++
}

// take gives out the first slot whose last QP has no connection any more. Those that the
// connection manager holds, in timewait or on the way to it, go back to the end. It fails if it
// holds them all.
func (s *slots) take(m *cm.Manager) (slot uint32, ok bool) {
	for range s.n {
		r := s.rests[s.head]
		s.head = (s.head + 1) % len(s.rests)
		s.n--
		if r.connection == 0 || m.State(r.connection) == cm.Idle {
			return r.slot, true
		}
		s.put(r.slot, r.connection)
	}
	return 0, false
}
