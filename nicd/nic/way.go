package nic

import (
	"net/netip"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/qp"
)

// way says what is wrong with the way of packets to a peer; the zero value is nothing.
type way struct {
	gone bool         // our address: the NIC has it no more
	lost frame.Reason // why there is no path; NoReason if there is one
}

// Peer is a pair of addresses between which packets go by a path of the kernel's.
type Peer struct {
	Source, IP netip.Addr
	MAC        wire.MAC // to which packets go
	VLAN       uint16   // by which they go; 0 is untagged
	Lost       bool     // there is no path at present
}

// follows reports whether the path of a QP is the kernel's.
func (n *NIC) follows(c *conn) bool {
	return c != nil && c.remote.Source.IsValid() && (c.remote.Resolved || n.cfg.KernelPaths)
}

// followed reports whether the path of an address handle is the kernel's.
func (n *NIC) followed(a *address) bool {
	return a != nil && (a.path.Resolved || n.cfg.KernelPaths)
}

// Peers lists the peers of QPs and address handles whose paths are the kernel's, each once.
func (n *NIC) Peers() (all []Peer) {
	seen := make(map[[2]netip.Addr]bool)
	add := func(p Peer) {
		if at := [2]netip.Addr{p.Source, p.IP}; !seen[at] {
			seen[at] = true
			all = append(all, p)
		}
	}
	for _, c := range n.conns {
		if n.follows(c) {
			r := &c.remote
			add(Peer{r.Source, r.IP, r.MAC, r.VLAN.ID, c.way.lost != frame.NoReason})
		}
	}
	for _, a := range n.ahs {
		if n.followed(a) {
			e := &a.ends
			add(Peer{e.Source, e.Dest, e.DestMAC, e.VLAN.ID, a.way.lost != frame.NoReason})
		}
	}
	return all
}

// Moved says where packets of the NIC's address source to ip go from now on, if their path is the
// kernel's. It ends PathDown.
func (n *NIC) Moved(now unit.Time, source, ip netip.Addr, mac wire.MAC) {
	n.now = now
	n.towards(source, ip, func(c *conn) {
		c.remote.MAC, c.way.lost = mac, frame.NoReason
		n.rewrite(c)
		n.astray.add(c, inAstray)
	}, func(a *address) {
		a.ends.DestMAC, a.way.lost = mac, frame.NoReason
	})
}

// PathDown says that there is no path from source to ip, if it is the kernel's: DropNoRoute or
// DropNoNeighbour. Packets are dropped under that name, as the kernel drops those of others, until
// Moved tells of one. What is lost is sent again as usual, so a QP survives as long as its retries
// last.
//
// We deviate from rxe, which ends a QP on the first packet that finds no route (rxe_prepare and
// rxe_requester in drivers/infiniband/sw/rxe): a route that is replaced would end it.
func (n *NIC) PathDown(now unit.Time, source, ip netip.Addr, why frame.Reason) {
	n.now = now
	n.towards(source, ip, func(c *conn) {
		c.way.lost = why
		n.astray.add(c, inAstray)
	}, func(a *address) { a.way.lost = why })
}

// towards calls fn for every QP, and to for every address handle, of a peer.
func (n *NIC) towards(source, ip netip.Addr, fn func(*conn), to func(*address)) {
	for _, c := range n.conns {
		if n.follows(c) && c.remote.Source == source && c.remote.IP == ip {
			fn(c)
		}
	}
	for _, a := range n.ahs {
		if n.followed(a) && a.ends.Source == source && a.ends.Dest == ip {
			to(a)
		}
	}
}

// leaves reports whether the packet that was built in f may leave by its way. If not, it has been
// dropped, and f is free for another one.
func (n *NIC) leaves(f *frame.Frame, w way) bool {
	switch {
	case w.gone:
		return false // it counts as never made
	case w.lost != frame.NoReason:
		n.ledger.Generated.Add(f.Len())
		n.ledger.Dropped[w.lost].Add(f.Len())
		return false
	}
	return true
}

// stranded ends a QP that has data to send and no address to send it from, and reports whether it
// was one.
func (n *NIC) stranded(now unit.Time, c *conn) bool {
	if !c.way.gone {
		return false
	}
	c.qp.FailSend(now, qp.LocalOperation)
	n.pacer.Deactivate(&c.flow)
	n.settle(now, c)
	return true
}

// tag sets the priority of a frame that is tagged: PCP by traffic class (SONiC's TC_TO_DOT1P_MAP).
func (n *NIC) tag(b []byte, tos uint8) {
	if eth, _ := wire.AsEthernet(b); eth.Type() == wire.TypeVLAN {
		tag, _ := wire.AsTag(b[wire.EthernetLen:])
		tag.SetPCP(n.cfg.PCP[n.priority(tos>>2)])
	}
}
