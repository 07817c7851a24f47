package nic

import (
	"net/netip"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/cm"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// Counters are the NIC's own events; those of the transport are qp.Counters. Names are mlx5's.
type Counters struct {
	NPECNMarkedRoCEPackets uint64
	NPCNPSent              uint64
	RPCNPHandled           uint64
	RPCNPIgnored           uint64
	RPCNMHandled           uint64 // QCN; the standard and mlx5 have no name for these two
	RPCNMIgnored           uint64
	RxICRCEncapsulated     uint64
	// Events of the pause watchdog.
	TxPauseStormWarningEvents uint64
	TxPauseStormErrorEvents   uint64
	TxNoFrame                 uint64 // the frame pool was empty: the emulator, not the network
}

// PriorityTraffic is the frames of one priority.
type PriorityTraffic struct{ Received, Sent dataplane.Count }

// PriorityPause is what PFC did to one priority.
type PriorityPause struct {
	RxPause           uint64        // PFC frames that named it
	RxPauseDuration   time.Duration // held back
	RxPauseTransition uint64        // from paused to running
	TxPause           uint64        // PFC frames of ours that named it
	TxPauseDuration   time.Duration // we held the other end back
}

// QPView is one QP from outside.
type QPView struct {
	QPN, RemoteQPN   ib.QPN
	Source, RemoteIP netip.Addr // invalid until connected
	Datagrams        bool       // UD
	State            qp.State
	Rate             unit.Rate
	Window           unit.Bytes
	CNPs             uint64 // received
	Stats            qp.Stats
	CC               [maxCCValues]cc.Value
	CCValues         int // how many of CC are set
}

const maxCCValues = 8

// Snapshot is everything a NIC tells about itself at one instant.
type Snapshot struct {
	Time      unit.Time
	Ledger    dataplane.Ledger
	Counters  Counters
	Transport qp.Counters
	CM        cm.Counters
	Traffic   [8]PriorityTraffic
	Pause     [8]PriorityPause
	Receive   ReceiveView
	QPs       []QPView // by number
}

// Snapshot fills dst, whose QPs are overwritten and grow if they must.
func (n *NIC) Snapshot(now unit.Time, dst *Snapshot) {
	dst.Time, dst.Ledger, dst.Counters = now, n.ledger, n.counters
	dst.Transport, dst.Traffic, dst.CM = n.transport, n.traffic, n.gsi.Counters()
	dst.Receive = n.Receiving()
	p, q := n.pause.Counters(now), n.asking.Counters(now)
	for i := range dst.Pause {
		dst.Pause[i] = PriorityPause{p.Frames[i], p.Paused[i], p.Transitions[i],
			q.Frames[i], q.Paused[i]}
	}
	dst.QPs = dst.QPs[:0]
	for _, c := range n.conns {
		if c == nil {
			continue
		}
		dst.QPs = append(dst.QPs, c.view())
	}
}

// View shows one QP, and reports false if there is none of that number.
func (n *NIC) View(qpn ib.QPN) (QPView, bool) {
	c := n.conn(qpn)
	if c == nil {
		return QPView{}, false
	}
	return c.view(), true
}

func (c *conn) view() QPView {
	if c.ud != nil {
		return QPView{QPN: c.qpn, State: c.ud.State(), Rate: c.cc.Limit().Rate, Datagrams: true}
	}
	l := c.cc.Limit()
	v := QPView{QPN: c.qp.QPN(), RemoteQPN: c.qp.Remote(), State: c.qp.State(),
		Source: c.remote.Source, RemoteIP: c.remote.IP,
		Rate: l.Rate, Window: l.Window, CNPs: c.cnps, Stats: c.qp.Stats}
	v.CCValues = copy(v.CC[:], c.cc.State())
	return v
}

// Limit is what congestion control allows a QP now; zero if there is none of that number.
func (n *NIC) Limit(qpn ib.QPN) (l cc.Limit) {
	if c := n.conn(qpn); c != nil {
		l = c.cc.Limit()
	}
	return l
}

// PausedFor is for how long PFC has held back priorities, their times added up.
func (n *NIC) PausedFor(now unit.Time) (sum time.Duration) {
	for _, d := range n.pause.Counters(now).Paused {
		sum += d
	}
	return sum
}

// CNPsSent is how many CNPs the NIC sent.
func (n *NIC) CNPsSent() uint64 { return n.counters.NPCNPSent }
