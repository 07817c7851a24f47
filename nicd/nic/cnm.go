package nic

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/ib"
)

// farEnd names a QP by the other end, which is what a packet of ours shows of it: the BTH has no
// source QP.
type farEnd struct {
	ip  netip.Addr
	qpn ib.QPN
}

// cnm is a congestion notification message for the reaction point: [QCN] section 3.2, "Received
// congestions messages".
//
// Our frames carry no CN-TAG, since a receiver that does not know it would drop them. The piece
// of the sampled frame in the message tells whose it was; so the congestion point has to send
// 42 bytes of it, or 62 with IPv6 (cnm_headers in switchd).
func (n *NIC) cnm(now unit.Time, f *frame.Frame) frame.Reason {
	b := f.Bytes()
	if wire.MAC(b[:6]) != n.cfg.MAC {
		return frame.DropNotForUs
	}
	m, msdu, ok := openCNM(b)
	if !ok {
		return frame.DropMalformed
	}
	if m.Version() != 0 {
		return frame.DropUnexpected
	}
	source, dest, bth, ok := sampled(msdu)
	if !ok || !slices.ContainsFunc(n.gids, func(a Address) bool { return a.IP == source }) {
		return frame.DropUnexpected
	}
	c := n.byRemote[farEnd{dest, bth.DestQP()}]
	if c == nil {
		return frame.DropUnknownQP
	}
	f.Meta.Flow = uint32(c.qpn)
	// Acknowledgements pass no rate limiter, so there is nothing to slow down.
	info := bth.Opcode().Info()
	if !c.params.HandlesCNM() || !info.Request() && info.Verb != ib.ReadReply {
		n.counters.RPCNMIgnored++
		return frame.NoReason
	}
	n.counters.RPCNMHandled++
	c.cc.CNM(now, cc.CNM{Feedback: m.Feedback(),
		QOffset: unit.Bytes(m.QOffset()) * wire.CNMUnit,
		QDelta:  unit.Bytes(m.QDelta()) * wire.CNMUnit})
	n.limit(now, c)
	return frame.NoReason
}

// openCNM finds the message and its piece of the sampled frame behind the tags of a frame.
func openCNM(b []byte) (m *wire.CNM, msdu []byte, ok bool) {
	const typeLen = 2
	at := wire.EthernetLen - typeLen
	for range 4 { // at most an S-TAG, a C-TAG and a CN-TAG
		if at+typeLen > len(b) {
			return nil, nil, false
		}
		switch wire.EtherType(binary.BigEndian.Uint16(b[at:])) {
		case wire.TypeSTag, wire.TypeVLAN, wire.TypeCNTag:
			at += wire.TagLen
		case wire.TypeCNM:
			b = b[at+typeLen:]
			if m, ok = wire.AsCNM(b); !ok {
				return nil, nil, false
			}
			return m, b[wire.CNMLen:][:m.MSDULen()], true
		default:
			return nil, nil, false
		}
	}
	return nil, nil, false
}

// sampled reads the beginning of a RoCEv2 packet of ours, from its EtherType on.
func sampled(b []byte) (source, dest netip.Addr, bth *ib.BTH, ok bool) {
	const typeLen = 2
	if len(b) < typeLen {
		return source, dest, nil, false
	}
	kind, b := wire.EtherType(binary.BigEndian.Uint16(b)), b[typeLen:]
	udp := false
	switch kind {
	case wire.TypeIPv4:
		if ip, long := wire.AsIPv4(b); long && ip.HeaderLen() == wire.IPv4Len {
			source, dest = netip.AddrFrom4(ip.Src()), netip.AddrFrom4(ip.Dst())
			udp, b = ip.Protocol() == wire.ProtoUDP, b[wire.IPv4Len:]
		}
	case wire.TypeIPv6:
		if ip, long := wire.AsIPv6(b); long {
			source, dest = netip.AddrFrom16(ip.Src()), netip.AddrFrom16(ip.Dst())
			udp, b = ip.NextHeader() == wire.ProtoUDP, b[wire.IPv6Len:]
		}
	}
	if !udp || len(b) < wire.UDPLen+ib.BTHLen || (*wire.UDP)(b).DstPort() != wire.PortRoCE {
		return source, dest, nil, false
	}
	return source, dest, (*ib.BTH)(b[wire.UDPLen:]), true
}
