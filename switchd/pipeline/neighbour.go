package pipeline

import (
	"net/netip"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/fib"
)

// hold lets a packet wait for its neighbour's MAC address, or its port, to be found. It waits in
// the memory of the switch's CPU and is charged to no queue.
func (s *Switch) hold(now unit.Time, p *port, f *frame.Frame, on int, addr netip.Addr) verdict {
	f.Meta.Port = p.id
	s.ledger.Buffered.Add(f.Len())
	if out := s.router.Neighbours.Wait(now, on, addr, f); out != nil {
		s.dropHeld(out, frame.DropNoNeighbour)
	}
	s.resolve(now)
	return verdict{do: done}
}

// dropHeld drops a packet that waited.
func (s *Switch) dropHeld(f *frame.Frame, why frame.Reason) {
	s.ledger.Buffered.Sub(f.Len())
	s.drop(&s.ports[f.Meta.Port], f, why)
}

// resolve asks for what is to be asked for now, and gives up what nobody answered for.
func (s *Switch) resolve(now unit.Time) {
	neighbours := s.router.Neighbours
	for q, ok := neighbours.Next(now); ok; q, ok = neighbours.Next(now) {
		if !q.Failed {
			s.solicit(now, &q)
			continue
		}
		for f := q.Waited.Pop(); f != nil; f = q.Waited.Pop() {
			s.dropHeld(f, frame.DropNoNeighbour)
		}
	}
	s.arm(neighbours.NextWake())
}

// confirm notes what a neighbour said, and sends what waited for it. The port is known by now, as
// the neighbour has just spoken, unless the MAC table is full; what would wait again is dropped.
func (s *Switch) confirm(now unit.Time, on int, addr netip.Addr, news fib.News) {
	if news.MAC.IsMulticast() || !s.router.InSubnet(on, addr) || s.router.Own(on, addr) {
		return
	}
	waited := s.router.Neighbours.Confirm(now, on, addr, news)
	to := station{on, addr, news.MAC}
	for f := waited.Pop(); f != nil; f = waited.Pop() {
		out, ok := s.portOf(now, &to)
		if !ok {
			s.dropHeld(f, frame.DropIncomplete)
			continue
		}
		s.ledger.Buffered.Sub(f.Len())
		s.address(f, to.mac)
		s.enqueue(now, &s.ports[f.Meta.Port], &s.ports[out], f)
	}
}

// listen hears what neighbours say, and answers if it is about an address of the switch. What it
// does not consume goes on.
func (s *Switch) listen(now unit.Time, p *port, f *frame.Frame) verdict {
	switch f.Meta.Class.Kind {
	case frame.Other:
		eth, ok := wire.AsEthernet(f.Bytes())
		if !ok || eth.Type() != wire.TypeARP {
			return verdict{do: next}
		}
		if arp, ok := wire.AsARP(f.Bytes()[wire.EthernetLen:]); ok {
			return s.arp(now, p, f, arp)
		}
	case frame.IPv6:
		return s.discovery(now, p, f)
	}
	return verdict{do: next}
}

// arp follows RFC 826, "Packet Reception". An announcement (RFC 5227 section 3) makes an entry,
// as with SONiC's grat_arp.
func (s *Switch) arp(now unit.Time, p *port, f *frame.Frame, arp *wire.ARP) verdict {
	on := s.router.Interface(p.id)
	sender, target := netip.AddrFrom4(arp.SenderIP()), netip.AddrFrom4(arp.TargetIP())
	forUs := s.router.Own(on, target)
	s.confirm(now, on, sender, fib.News{MAC: arp.SenderMAC(), Override: true,
		Create: forUs || sender == target})
	switch {
	case forUs && arp.Operation() == wire.ARPRequest:
		own := wire.Station{MAC: s.router.Config().MAC, IP: arp.TargetIP()}
		to := wire.Station{MAC: arp.SenderMAC(), IP: arp.SenderIP()}
		b := wire.ARPFrame(wire.ARPReply, to.MAC, own, to)
		s.answer(now, p, f, b[:])
		return verdict{do: done}
	case forUs || s.router.Routed(p.id):
		s.ledger.Consume(f)
		return verdict{do: done}
	}
	return verdict{do: next}
}

// solicit sends a request for an address: to one station if it is a poll, else to all.
func (s *Switch) solicit(now unit.Time, q *fib.Solicit) {
	source, ok := s.router.Source(q.Interface, q.Addr)
	if !ok {
		return
	}
	if q.Addr.Is4() {
		dst := wire.Broadcast
		if q.MAC != (wire.MAC{}) {
			dst = q.MAC
		}
		own := wire.Station{MAC: s.router.Config().MAC, IP: source.As4()}
		b := wire.ARPFrame(wire.ARPRequest, dst, own, wire.Station{IP: q.Addr.As4()})
		s.originate(now, q.Interface, q.MAC, b[:])
		return
	}
	b := s.solicitation(source, q)
	s.originate(now, q.Interface, q.MAC, b[:])
}

// originate sends a frame of the switch's own on an interface: to the port behind which dst is, or
// to all.
func (s *Switch) originate(now unit.Time, on int, dst wire.MAC, b []byte) {
	if out := s.router.Config().Interfaces[on].Port; out != fib.VLAN {
		s.emit(now, &s.ports[out], b)
		return
	}
	if dst != (wire.MAC{}) {
		if out, ok := s.macs.Lookup(now, dst); ok {
			s.emit(now, &s.ports[out], b)
			return
		}
	}
	set := s.macs.Flood()
	for id, ok := set.Next(0); ok; id, ok = set.Next(id + 1) {
		if out := &s.ports[id]; out.up {
			s.emit(now, out, b)
		}
	}
}

// emit sends a frame of the switch's own through a port.
func (s *Switch) emit(now unit.Time, out *port, b []byte) {
	if f := s.make(out, s.router.Config().Class, b); f != nil {
		s.submit(now, out, f)
	}
}

// answer turns f into a frame of the switch's own and sends it back.
func (s *Switch) answer(now unit.Time, p *port, f *frame.Frame, b []byte) {
	s.ledger.Consumed.Add(f.Len())
	if !f.Set(b) {
		panic("pipeline: an answer does not fit into a frame")
	}
	s.ledger.Generated.Add(f.Len())
	s.submit(now, p, f)
}

// submit puts a frame of the switch's own into a queue, charged to the port it leaves by.
func (s *Switch) submit(now unit.Time, out *port, f *frame.Frame) {
	f.Meta.Class = out.classify.Classify(f.Bytes())
	f.Meta.Class.TC = s.router.Config().Class
	s.enqueue(now, out, out, f)
}

// Router is what the switch routes by, for looking and for static routes and neighbours; nil if it
// bridges only.
func (s *Switch) Router() *fib.Router { return s.router }

// RemoveNeighbour forgets a neighbour; false if there is none. What waited for it is dropped.
func (s *Switch) RemoveNeighbour(on int, addr netip.Addr) bool {
	waited, ok := s.router.Neighbours.Remove(on, addr)
	for f := waited.Pop(); f != nil; f = waited.Pop() {
		s.dropHeld(f, frame.DropNoNeighbour)
	}
	return ok
}
