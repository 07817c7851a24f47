package app

import (
	"errors"
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// ErrFlow is the family of errors about flows and sinks that cannot be.
var ErrFlow = errors.New("flow")

// Flow describes traffic on one connected QP. With the first group alone it is what perftest makes:
// the next message is posted as soon as the send queue has less than Depth of them.
type Flow struct {
	Name     string // for whoever looks at it
	QPN      ib.QPN
	Op       qp.Op     // any but SendImm; FetchAdd is of one, CmpSwap of zero by zero
	Local    qp.Local  // the bytes of each message, and how many; where a fetching one puts them
	Remote   qp.Remote // where a WRITE puts each, where the others look
	Span     int       // so many bytes at Remote that messages take in turn; 0: all take the first
	Depth    int       // messages in the send queue at a time
	Start    unit.Time // the first message is posted then
	Stop     unit.Time // no message is posted from then on; 0 is no limit
	Messages uint64    // no more than so many messages; 0 is no limit

	Sizes    Sizes         // in place of Local.Length; nil: all messages are alike
	Arrivals Arrivals      // how Interval or Idle is distributed
	Interval time.Duration // mean time between messages that arrive by themselves; 0: none do
	Idle     time.Duration // mean time after a completion in which nothing is posted
	Seed     uint64        // of Sizes and Arrivals

	// After, if not 0, is a sink of this host: message k, from 0, waits until the sink has received
	// k+1-Lead messages.
	After ib.QPN
	Lead  uint64

	Log int // messages to keep a record of, the first ones
}

// FlowStats is how far a flow has come.
type FlowStats struct {
	Posted    uint64
	Completed uint64     // messages acknowledged in full
	Bytes     unit.Bytes // of those
	Failed    uint64     // messages that ended with an error
	Missed    uint64     // arrived and never posted: Backlog was full, or the flow ended
	First     unit.Time  // post of the first message
	Last      unit.Time  // completion of the latest
	Status    qp.Status  // of the first failure
	Err       error      // why a message could not be posted, which ends the flow
	Done      bool       // nothing more will be posted, nothing is under way
	MCT       Histogram  // message completion times, from arrival to completion
	Log       []Record   // by completion
}

// Record is one completed message.
type Record struct {
	Bytes     int
	Arrived   unit.Time // as Posted, if messages do not arrive by themselves
	Posted    unit.Time
	Completed unit.Time
}

var offered = map[qp.Op]bool{qp.Send: true, qp.Write: true, qp.WriteImm: true, qp.Read: true,
	qp.FetchAdd: true, qp.CmpSwap: true}

// Start sets a flow up and returns its number, by which Flow knows it.
func (h *Host) Start(now unit.Time, f Flow) (int, error) {
	if err := h.judge(&f); err != nil {
		return 0, fmt.Errorf("%w %q: %w", ErrFlow, f.Name, err)
	}
	if f.Stop == 0 {
		f.Stop = unit.Never
	}
	f.Start = max(f.Start, now)
	if f.Sizes != nil {
		f.Local.Length = f.Sizes.Largest()
	}
	fl := &flow{Flow: f, source: newSource(&f), posts: make([]message, f.Depth)}
	fl.stats.Log = make([]Record, 0, f.Log)
	if f.After != 0 {
		fl.gate = h.users[f.After].sink
		fl.gate.holds(fl)
	}
	h.user(f.QPN).flow = fl
	h.flows = append(h.flows, fl)
	h.wheel.Set(timerOf(f.QPN), f.Start)
	return len(h.flows) - 1, nil
}

// maxLog bounds the records of a flow, and with them its memory to 32 MB.
const maxLog = 1 << 20

// judge says what is wrong with a flow.
func (h *Host) judge(f *Flow) error {
	q := h.nic.QP(f.QPN)
	if q == nil {
		return fmt.Errorf("QP %v: %w", f.QPN, nic.ErrNoQP)
	}
	if f.Sizes != nil {
		if err := f.Sizes.validate(); err != nil {
			return err
		}
	}
	u := h.user(f.QPN)
	switch depth := q.Config().SendQueue; {
	case q.State() != qp.StateRTS:
		return fmt.Errorf("QP %v is in %v, not connected", f.QPN, q.State())
	case u.flow != nil && !u.flow.stats.Done:
		return fmt.Errorf("QP %v has flow %q, which is not done", f.QPN, u.flow.Name)
	case !offered[f.Op]:
		return fmt.Errorf("op %v is not write, write_imm, send, read, fetch_add or cmp_swap", f.Op)
	case f.Local.Length < 0 || f.Local.Length > qp.MaxMessage:
		return fmt.Errorf("message size %d is not in 0..%d", f.Local.Length, qp.MaxMessage)
	case f.Depth < 1 || f.Depth > depth:
		return fmt.Errorf("depth %d is not in 1..%d", f.Depth, depth)
	case f.Log < 0 || f.Log > maxLog:
		return fmt.Errorf("log %d is not in 0..%d", f.Log, maxLog)
	}
	if after := h.users[f.After]; f.After != 0 && (after == nil || after.sink == nil) {
		return fmt.Errorf("after %v: nothing receives on that QP", f.After)
	}
	return f.validateTimes()
}

// Flows is how many flows were started.
func (h *Host) Flows() int { return len(h.flows) }

// Flow returns what a flow is and how far it has come.
func (h *Host) Flow(i int) (*Flow, *FlowStats) { return &h.flows[i].Flow, &h.flows[i].stats }

// MCT fills dst with the message completion times of all flows.
func (h *Host) MCT(dst *Histogram) {
	*dst = Histogram{}
	for _, f := range h.flows {
		dst.Merge(&f.stats.MCT)
	}
}
