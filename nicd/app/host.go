package app

import (
	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// Host is a NIC with applications: a dataplane.Device.
type Host struct {
	nic    *nic.NIC
	users  map[ib.QPN]*user
	flows  []*flow
	starts unit.Time // the earliest start to come
	polled [64]qp.Completion
}

var _ dataplane.Device = (*Host)(nil)

// user is what runs on one QP.
type user struct {
	flow *flow
	sink *sink
}

// NewHost puts applications on a NIC, which should make all its calls by way of the host from
// then on: completions that no flow and no sink waits for are thrown away.
func NewHost(n *nic.NIC) *Host {
	return &Host{nic: n, users: map[ib.QPN]*user{}, starts: unit.Never}
}

// NIC is the NIC below.
func (h *Host) NIC() *nic.NIC { return h.nic }

// user returns who uses the QP, made on first use.
func (h *Host) user(qpn ib.QPN) *user {
	u := h.users[qpn]
	if u == nil {
		u = &user{}
		h.users[qpn] = u
	}
	return u
}

// Receive passes a frame on to the NIC and looks after what it completed.
func (h *Host) Receive(now unit.Time, port dataplane.PortID, f *frame.Frame) {
	h.nic.Receive(now, port, f)
	h.serve(now)
}

// Transmit asks the NIC.
func (h *Host) Transmit(now unit.Time, port dataplane.PortID) *frame.Frame {
	return h.nic.Transmit(now, port)
}

// Ready is the NIC's.
func (h *Host) Ready() *dataplane.PortSet { return h.nic.Ready() }

// NextWake is the NIC's, or the start of a flow.
func (h *Host) NextWake() unit.Time { return min(h.nic.NextWake(), h.starts) }

// Wake starts flows and wakes the NIC, if it is their time.
func (h *Host) Wake(now unit.Time) {
	if h.nic.NextWake() <= now {
		h.nic.Wake(now)
	}
	if h.starts <= now {
		h.begin(now)
	}
	h.serve(now)
}

// StartReceiving lets the receive pipeline go on. What it then handles may complete work.
func (h *Host) StartReceiving(now unit.Time) error {
	err := h.nic.StartReceiving(now)
	h.serve(now)
	return err
}

// SetLink passes the change on to the NIC.
func (h *Host) SetLink(now unit.Time, port dataplane.PortID, up bool) {
	h.nic.SetLink(now, port, up)
}

// Ledger is the NIC's.
func (h *Host) Ledger() dataplane.Ledger { return h.nic.Ledger() }

// serve gives completions to the flows and sinks that wait for them.
func (h *Host) serve(now unit.Time) {
	for qpn, ok := h.nic.NextCompleted(); ok; qpn, ok = h.nic.NextCompleted() {
		u := h.users[qpn]
		for n := h.nic.PollCQ(qpn, h.polled[:]); n > 0; n = h.nic.PollCQ(qpn, h.polled[:]) {
			for i := range n {
				h.completed(now, u, &h.polled[i])
			}
		}
		if u != nil && u.flow != nil {
			h.fill(now, u.flow)
		}
	}
}

func (h *Host) completed(now unit.Time, u *user, c *qp.Completion) {
	switch {
	case u == nil:
	case c.Op == qp.Receive && u.sink != nil:
		h.received(now, u.sink, c)
	case c.Op != qp.Receive && u.flow != nil:
		u.flow.completed(now, c)
	}
}
