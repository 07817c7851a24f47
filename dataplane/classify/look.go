package classify

import (
	"encoding/binary"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// look is one look at a frame: what has been found so far. Its methods return false as soon as a
// header is not as long as it or the one before it says.
type look struct {
	frame.Class
	m    *Map
	size int // of the frame, of which only the beginning may be there
	hash hash
}

// frame reads the Ethernet header and its tags, then goes by the EtherType.
func (k *look) frame(b []byte) bool {
	eth, ok := wire.AsEthernet(b)
	if !ok {
		return false
	}
	end, next := wire.EthernetLen, eth.Type()
	if next == wire.TypeVLAN || next == wire.TypeSTag {
		if end, next, ok = k.tags(b, next); !ok {
			return false
		}
	}
	if next == wire.TypeCNTag {
		tag, ok := wire.AsCNTag(b[end:])
		if !ok {
			return false
		}
		end, next = end+wire.CNTagLen, tag.Type()
	}
	k.Kind = frame.Other
	switch next {
	case wire.TypeIPv4:
		return k.ipv4(b, end)
	case wire.TypeIPv6:
		return k.ipv6(b, end)
	case wire.TypeCNM:
		k.Kind = frame.CNM
	case wire.TypeMACControl:
		// MAC control frames are between the two ends of a link and carry no tag.
		if end == wire.EthernetLen {
			return k.control(b[end:])
		}
	}
	return true
}

// tags reads one or two tags and returns where they end and what follows.
func (k *look) tags(b []byte, outer wire.EtherType) (end int, next wire.EtherType, ok bool) {
	end = wire.EthernetLen
	tag, ok := wire.AsTag(b[end:])
	if !ok {
		return end, outer, false
	}
	if k.m.Trust == TrustPCP {
		k.TC = k.m.PCP[tag.PCP()]
	}
	end += wire.TagLen
	if outer == wire.TypeSTag && tag.Type() == wire.TypeVLAN {
		if tag, ok = wire.AsTag(b[end:]); !ok {
			return end, outer, false
		}
		end += wire.TagLen
	}
	return end, tag.Type(), true
}

func (k *look) control(body []byte) bool {
	view, ok := wire.AsPause(body)
	if !ok {
		return false
	}
	switch view.Opcode() {
	case wire.OpPFC:
		k.Kind = frame.PFC
		return len(body) >= wire.PFCLen
	case wire.OpPause:
		k.Kind = frame.Pause
	default:
		k.Kind = frame.MACControl
	}
	return true
}

func (k *look) ipv4(b []byte, at int) bool {
	ip, ok := wire.AsIPv4(b[at:])
	if !ok {
		return false
	}
	header, total := ip.HeaderLen(), ip.TotalLen()
	if ip.Version() != 4 || header < wire.IPv4Len || total < header || total > k.size-at {
		return false
	}
	k.Kind, k.L3Off, k.ECN = frame.IPv4, uint8(at), ip.ECN()
	k.trustDSCP(ip.DSCP())
	k.hash.word(binary.BigEndian.Uint32(ip[12:16]))
	k.hash.word(binary.BigEndian.Uint32(ip[16:20]))
	k.hash.word(uint32(ip.Protocol()))
	if !ip.MoreFragments() && ip.FragmentOffset() == 0 {
		ok = k.transport(b, at+header, at+total, ip.Protocol(), frame.RoCE4)
	}
	k.Hash = k.hash.sum()
	return ok
}

func (k *look) ipv6(b []byte, at int) bool {
	ip, ok := wire.AsIPv6(b[at:])
	if !ok || ip.Version() != 6 || ip.PayloadLen() > k.size-at-wire.IPv6Len {
		return false
	}
	k.Kind, k.L3Off, k.ECN = frame.IPv6, uint8(at), ip.ECN()
	k.trustDSCP(ip.DSCP())
	for i := 8; i < wire.IPv6Len; i += 4 {
		k.hash.word(binary.BigEndian.Uint32(ip[i : i+4]))
	}
	k.hash.word(uint32(ip.NextHeader()))
	above := at + wire.IPv6Len
	ok = k.transport(b, above, above+ip.PayloadLen(), ip.NextHeader(), frame.RoCE6)
	k.Hash = k.hash.sum()
	return ok
}

func (k *look) trustDSCP(dscp uint8) {
	k.DSCP = dscp
	if k.m.Trust == TrustDSCP {
		k.TC = k.m.DSCP[dscp]
	}
}

// minTCP is the length of a TCP header without options.
const minTCP = 20

// transport reads the ports, if the protocol has them, of a segment from offset at of b to end,
// which is where the IP header says.
func (k *look) transport(b []byte, at, end int, proto uint8, roce frame.Kind) bool {
	if at > len(b) {
		return false
	}
	segment := b[at:min(end, len(b))]
	switch proto {
	case wire.ProtoUDP:
		udp, ok := wire.AsUDP(segment)
		if !ok || udp.Len() < wire.UDPLen || udp.Len() > end-at {
			return false
		}
		if udp.DstPort() == wire.PortRoCE {
			k.Kind = roce
		}
	case wire.ProtoTCP:
		if len(segment) < minTCP {
			return false
		}
	default:
		return true
	}
	k.L4Off = uint8(at)
	k.hash.word(binary.BigEndian.Uint32(segment[0:4]))
	return true
}
