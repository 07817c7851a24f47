package nic

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// router asks NICs for their MAC addresses.
var router = wire.Station{MAC: wire.MAC{2, 0, 0, 0, 0, 254}, IP: [4]byte{10, 0, 0, 254}}

// question is an ARP request of a neighbour for the NIC's address.
func (p *peer) question(from wire.Station) *frame.Frame {
	b := wire.ARPFrame(wire.ARPRequest, wire.Broadcast, from,
		wire.Station{IP: p.cfg.IPv4.As4()})
	f := p.pool.Get()
	f.Set(b[:])
	return f
}

// answered reports whether the next frame of the NIC is its answer to a neighbour.
func (p *peer) answered(t *testing.T, to wire.Station) bool {
	t.Helper()
	f := p.send(p.now)
	if f == nil {
		return false
	}
	defer f.Release()
	eth, _ := wire.AsEthernet(f.Bytes())
	if eth.Type() != wire.TypeARP {
		return false
	}
	arp, ok := wire.AsARP(f.Bytes()[wire.EthernetLen:])
	return ok && f.Len() == wire.MinFrame && eth.Dst() == to.MAC && eth.Src() == p.cfg.MAC &&
		arp.Operation() == wire.ARPReply && arp.SenderMAC() == p.cfg.MAC &&
		arp.SenderIP() == p.cfg.IPv4.As4() && arp.TargetMAC() == to.MAC && arp.TargetIP() == to.IP
}

// RFC 826, "Packet Reception": a request for the NIC's address is answered to who asked, before
// data that waits. What is no request for it is not.
func TestAnswersARP(t *testing.T) {
	a, b, pool := newPeers(t, nil)
	a.write(t, 0, b, 100)
	a.give(0, a.question(router))
	if !a.answered(t, router) {
		t.Error("no answer")
	}
	a.give(0, b.question(router))
	reply := a.question(router)
	(*wire.ARP)(reply.Bytes()[wire.EthernetLen:]).SetOperation(wire.ARPReply)
	a.give(0, reply)
	if f := a.send(0); f == nil || f.Meta.Flow == 0 {
		t.Error("the data did not leave next")
	} else {
		f.Release()
	}
	if l := a.Ledger(); l.Dropped[frame.DropNotRoCE].Frames != 2 || pool.InUse() != 0 {
		t.Errorf("%+v, %d frames in use", l.Dropped, pool.InUse())
	}
	a.balanced(t)
}

// Answers wait while frames without a DSCP are paused, in their order, and not more of them than
// there is room for. A link that goes down forgets them.
func TestARPWaits(t *testing.T) {
	a, _, pool := newPeers(t, func(c *Config) { c.PFC = c.PFC.With(0) })
	a.give(0, pfcFrame(pool, pfc.SetOf(0), 0xffff))
	asker := func(i int) (n wire.Station) {
		n = router
		n.IP[3] = byte(i)
		return n
	}
	for i := range maxAsking + 1 {
		a.give(0, a.question(asker(i)))
	}
	if a.answered(t, asker(0)) || a.Ledger().Dropped[frame.DropQueueFull].Frames != 1 {
		t.Errorf("%+v", a.Ledger().Dropped)
	}
	a.give(us, pfcFrame(pool, pfc.SetOf(0), 0))
	for i := range 3 {
		if !a.answered(t, asker(i)) {
			t.Errorf("neighbour %d is not answered in its turn", i)
		}
	}
	a.SetLink(2*us, Port, false)
	a.SetLink(3*us, Port, true)
	if f := a.send(3 * us); f != nil {
		t.Errorf("% x left on the next link", f.Bytes())
	}
	a.balanced(t)
}
