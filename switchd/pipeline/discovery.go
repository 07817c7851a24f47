package pipeline

import (
	"net/netip"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/fib"
)

// ndHopLimit proves that a message comes from the same link. RFC 4861 section 7.1.
const ndHopLimit = 255

// discovery hears neighbour solicitations and advertisements. RFC 4861 section 7.2. Messages that
// do not pass section 7.1's checks are not heard.
func (s *Switch) discovery(now unit.Time, p *port, f *frame.Frame) verdict {
	c := &f.Meta.Class
	packet := f.Bytes()[c.L3Off:]
	ip, ok := wire.AsIPv6(packet)
	if !ok || ip.NextHeader() != wire.ProtoICMPv6 || ip.HopLimit() != ndHopLimit {
		return verdict{do: next}
	}
	message := packet[wire.IPv6Len : wire.IPv6Len+ip.PayloadLen()]
	nd, ok := wire.AsND(message)
	if !ok || message[1] != 0 || wire.ICMPv6Checksum(ip, message) != 0 {
		return verdict{do: next}
	}
	options := message[wire.NDLen:]
	switch message[0] {
	case wire.ICMPv6Solicit:
		return s.solicited(now, p, f, ip, nd, options)
	case wire.ICMPv6Advert:
		return s.advertised(now, p, f, nd, options)
	}
	return verdict{do: next}
}

// solicited answers for the switch's own addresses. RFC 4861 sections 7.2.3 and 7.2.4.
func (s *Switch) solicited(now unit.Time, p *port, f *frame.Frame, ip *wire.IPv6, nd *wire.ND,
	options []byte) verdict {
	on := s.router.Interface(p.id)
	mac, has, valid := wire.LinkLayer(options, wire.NDSource)
	target := netip.AddrFrom16(nd.Target())
	if !valid || !s.router.Own(on, target) {
		return verdict{do: next}
	}
	src := netip.AddrFrom16(ip.Src())
	eth, _ := wire.AsEthernet(f.Bytes())
	dst := eth.Src()
	if has && !src.IsUnspecified() {
		s.confirm(now, on, src, fib.News{MAC: mac, Create: true, Override: true})
		dst = mac
	}
	flags := wire.NDRouter | wire.NDSolicited | wire.NDOverride
	if src.IsUnspecified() { // somebody checks whether the address is free: RFC 4862 section 5.4
		src, dst = netip.IPv6LinkLocalAllNodes(), wire.MAC{0x33, 0x33, 5: 1} // RFC 2464 section 7
		flags = wire.NDRouter | wire.NDOverride
	}
	b := s.ndFrame(wire.ICMPv6Advert, dst, target, src)
	message := (*wire.ND)(b[wire.EthernetLen+wire.IPv6Len:])
	message.SetFlags(flags)
	message.SetTarget(nd.Target())
	s.finish(&b, wire.NDTarget)
	s.answer(now, p, f, b[:])
	return verdict{do: done}
}

// advertised notes where a neighbour is. RFC 4861 section 7.2.5.
func (s *Switch) advertised(now unit.Time, p *port, f *frame.Frame, nd *wire.ND,
	options []byte) verdict {
	mac, has, valid := wire.LinkLayer(options, wire.NDTarget)
	if valid && has {
		s.confirm(now, s.router.Interface(p.id), netip.AddrFrom16(nd.Target()),
			fib.News{MAC: mac, Override: nd.Flags()&wire.NDOverride != 0})
	}
	eth, _ := wire.AsEthernet(f.Bytes())
	if eth.Dst() != s.router.Config().MAC && !s.router.Routed(p.id) {
		return verdict{do: next} // to others as well
	}
	s.ledger.Consume(f)
	return verdict{do: done}
}

// ndFrame is a frame with a message and one link-layer address option.
type ndFrame [wire.EthernetLen + wire.IPv6Len + wire.NDLen + wire.LinkLayerLen]byte

// ndFrame begins a message of that type from src.
func (s *Switch) ndFrame(kind uint8, mac wire.MAC, src, dst netip.Addr) (b ndFrame) {
	eth := (*wire.Ethernet)(b[:])
	eth.SetDst(mac)
	eth.SetSrc(s.router.Config().MAC)
	eth.SetType(wire.TypeIPv6)
	ip := (*wire.IPv6)(b[wire.EthernetLen:])
	ip.Init()
	ip.SetPayloadLen(wire.NDLen + wire.LinkLayerLen)
	ip.SetNextHeader(wire.ProtoICMPv6)
	ip.SetHopLimit(ndHopLimit)
	ip.SetSrc(src.As16())
	ip.SetDst(dst.As16())
	(*wire.ND)(b[wire.EthernetLen+wire.IPv6Len:]).Init(kind)
	return b
}

// finish adds the router's MAC address as an option, and the checksum.
func (s *Switch) finish(b *ndFrame, option uint8) {
	message := b[wire.EthernetLen+wire.IPv6Len:]
	wire.PutLinkLayer(message[wire.NDLen:], option, s.router.Config().MAC)
	sum := wire.ICMPv6Checksum((*wire.IPv6)(b[wire.EthernetLen:]), message)
	(*wire.ICMP)(message).SetChecksum(sum)
}

// solicitation asks for an address: the station that had it, or the address's solicited-node group
// (RFC 4291 section 2.7.1, RFC 2464 section 7).
func (s *Switch) solicitation(source netip.Addr, q *fib.Solicit) (b ndFrame) {
	target := q.Addr.As16()
	mac, dst := q.MAC, q.Addr
	if mac == (wire.MAC{}) {
		mac = wire.MAC{0x33, 0x33, 0xff, target[13], target[14], target[15]}
		dst = netip.AddrFrom16([16]byte{0: 0xff, 1: 0x02, 11: 0x01, 12: 0xff, 13: target[13],
			14: target[14], 15: target[15]})
	}
	b = s.ndFrame(wire.ICMPv6Solicit, mac, source, dst)
	(*wire.ND)(b[wire.EthernetLen+wire.IPv6Len:]).SetTarget(target)
	s.finish(&b, wire.NDSource)
	return b
}
