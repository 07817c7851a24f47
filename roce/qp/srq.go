package qp

// SRQ is a shared receive queue: QPs that use it take their receives there, in the order in which
// their messages begin. IBTA 10.2.9.
type SRQ struct {
	queue queue[receiveWQE]
	mem   *Memory
	pd    PD
	limit int // fewer than so many left: tell, once
	low   bool
}

// NewSRQ makes a shared receive queue of n receives into regions of a domain.
func NewSRQ(mem *Memory, pd PD, n int) *SRQ {
	return &SRQ{queue: newQueue[receiveWQE](n), mem: mem, pd: pd}
}

// Post appends a receive.
func (s *SRQ) Post(wr ReceiveWR) error {
	local, ok := s.mem.local(s.pd, wr.Local, true)
	if !ok {
		return ErrLocal
	}
	if s.queue.full() {
		return ErrQueueFull
	}
	*s.queue.push() = receiveWQE{id: wr.ID, local: local}
	return nil
}

// Len is how many receives are left.
func (s *SRQ) Len() int { return s.queue.len() }

// Arm asks to be told when fewer than limit receives are left; zero asks nothing. It holds for
// one time: ibv_modify_srq(3), IBV_SRQ_LIMIT.
func (s *SRQ) Arm(limit int) { s.limit, s.low = limit, false }

// LimitReached reports, once, that the limit was fallen below.
func (s *SRQ) LimitReached() bool {
	low := s.low
	s.low = false
	return low
}

// UseSRQ makes a QP in RESET take its receives from s, which must be of its domain, or from its
// own queue if s is nil.
func (q *QP) UseSRQ(s *SRQ) error {
	if q.state != StateReset {
		return ErrState
	}
	if s != nil && s.pd != q.cfg.pd {
		return ErrLocal
	}
	q.srq = s
	return nil
}

// takeReceive takes the next receive, own or shared, and reports false if there is none. A shared
// one gets its place in the completion queue now; if there is none the peer has to wait too.
func (q *QP) takeReceive() bool {
	s := q.srq
	if s == nil {
		if q.resp.queue.len() == 0 {
			return false
		}
		q.resp.take(&q.resp.queue)
		return true
	}
	if s.queue.len() == 0 || !q.cq.reserve() {
		return false
	}
	q.resp.take(&s.queue)
	s.taken()
	return true
}

// taken sees whether the receive that was just taken was one too many for the limit.
func (s *SRQ) taken() {
	if s.queue.len() < s.limit {
		s.limit, s.low = 0, true
	}
}
