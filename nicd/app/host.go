package app

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// Errors of the calls that set traffic up.
var (
	ErrNotOpen = errors.New("not a QP that Open made")
	ErrFlow    = errors.New("flow")
)

// Endpoint is what a peer must know to connect to a QP and write into its region.
type Endpoint struct {
	QPN  ib.QPN     `json:"qpn"`
	PSN  ib.PSN     `json:"psn"`
	IP   netip.Addr `json:"ip"`
	MAC  wire.MAC   `json:"mac"`
	VA   uint64     `json:"va"`
	RKey uint32     `json:"rkey"`
	Size int        `json:"size"` // of the region
}

// Host is a NIC with applications: a dataplane.Device.
type Host struct {
	nic    *nic.NIC
	ends   map[ib.QPN]*end
	flows  []*flow
	starts unit.Time // the earliest start to come
	polled [64]qp.Completion
}

var _ dataplane.Device = (*Host)(nil)

// end is one opened QP: its region, its peer, and what runs on it.
type end struct {
	qpn    ib.QPN
	region *qp.Region
	peer   Endpoint
	joined bool
	flow   *flow
	sink   sink
}

// NewHost puts applications on a NIC.
func NewHost(n *nic.NIC) *Host {
	return &Host{nic: n, ends: map[ib.QPN]*end{}, starts: unit.Never}
}

// NIC is the NIC below.
func (h *Host) NIC() *nic.NIC { return h.nic }

// Open makes a region of the given size and a QP. The peer may write into the region.
func (h *Host) Open(size int) (Endpoint, error) {
	region, err := h.nic.RegisterMR(size, qp.Access{LocalWrite: true, RemoteWrite: true,
		RemoteRead: true})
	if err != nil {
		return Endpoint{}, err
	}
	local, err := h.nic.CreateQP(h.nic.QPConfig())
	if err != nil {
		h.nic.DeregisterMR(region)
		return Endpoint{}, err
	}
	h.ends[local.QPN] = &end{qpn: local.QPN, region: region}
	cfg := h.nic.Config()
	ip := cfg.IPv4
	if !ip.IsValid() {
		ip = cfg.IPv6
	}
	return Endpoint{QPN: local.QPN, PSN: local.PSN, IP: ip, MAC: cfg.MAC, VA: region.VA,
		RKey: region.Key, Size: size}, nil
}

// Join connects an opened QP with its peer and posts receives for what the peer may send.
func (h *Host) Join(now unit.Time, qpn ib.QPN, peer Endpoint) error {
	e := h.ends[qpn]
	if e == nil {
		return fmt.Errorf("join QP %v: %w", qpn, ErrNotOpen)
	}
	err := h.nic.Connect(qpn, nic.Remote{QPN: peer.QPN, PSN: peer.PSN, IP: peer.IP, MAC: peer.MAC})
	if err != nil {
		return err
	}
	e.peer, e.joined = peer, true
	return h.fillSink(now, e)
}

// Close ends a QP and its region. A flow on it stops where it is.
func (h *Host) Close(qpn ib.QPN) error {
	e := h.ends[qpn]
	if e == nil {
		return fmt.Errorf("close QP %v: %w", qpn, ErrNotOpen)
	}
	if e.flow != nil {
		e.flow.stats.Done = true
	}
	delete(h.ends, qpn)
	h.nic.DeregisterMR(e.region)
	return h.nic.DestroyQP(qpn)
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

// SetLink passes the change on to the NIC.
func (h *Host) SetLink(now unit.Time, port dataplane.PortID, up bool) { h.nic.SetLink(now, port, up) }

// Ledger is the NIC's.
func (h *Host) Ledger() dataplane.Ledger { return h.nic.Ledger() }

// serve gives completions to the flows and sinks that wait for them.
func (h *Host) serve(now unit.Time) {
	for qpn, ok := h.nic.NextCompleted(); ok; qpn, ok = h.nic.NextCompleted() {
		e := h.ends[qpn]
		for n := h.nic.PollCQ(qpn, h.polled[:]); n > 0; n = h.nic.PollCQ(qpn, h.polled[:]) {
			for i := range n {
				if e != nil {
					h.completed(now, e, &h.polled[i])
				}
			}
		}
		if e != nil && e.flow != nil {
			h.fill(now, e.flow)
		}
	}
}

func (h *Host) completed(now unit.Time, e *end, c *qp.Completion) {
	if c.Op == qp.Receive {
		h.received(now, e, c)
	} else if e.flow != nil {
		e.flow.completed(now, c)
	}
}
