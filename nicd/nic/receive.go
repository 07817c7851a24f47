package nic

import (
	"net/netip"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/ib"
)

// Receive takes a frame from the wire. If no receive pipeline is modelled, its payload is in
// memory, or it is dropped by a name, when Receive returns. Else it may wait for that.
//
// MAC control frames do not wait: they belong to the MAC, which is in front of the buffer.
func (n *NIC) Receive(now unit.Time, _ dataplane.PortID, f *frame.Frame) {
	n.now = now
	n.ledger.Received.Add(f.Len())
	if f.Meta.Class.Kind == frame.Unclassified {
		f.Meta.Class = n.cfg.Classify.Frame(f)
	}
	class := &f.Meta.Class
	n.traffic[class.TC&7].Received.Add(f.Len())
	if !n.up { // it was on the wire when the link went down
		n.ledger.Drop(f, frame.DropLinkDown)
		return
	}
	switch {
	case !n.cfg.Receive.on() || class.Kind == frame.PFC || class.Kind == frame.Pause ||
		class.Kind == frame.MACControl:
		n.dispatch(now, f)
	default:
		n.enter(now, f)
	}
	n.kick()
}

// dispatch hands a frame to what it is for, and ends it.
func (n *NIC) dispatch(now unit.Time, f *frame.Frame) {
	why := frame.DropNotRoCE
	switch f.Meta.Class.Kind {
	case frame.RoCE4, frame.RoCE6:
		why = n.roce(now, f)
	case frame.PFC:
		why = n.pfc(now, f)
	case frame.Other:
		why = n.asked(f)
	case frame.Malformed:
		why = frame.DropMalformed
	case frame.Pause, frame.MACControl:
		why = frame.DropMACControl
	case frame.CNM:
		why = n.cnm(now, f)
	}
	if why == frame.NoReason {
		n.ledger.Consume(f)
	} else {
		n.ledger.Drop(f, why)
	}
}

// pfc obeys a PFC frame. What it releases is found by kick.
func (n *NIC) pfc(now unit.Time, f *frame.Frame) frame.Reason {
	body, ok := wire.AsPFC(f.Bytes()[wire.EthernetLen:])
	if !ok {
		return frame.DropMalformed
	}
	n.pause.Receive(now, body)
	n.wheel.Set(pauseTimer, n.pause.NextWake())
	return frame.NoReason
}

// roce finds the QP of a RoCEv2 packet and hands it over.
func (n *NIC) roce(now unit.Time, f *frame.Frame) frame.Reason {
	b, class := f.Head(), &f.Meta.Class
	if wire.MAC(b[:6]) != n.cfg.MAC {
		return frame.DropNotForUs
	}
	source, dest := addresses(b, class)
	vlan := vlanOf(b, class.L3Off)
	if n.find(dest, vlan) < 0 {
		return frame.DropNotForUs
	}
	var p ib.Packet
	if !takeApart(f, &p) {
		return frame.DropMalformed
	}
	if !p.CheckICRC() {
		n.counters.RxICRCEncapsulated++
		return frame.DropICRC
	}
	if p.BTH.DestQP() == ib.QP1 {
		return n.general(now, f, &p)
	}
	c := n.conn(p.BTH.DestQP())
	if c != nil && c.ud != nil {
		return n.receiveDatagram(now, f, c, &p)
	}
	if c == nil || !c.remote.IP.IsValid() {
		return frame.DropUnknownQP
	}
	f.Meta.Flow = uint32(p.BTH.DestQP())
	if source != c.remote.IP || dest != c.remote.Source || vlan != c.remote.VLAN.ID {
		return frame.DropUnexpected // not from the QP's peer to the QP's address
	}
	switch p.Info.Verb {
	case ib.Notify:
		return n.congestion(now, c, &p)
	case ib.Feed, ib.Probe:
		return n.fed(now, c, &p)
	}
	n.arrived(now, c, f, &p)
	if class.ECN == frame.CE && (p.Info.Request() || p.Info.Verb == ib.ReadReply) {
		n.marked(now, c)
	}
	return n.transportPacket(now, c, &p)
}

// takeApart opens the packet in f. Zeros that are not stored stay so if they are its payload.
func takeApart(f *frame.Frame, p *ib.Packet) (ok bool) {
	l3, l4 := int(f.Meta.Class.L3Off), int(f.Meta.Class.L4Off)
	if f.Elided() > 0 && p.OpenAround(f.Head(), f.Elided(), l3, l4) {
		return true
	}
	*p, ok = ib.Open(f.Bytes(), l3, l4)
	return ok
}

// addresses of the IP header, which the classifier has found to be complete.
func addresses(b []byte, class *frame.Class) (source, dest netip.Addr) {
	ip := b[class.L3Off:]
	if class.Kind == frame.RoCE4 {
		return netip.AddrFrom4([4]byte(ip[12:16])), netip.AddrFrom4([4]byte(ip[16:20]))
	}
	return netip.AddrFrom16([16]byte(ip[8:24])), netip.AddrFrom16([16]byte(ip[24:40]))
}

// marked is a packet of which a switch says that there is congestion.
func (n *NIC) marked(now unit.Time, c *conn) {
	n.counters.NPECNMarkedRoCEPackets++
	n.congested(now, c)
}

// congestion is a CNP for the reaction point.
func (n *NIC) congestion(now unit.Time, c *conn, p *ib.Packet) frame.Reason {
	if !p.BTH.BECN() {
		return frame.DropUnexpected
	}
	c.cnps++
	if !c.params.HandlesCNP() {
		n.counters.RPCNPIgnored++
		return frame.NoReason
	}
	n.counters.RPCNPHandled++
	c.cc.CNP(now, cc.CNP{Interval: time.Duration(p.Receiver.IntervalNs()),
		Flows: int(p.Receiver.Flows())})
	n.limit(now, c)
	return frame.NoReason
}

// transportPacket is a request, or an answer to one of ours.
func (n *NIC) transportPacket(now unit.Time, c *conn, p *ib.Packet) frame.Reason {
	acked, why := c.qp.Receive(now, p)
	if c.greeting && why == frame.NoReason {
		n.communicating(c)
	}
	if acked.Packets > 0 && !c.fedBack() {
		c.cc.Ack(now, cc.Ack{Bytes: acked.Bytes, Packets: acked.Packets})
	}
	if acked.Lost {
		c.cc.Nack(now)
	}
	if acked.Packets > 0 || acked.Lost {
		n.limit(now, c)
	}
	n.settle(now, c)
	return why
}
