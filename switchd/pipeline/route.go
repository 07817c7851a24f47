package pipeline

import (
	"net/netip"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/fib"
)

// route takes what is for the router: packets in frames to its MAC address, and what neighbours
// say. All else is bridged, but not from a port that has an interface of its own.
func (s *Switch) route(now unit.Time, p *port, f *frame.Frame) verdict {
	if s.router == nil || s.router.Interface(p.id) < 0 {
		return verdict{do: next}
	}
	eth, ok := wire.AsEthernet(f.Head())
	if !ok {
		return verdict{why: frame.DropMalformed}
	}
	dst := eth.Dst()
	if dst == s.router.Config().MAC {
		return s.toRouter(now, p, f)
	}
	if dst.IsMulticast() {
		if v := s.listen(now, p, f); v.do != next {
			return v
		}
	}
	if s.router.Routed(p.id) {
		return verdict{why: frame.DropNotForUs}
	}
	return verdict{do: next}
}

// toRouter handles a frame to the router's MAC address.
func (s *Switch) toRouter(now unit.Time, p *port, f *frame.Frame) verdict {
	switch f.Meta.Class.Kind {
	case frame.IPv4, frame.RoCE4:
		s.untag(f)
		return s.routeIPv4(now, p, f)
	case frame.IPv6, frame.RoCE6:
		s.untag(f)
		return s.routeIPv6(now, p, f)
	}
	if v := s.listen(now, p, f); v.do != next {
		return v
	}
	return verdict{why: frame.DropIP2Me}
}

// untag takes the tags off a packet: no VLAN reaches over a router, which is why PFC has to go by
// DSCP there ([RDMA at scale] section 3). The frame that goes on is another one to the ledger.
func (s *Switch) untag(f *frame.Frame) {
	c := &f.Meta.Class
	tags := c.L3Off - wire.EthernetLen
	if tags == 0 {
		return
	}
	s.ledger.Consumed.Add(f.Len())
	b := f.Bytes()
	const typeAt = wire.EthernetLen - 2
	copy(b[typeAt:], b[typeAt+int(tags):])
	f.Resize(len(b) - int(tags))
	c.L3Off -= tags
	if c.L4Off != 0 {
		c.L4Off -= tags
	}
	s.ledger.Generated.Add(f.Len())
}

// routeIPv4 follows RFC 1812 section 5.2.1: checksum, destination, time to live.
func (s *Switch) routeIPv4(now unit.Time, p *port, f *frame.Frame) verdict {
	packet := f.Head()[f.Meta.Class.L3Off:]
	ip, ok := wire.AsIPv4(packet)
	if !ok || wire.HeaderChecksum(packet[:ip.HeaderLen()]) != 0 { // RFC 1812 section 5.2.2
		return verdict{why: frame.DropMalformed}
	}
	dst := netip.AddrFrom4(ip.Dst())
	g := s.router.Lookup(dst)
	switch {
	case g == nil || g.Kind == fib.Null:
		return verdict{why: frame.DropNoRoute}
	case g.Kind == fib.Local:
		return s.localIPv4(now, p, f, ip)
	case ip.TTL() <= 1: // RFC 1812 section 5.3.1
		return verdict{why: frame.DropTTL}
	}
	ip.SetTTL(ip.TTL() - 1) // The checksum follows as in RFC 1624.
	return s.via(now, p, f, g, dst)
}

// routeIPv6 follows RFC 8200 section 3: destination, hop limit.
func (s *Switch) routeIPv6(now unit.Time, p *port, f *frame.Frame) verdict {
	ip, ok := wire.AsIPv6(f.Head()[f.Meta.Class.L3Off:])
	if !ok {
		return verdict{why: frame.DropMalformed}
	}
	dst := netip.AddrFrom16(ip.Dst())
	g := s.router.Lookup(dst)
	switch {
	case g == nil || g.Kind == fib.Null:
		return verdict{why: frame.DropNoRoute}
	case g.Kind == fib.Local:
		return s.localIPv6(now, p, f, ip)
	case ip.HopLimit() <= 1:
		return verdict{why: frame.DropTTL}
	}
	ip.SetHopLimit(ip.HopLimit() - 1)
	return s.via(now, p, f, g, dst)
}

// via sends a packet to the next hop that the group has for its flow.
func (s *Switch) via(now unit.Time, p *port, f *frame.Frame, g *fib.Group,
	dst netip.Addr) verdict {
	hop, ok := s.router.Pick(g, f.Meta.Class.Hash)
	if !ok {
		return verdict{why: frame.DropLinkDown}
	}
	if g.Kind == fib.Via {
		dst = hop.Addr
	}
	mac, known := s.router.Neighbours.Lookup(now, hop.Interface, dst)
	if s.router.Neighbours.NextWake() <= now {
		s.resolve(now) // The entry will be too old soon.
	}
	if !known {
		return s.hold(now, p, f, hop.Interface, dst)
	}
	return s.toStation(now, p, f, station{hop.Interface, dst, mac})
}

// station is a neighbour whose MAC address is known.
type station struct {
	on   int // interface
	addr netip.Addr
	mac  wire.MAC
}

// toStation addresses a packet to a neighbour and sends it. On the bridge the MAC table has to
// tell the port: if it does not, the ARP entry is incomplete in the sense of [RDMA at scale]
// section 4.2.
func (s *Switch) toStation(now unit.Time, p *port, f *frame.Frame, to station) verdict {
	if out, ok := s.portOf(now, &to); ok {
		s.address(f, to.mac)
		s.enqueue(now, p, &s.ports[out], f)
		return verdict{do: done}
	}
	switch s.router.Config().Incomplete {
	case fib.Flood: // "flood the packet to all its ports", in its own class
		s.address(f, to.mac)
		return s.floodTo(now, p, f, &s.all)
	case fib.ToCPU: // option (1)
		return s.hold(now, p, f, to.on, to.addr)
	}
	if p.lossless[f.Meta.Class.TC] { // option (3)
		return verdict{why: frame.DropIncomplete}
	}
	s.address(f, to.mac)
	return s.floodTo(now, p, f, s.macs.Flood())
}

// portOf finds the port behind which a neighbour is.
func (s *Switch) portOf(now unit.Time, to *station) (dataplane.PortID, bool) {
	if out := s.router.Config().Interfaces[to.on].Port; out != fib.VLAN {
		return out, true
	}
	return s.macs.Lookup(now, to.mac)
}

// address makes f a frame from the router to a station.
func (s *Switch) address(f *frame.Frame, dst wire.MAC) {
	eth, ok := wire.AsEthernet(f.Head())
	if !ok {
		panic("pipeline: a frame without a header is routed")
	}
	eth.SetDst(dst)
	eth.SetSrc(s.router.Config().MAC)
}

// setInterface tells the router of a port that went up or down. The VLAN interface is up while
// any port of the bridge is.
func (s *Switch) setInterface(id dataplane.PortID, up bool) {
	if s.router == nil {
		return
	}
	on := s.router.Interface(id)
	if on < 0 {
		return
	}
	if !s.router.Routed(id) {
		set := s.macs.Flood()
		for other, ok := set.Next(0); ok && !up; other, ok = set.Next(other + 1) {
			up = s.ports[other].up
		}
	}
	s.router.SetUp(on, up)
	if !up {
		s.router.Neighbours.FlushInterface(on, func(f *frame.Frame) {
			s.dropHeld(f, frame.DropLinkDown)
		})
	}
}
