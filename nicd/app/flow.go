package app

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// Flow describes traffic on one joined QP: perftest's parameters.
type Flow struct {
	QPN      ib.QPN
	Op       qp.Op     // Write or Send
	Size     int       // bytes of a message
	Depth    int       // messages in the send queue at a time
	Start    unit.Time // the first message is posted then
	Stop     unit.Time // no message is posted from then on; 0 is no limit
	Messages uint64    // no more than so many messages; 0 is no limit
}

// FlowStats is how far a flow has come.
type FlowStats struct {
	Posted    uint64
	Completed uint64     // messages acknowledged in full
	Bytes     unit.Bytes // of those
	Failed    uint64     // messages that ended with an error
	First     unit.Time  // post of the first message
	Last      unit.Time  // completion of the latest
	Status    qp.Status  // of the first failure
	Done      bool       // nothing more will be posted, nothing is under way
	MCT       Histogram  // message completion times, from post to completion
}

// flow is a Flow at work. Posts of messages under way stand in a ring by their number, which
// is the work request's ID: they complete in the order in which they were posted.
type flow struct {
	Flow
	end     *end
	started bool
	posts   []unit.Time
	stats   FlowStats
}

// Start sets a flow up and returns its number. Its messages come from the start of the QP's
// region and go to the start of the peer's.
func (h *Host) Start(now unit.Time, f Flow) (int, error) {
	e := h.ends[f.QPN]
	switch {
	case e == nil || !e.joined:
		return 0, fmt.Errorf("%w on QP %v: %w", ErrFlow, f.QPN, ErrNotOpen)
	case e.flow != nil && !e.flow.stats.Done:
		return 0, fmt.Errorf("%w on QP %v: another one is not done", ErrFlow, f.QPN)
	case f.Op != qp.Write && f.Op != qp.Send:
		return 0, fmt.Errorf("%w: op %v is not write or send", ErrFlow, f.Op)
	case f.Size < 0 || f.Size > len(e.region.Bytes) || f.Size > e.peer.Size:
		return 0, fmt.Errorf("%w: size %d is not in 0..%d", ErrFlow, f.Size,
			min(len(e.region.Bytes), e.peer.Size))
	case f.Depth < 1 || f.Depth > h.nic.Config().QP.SendQueue:
		return 0, fmt.Errorf("%w: depth %d is not in 1..%d", ErrFlow, f.Depth,
			h.nic.Config().QP.SendQueue)
	}
	if f.Stop == 0 {
		f.Stop = unit.Never
	}
	fl := &flow{Flow: f, end: e, posts: make([]unit.Time, f.Depth)}
	e.flow = fl
	h.flows = append(h.flows, fl)
	h.starts = min(h.starts, max(f.Start, now))
	return len(h.flows) - 1, nil
}

// Flows is how many flows were started.
func (h *Host) Flows() int { return len(h.flows) }

// Flow returns what a flow is and how far it has come.
func (h *Host) Flow(i int) (Flow, *FlowStats) { return h.flows[i].Flow, &h.flows[i].stats }

// begin starts the flows whose time has come.
func (h *Host) begin(now unit.Time) {
	h.starts = unit.Never
	for _, f := range h.flows {
		if f.started || f.stats.Done {
			continue
		}
		if f.Start > now {
			h.starts = min(h.starts, f.Start)
			continue
		}
		f.started, f.stats.First = true, now
		h.fill(now, f)
	}
}

// fill posts messages until the flow's depth is reached.
func (h *Host) fill(now unit.Time, f *flow) {
	s := &f.stats
	for f.started && !s.Done {
		underWay := s.Posted - s.Completed - s.Failed
		if now >= f.Stop || f.Messages != 0 && s.Posted == f.Messages || s.Failed > 0 {
			s.Done = underWay == 0
			return
		}
		if underWay == uint64(f.Depth) {
			return
		}
		wr := qp.WR{ID: s.Posted, Op: f.Op,
			Local:  qp.Local{Key: f.end.region.Key, VA: f.end.region.VA, Length: f.Size},
			Remote: qp.Remote{VA: f.end.peer.VA, RKey: f.end.peer.RKey}}
		if err := h.nic.Post(now, f.QPN, wr); err != nil {
			s.Done = underWay == 0 // the queue is someone else's, or the QP failed
			return
		}
		f.posts[s.Posted%uint64(f.Depth)] = now
		s.Posted++
	}
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
	s.Completed++
	s.Bytes += unit.Bytes(c.Bytes)
	s.Last = now
	s.MCT.Add(now.Sub(f.posts[c.ID%uint64(f.Depth)]))
}
