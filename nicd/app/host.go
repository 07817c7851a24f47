package app

import (
	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/ratelimit"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// Host is a NIC with applications: a dataplane.Device.
type Host struct {
	nic    *nic.NIC
	users  map[ib.QPN]*user
	owners map[ib.QPN]Owner
	events func(now unit.Time, e nic.Event) // nil: nobody wants them
	flows  []*flow
	wheel  *ratelimit.Wheel // a timer for the flow of each QP

	connectors connectors
	mesh       *pingmesh // nil: none
	delivered  uint64    // completions given to somebody, or to nobody

	polled [64]qp.Completion
}

var _ dataplane.Device = (*Host)(nil)

// Owner is who gets the completions of a QP.
type Owner interface {
	// Completed is told of each completion, in their order. It may post work and create QPs, but
	// not destroy one. c is the host's own and changes afterwards.
	Completed(now unit.Time, c *qp.Completion)
}

// Own makes o the owner of a QP, in place of a flow and a sink; nil: nobody is any more. It is for
// whoever created the QP, who also destroys it.
func (h *Host) Own(qpn ib.QPN, o Owner) {
	if o == nil {
		delete(h.owners, qpn)
		delete(h.users, qpn)
		return
	}
	h.owners[qpn] = o
}

// OnEvent has fn told of what happens to QPs and queues without a completion.
func (h *Host) OnEvent(fn func(now unit.Time, e nic.Event)) { h.events = fn }

// Serve looks after completions that a call to the NIC has brought, other than by the host.
func (h *Host) Serve(now unit.Time) { h.serve(now) }

// user is what runs on one QP.
type user struct {
	host *Host
	flow *flow
	sink *sink
}

// NewHost puts applications on a NIC, which should make all its calls by way of the host from
// then on: completions of QPs that nobody owns are thrown away.
func NewHost(n *nic.NIC) *Host {
	return &Host{nic: n, users: map[ib.QPN]*user{}, owners: map[ib.QPN]Owner{},
		wheel: ratelimit.NewWheel(n.Config().MaxQPs), connectors: newConnectors()}
}

// NIC is the NIC below.
func (h *Host) NIC() *nic.NIC { return h.nic }

// user returns who uses the QP, made on first use.
func (h *Host) user(qpn ib.QPN) *user {
	u := h.users[qpn]
	if u == nil {
		u = &user{host: h}
		h.users[qpn] = u
		h.Own(qpn, u)
	}
	return u
}

// Receive passes a frame on to the NIC and looks after what it completed.
func (h *Host) Receive(now unit.Time, port dataplane.PortID, f *frame.Frame) {
	h.nic.Receive(now, port, f)
	h.serve(now)
}

// Transmit asks the NIC and looks after what that completed: a datagram has ended when it leaves.
// If there was nothing to send, what is posted upon that may be.
func (h *Host) Transmit(now unit.Time, port dataplane.PortID) *frame.Frame {
	f, before := h.nic.Transmit(now, port), h.delivered
	h.serve(now)
	if f == nil && h.delivered != before {
		f = h.nic.Transmit(now, port)
	}
	return f
}

// Ready is the NIC's.
func (h *Host) Ready() *dataplane.PortSet { return h.nic.Ready() }

// NextWake is the NIC's, that of a flow, or the pingmesh's.
func (h *Host) NextWake() unit.Time {
	return min(h.nic.NextWake(), h.wheel.Next(), h.mesh.nextWake())
}

// Wake looks after the NIC, the flows and the pingmesh, if it is their time.
func (h *Host) Wake(now unit.Time) {
	if h.nic.NextWake() <= now {
		h.nic.Wake(now)
	}
	if h.wheel.Next() <= now {
		h.wakeFlows(now)
	}
	if h.mesh.nextWake() <= now {
		h.mesh.wake(now)
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
	if h.mesh != nil {
		h.mesh.down = !up
	}
}

// Ledger is the NIC's.
func (h *Host) Ledger() dataplane.Ledger { return h.nic.Ledger() }

// deliver gives completions to their owners, and events to who asked for them.
func (h *Host) deliver(now unit.Time) {
	for qpn, ok := h.nic.NextCompleted(); ok; qpn, ok = h.nic.NextCompleted() {
		o := h.owners[qpn]
		for n := h.nic.PollCQ(qpn, h.polled[:]); n > 0; n = h.nic.PollCQ(qpn, h.polled[:]) {
			h.delivered += uint64(n)
			for i := range n {
				if o != nil {
					o.Completed(now, &h.polled[i])
				}
			}
		}
		if u, ok := o.(*user); ok {
			h.follow(now, u)
		}
	}
	for e, ok := h.nic.NextEvent(); ok; e, ok = h.nic.NextEvent() {
		if h.events != nil {
			h.events(now, e)
		}
	}
}

// follow lets those flows go on that what completed on a QP may have held up.
func (h *Host) follow(now unit.Time, u *user) {
	if u.flow != nil {
		h.advance(now, u.flow)
	}
	if u.sink == nil {
		return
	}
	for _, f := range u.sink.held {
		h.advance(now, f)
	}
}

// Completed gives a completion to the flow or the sink that waits for it.
func (u *user) Completed(now unit.Time, c *qp.Completion) {
	switch {
	case c.Op == qp.Receive && u.sink != nil:
		u.host.received(now, u.sink, c)
	case c.Op != qp.Receive && u.flow != nil:
		u.flow.completed(now, c)
	}
}
