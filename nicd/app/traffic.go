package app

import (
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/ratelimit"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// flow is a Flow at work. Messages under way stand in a ring by their number, which is the work
// request's ID: they complete in the order in which they were posted.
//
//	source --arrive--> backlog --+
//	   |                         +--- depth, gate, idle ---> send queue ---> completed
//	   +--- none by itself ------+
type flow struct {
	Flow
	source source
	gate   *sink // nil: none
	idle   unit.Time
	posts  []message
	stats  FlowStats
}

// timerOf is the timer of the flow on a QP, which has one at a time.
func timerOf(qpn ib.QPN) ratelimit.TimerID { return ratelimit.TimerID(qpn - nic.FirstQPN) }

// wakeFlows looks after the flows whose time has come.
func (h *Host) wakeFlows(now unit.Time) {
	for id, ok := h.wheel.Pop(now); ok; id, ok = h.wheel.Pop(now) {
		if u := h.users[nic.FirstQPN+ib.QPN(id)]; u != nil && u.flow != nil {
			h.advance(now, u.flow)
		}
	}
}

// advance does everything that a flow may do now, and has it looked at again when there is more.
func (h *Host) advance(now unit.Time, f *flow) {
	s := &f.stats
	if now < f.Start || s.Done {
		return
	}
	for f.arriving() && f.source.next <= now {
		if !f.source.arrive() {
			s.Missed++
		}
	}
	for f.may(now) {
		h.post(now, f)
	}
	if s.Done = f.over(now) && f.underWay() == 0; s.Done {
		s.Missed += f.source.waiting()
	}
	h.wheel.Set(timerOf(f.QPN), f.nextWake(now))
}

// post hands the next message to the NIC.
func (h *Host) post(now unit.Time, f *flow) {
	s, m := &f.stats, f.source.take(now)
	m.posted = now
	wr := qp.WR{ID: s.Posted, Op: f.Op, Local: f.Local, Remote: f.Remote}
	if places := f.places(); places > 1 {
		wr.Remote.VA += s.Posted % places * uint64(f.Local.Length)
	}
	wr.Local.Length = m.bytes
	if f.Op == qp.FetchAdd {
		wr.Atomic.SwapAdd = 1
	}
	if s.Err = h.nic.Post(now, f.QPN, wr); s.Err != nil {
		return
	}
	if s.Posted == 0 {
		s.First = now
	}
	f.posts[s.Posted%uint64(f.Depth)] = m
	s.Posted++
}

// underWay is how many messages are in the send queue.
func (f *flow) underWay() uint64 { return f.stats.Posted - f.stats.Completed - f.stats.Failed }

// broken reports that the QP is of no use any more.
func (f *flow) broken() bool { return f.stats.Failed > 0 || f.stats.Err != nil }

// arriving reports whether messages arrive by themselves, and the next will.
func (f *flow) arriving() bool {
	return f.Interval > 0 && f.source.next < f.Stop && !f.broken() &&
		(f.Messages == 0 || f.source.arrived < f.Messages)
}

// may reports whether the next message may be posted.
func (f *flow) may(now unit.Time) bool {
	s := &f.stats
	switch {
	case f.over(now), f.underWay() == uint64(f.Depth), now < f.idle:
		return false
	case f.gate != nil && f.gate.stats.Messages+f.Lead <= s.Posted:
		return false
	}
	return f.Interval == 0 || f.source.waiting() > 0
}

// over reports whether nothing will be posted any more.
func (f *flow) over(now unit.Time) bool {
	s := &f.stats
	return now >= f.Stop || f.broken() || f.Messages != 0 && s.Posted+s.Missed == f.Messages
}

// nextWake is when the flow has something to do that nothing else tells it of.
func (f *flow) nextWake(now unit.Time) unit.Time {
	if f.stats.Done {
		return unit.Never
	}
	at := unit.Never
	if f.underWay() == 0 {
		at = f.Stop // otherwise completions end it
	}
	if f.arriving() {
		at = min(at, f.source.next)
	}
	if now < f.idle {
		at = min(at, f.idle)
	}
	return at
}

// places is how many messages stand one behind the other in the span.
func (f *flow) places() uint64 {
	if f.Local.Length == 0 {
		return 1
	}
	return uint64(max(f.Span/f.Local.Length, 1))
}

func (f *flow) completed(now unit.Time, c *qp.Completion) {
	s := &f.stats
	if c.Status != qp.Success {
		if s.Failed == 0 {
			s.Status = c.Status
		}
		s.Failed++
		return
	}
	m := &f.posts[c.ID%uint64(f.Depth)]
	s.Completed++
	s.Bytes += unit.Bytes(c.Bytes)
	s.Last = now
	s.MCT.Add(now.Sub(m.arrived))
	if len(s.Log) < cap(s.Log) {
		s.Log = append(s.Log, Record{m.bytes, m.arrived, m.posted, now})
	}
	if f.Idle > 0 {
		f.idle = now.Add(f.source.gap(f.Idle))
	}
}
