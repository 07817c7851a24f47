package app

import (
	"errors"
	"fmt"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// ErrFlow is the family of errors about flows and sinks that cannot be.
var ErrFlow = errors.New("flow")

// Flow describes traffic on one connected QP: perftest's parameters.
type Flow struct {
	Name     string // for whoever looks at it
	QPN      ib.QPN
	Op       qp.Op     // Send, Write, Read, FetchAdd (of one) or CmpSwap (of zero by zero)
	Local    qp.Local  // the bytes of each message, and how many; where a fetching one puts them
	Remote   qp.Remote // where a WRITE puts each, where the others look
	Span     int       // so many bytes at Remote that messages take in turn; 0: all take the first
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
	Err       error      // why a message could not be posted, which ends the flow
	Done      bool       // nothing more will be posted, nothing is under way
	MCT       Histogram  // message completion times, from post to completion
}

// flow is a Flow at work. Posts of messages under way stand in a ring by their number, which
// is the work request's ID: they complete in the order in which they were posted.
type flow struct {
	Flow
	started bool
	posts   []unit.Time
	stats   FlowStats
}

var offered = map[qp.Op]bool{qp.Send: true, qp.Write: true, qp.Read: true, qp.FetchAdd: true,
	qp.CmpSwap: true}

// Start sets a flow up and returns its number, by which Flow knows it.
func (h *Host) Start(now unit.Time, f Flow) (int, error) {
	q := h.nic.QP(f.QPN)
	if q == nil {
		return 0, fmt.Errorf("%w %q: QP %v: %w", ErrFlow, f.Name, f.QPN, nic.ErrNoQP)
	}
	u := h.user(f.QPN)
	switch depth := q.Config().SendQueue; {
	case q.State() != qp.StateRTS:
		return 0, fmt.Errorf("%w %q: QP %v is in %v, not connected", ErrFlow, f.Name, f.QPN,
			q.State())
	case u.flow != nil && !u.flow.stats.Done:
		return 0, fmt.Errorf("%w %q: QP %v has flow %q, which is not done", ErrFlow, f.Name,
			f.QPN, u.flow.Name)
	case !offered[f.Op]:
		return 0, fmt.Errorf("%w %q: op %v is not write, send, read, fetch_add or cmp_swap",
			ErrFlow, f.Name, f.Op)
	case f.Local.Length < 0 || f.Local.Length > qp.MaxMessage:
		return 0, fmt.Errorf("%w %q: message size %d is not in 0..%d", ErrFlow, f.Name,
			f.Local.Length, qp.MaxMessage)
	case f.Depth < 1 || f.Depth > depth:
		return 0, fmt.Errorf("%w %q: depth %d is not in 1..%d", ErrFlow, f.Name, f.Depth, depth)
	}
	if f.Stop == 0 {
		f.Stop = unit.Never
	}
	fl := &flow{Flow: f, posts: make([]unit.Time, f.Depth)}
	u.flow = fl
	h.flows = append(h.flows, fl)
	h.starts = min(h.starts, max(f.Start, now))
	return len(h.flows) - 1, nil
}

// Flows is how many flows were started.
func (h *Host) Flows() int { return len(h.flows) }

// Flow returns what a flow is and how far it has come.
func (h *Host) Flow(i int) (Flow, *FlowStats) { return h.flows[i].Flow, &h.flows[i].stats }

// MCT fills dst with the message completion times of all flows.
func (h *Host) MCT(dst *Histogram) {
	*dst = Histogram{}
	for _, f := range h.flows {
		dst.Merge(&f.stats.MCT)
	}
}

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
		over := now >= f.Stop || f.Messages != 0 && s.Posted == f.Messages
		if over || s.Failed > 0 || s.Err != nil {
			s.Done = underWay == 0
			return
		}
		if underWay == uint64(f.Depth) {
			return
		}
		wr := qp.WR{ID: s.Posted, Op: f.Op, Local: f.Local, Remote: f.Remote}
		if places := f.places(); places > 1 {
			wr.Remote.VA += s.Posted % places * uint64(f.Local.Length)
		}
		if f.Op == qp.FetchAdd {
			wr.Atomic.SwapAdd = 1
		}
		if err := h.nic.Post(now, f.QPN, wr); err != nil {
			s.Err, s.Done = err, underWay == 0
			return
		}
		f.posts[s.Posted%uint64(f.Depth)] = now
		s.Posted++
	}
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
	s.Completed++
	s.Bytes += unit.Bytes(c.Bytes)
	s.Last = now
	s.MCT.Add(now.Sub(f.posts[c.ID%uint64(f.Depth)]))
}
