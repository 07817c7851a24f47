package pipeline

import (
	"net/netip"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/fib"
)

// defaultTTL is that of packets which the switch sends. IANA, IP option numbers: IP time to live.
const defaultTTL = 64

// localIPv4 answers an echo request to the switch (RFC 1812 section 4.3.3.6); it has no use for
// anything else.
func (s *Switch) localIPv4(now unit.Time, p *port, f *frame.Frame, ip *wire.IPv4) verdict {
	c := &f.Meta.Class
	message := f.Bytes()[int(c.L3Off)+ip.HeaderLen() : int(c.L3Off)+ip.TotalLen()]
	icmp, ok := wire.AsICMP(message)
	if !ok || ip.Protocol() != wire.ProtoICMP || ip.MoreFragments() || ip.FragmentOffset() != 0 ||
		icmp.Type() != wire.ICMPEcho || icmp.Code() != 0 {
		return verdict{why: frame.DropIP2Me}
	}
	src, dst := ip.Src(), ip.Dst()
	icmp.SetType(wire.ICMPEchoReply)
	ip.SetSrc(dst) // The sum over both addresses stays, and so does the checksum.
	ip.SetDst(src)
	ip.SetTTL(defaultTTL)
	return s.echo(now, p, f, netip.AddrFrom4(src))
}

// localIPv6 does the same for IPv6 (RFC 4443 section 4.2), and hears neighbours.
func (s *Switch) localIPv6(now unit.Time, p *port, f *frame.Frame, ip *wire.IPv6) verdict {
	if v := s.discovery(now, p, f); v.do != next {
		return v
	}
	at := int(f.Meta.Class.L3Off) + wire.IPv6Len
	icmp, ok := wire.AsICMP(f.Bytes()[at : at+ip.PayloadLen()])
	if !ok || ip.NextHeader() != wire.ProtoICMPv6 || icmp.Type() != wire.ICMPv6Echo ||
		icmp.Code() != 0 {
		return verdict{why: frame.DropIP2Me}
	}
	src, dst := ip.Src(), ip.Dst()
	icmp.SetType(wire.ICMPv6EchoReply)
	ip.SetSrc(dst)
	ip.SetDst(src)
	ip.SetHopLimit(defaultTTL)
	return s.echo(now, p, f, netip.AddrFrom16(src))
}

// echo sends a request that has become its reply on its way back.
func (s *Switch) echo(now unit.Time, p *port, f *frame.Frame, to netip.Addr) verdict {
	g := s.router.Lookup(to)
	if g == nil || g.Kind == fib.Null || g.Kind == fib.Local {
		return verdict{why: frame.DropNoRoute}
	}
	s.ledger.Consumed.Add(f.Len())
	s.ledger.Generated.Add(f.Len())
	f.Meta.Class.TC = s.router.Config().Class
	return s.via(now, p, f, g, to)
}
