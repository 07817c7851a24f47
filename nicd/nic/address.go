package nic

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/ib"
)

// ErrVLAN says that one of our addresses is not on the VLAN of the path.
var ErrVLAN = errors.New("source address is on another VLAN")

// Address is one of the NIC's addresses.
type Address struct {
	IP     netip.Addr
	VLAN   uint16 // 802.1Q VLAN ID that its packets are tagged with; 0 is no tag
	Device string // of the host that has it, if any; for lists
}

// same reports whether packets cannot tell the two addresses from each other.
func (a *Address) same(b *Address) bool { return a.IP == b.IP && a.VLAN == b.VLAN }

// GID is an entry of the GID table. Its type is RoCE v2: IBTA annex A17 makes the GID of an IP
// address, IPv4 as ::ffff:a.b.c.d.
type GID struct {
	Index int
	Address
}

// Bytes is the GID itself.
func (g *GID) Bytes() [16]byte { return g.IP.As16() }

// GIDs is the NIC's GID table: its addresses. An entry keeps its index as long as the address is
// there, and the index of one that went is taken again.
//
// We deviate from Linux, which has a GID made of the MAC address even if the kernel has no such
// address (enum_netdev_default_gids in drivers/infiniband/core/roce_gid_mgmt.c): nobody would
// answer for it.
func (n *NIC) GIDs() (all []GID) {
	for i, a := range n.gids {
		if a.IP.IsValid() {
			all = append(all, GID{i, a})
		}
	}
	return all
}

// Address is the address that an Endpoint of this NIC tells if its owner does not care: that of
// the first entry with an IPv4 address, else the first; false if there is none.
func (n *NIC) Address() (Address, bool) {
	i := slices.IndexFunc(n.gids, func(a Address) bool { return a.IP.Is4() })
	if i < 0 {
		i = slices.IndexFunc(n.gids, func(a Address) bool { return a.IP.IsValid() })
	}
	if i < 0 {
		return Address{}, false
	}
	return n.gids[i], true
}

// IPs are the NIC's addresses in the order in which programs should prefer them: IPv4, IPv6, and
// last those that are good for one link only.
func (n *NIC) IPs() (all []netip.Addr) {
	for _, g := range n.GIDs() {
		all = append(all, g.IP)
	}
	rank := func(ip netip.Addr) int {
		switch {
		case ip.Is4():
			return 0
		case !ip.IsLinkLocalUnicast():
			return 1
		}
		return 2
	}
	slices.SortStableFunc(all, func(a, b netip.Addr) int { return rank(a) - rank(b) })
	return slices.Compact(all)
}

// SetAddresses says which addresses the NIC has from now on.
//
// A QP whose address went away neither sends nor receives. It goes to ERR when it next has data to
// send, with the status local QP operation error on that request, as rxe does when the entry of
// the GID table is gone (rxe_init_packet and rxe_requester in drivers/infiniband/sw/rxe). We
// deviate: one whose address comes back before that goes on.
func (n *NIC) SetAddresses(now unit.Time, all []Address) {
	n.now = now
	for i := range n.gids {
		if !slices.ContainsFunc(all, func(a Address) bool { return a.same(&n.gids[i]) }) {
			n.gids[i] = Address{}
		}
	}
	// Of those that come together the link-local address is first, as in Linux.
	for _, first := range []bool{true, false} {
		for _, a := range all {
			if first == (a.IP.Is6() && a.IP.IsLinkLocalUnicast() && a.VLAN == 0) {
				n.addAddress(a)
			}
		}
	}
	for _, c := range n.conns {
		if c != nil && c.remote.Source.IsValid() {
			c.way.gone = n.find(c.remote.Source, c.remote.VLAN.ID) < 0
			n.settle(now, c)
		}
	}
	for _, a := range n.ahs {
		if a != nil {
			a.way.gone = n.find(a.ends.Source, a.ends.VLAN.ID) < 0
		}
	}
	n.kick()
}

func (n *NIC) addAddress(a Address) {
	if i := n.find(a.IP, a.VLAN); i >= 0 {
		n.gids[i] = a // the device may have another name now
		return
	}
	if i := slices.Index(n.gids, Address{}); i >= 0 {
		n.gids[i] = a
	} else {
		n.gids = append(n.gids, a)
	}
}

// find is the index of an address, or negative.
func (n *NIC) find(ip netip.Addr, vlan uint16) int {
	for i := range n.gids {
		if n.gids[i].IP == ip && n.gids[i].VLAN == vlan {
			return i
		}
	}
	return -1
}

// SetMAC gives the NIC another MAC address, from which it sends from now on. The zero one is none:
// nothing is received.
func (n *NIC) SetMAC(now unit.Time, mac wire.MAC) {
	n.now = now
	n.cfg.MAC = mac
	n.asking.Reconfigure(n.cfg.asking())
	for _, c := range n.conns {
		if c != nil && c.qp != nil && c.remote.Source.IsValid() {
			n.rewrite(c)
		}
	}
	for _, a := range n.ahs {
		if a != nil {
			a.ends.SourceMAC = mac
		}
	}
}

// rewrite makes the headers of a connected QP anew.
func (n *NIC) rewrite(c *conn) {
	r := &c.remote
	c.headers = ib.NewHeaders(ib.Endpoints{SourceMAC: n.cfg.MAC, DestMAC: r.MAC, VLAN: r.VLAN,
		Source: r.Source, Dest: r.IP, SourcePort: ib.SourcePort(c.qpn, r.QPN), DestQP: r.QPN,
		PKey: c.qp.Config().PKey})
}

// endpoints are those of frames to ip, but for QPs and ports. source may be invalid: the NIC's
// first address of that IP version is taken, on the VLAN that vlan names if it is a tag. An
// address on a VLAN is always tagged.
func (n *NIC) endpoints(ip, source netip.Addr, mac wire.MAC, vlan ib.VLAN) (ib.Endpoints, error) {
	if !ip.IsValid() || source.IsValid() && source.Is4() != ip.Is4() {
		return ib.Endpoints{}, ErrFamily
	}
	err := ErrFamily
	for i := range n.gids {
		a := &n.gids[i]
		if !a.IP.IsValid() || source.IsValid() && a.IP != source || a.IP.Is4() != ip.Is4() {
			continue
		}
		if vlan.Tagged && vlan.ID != a.VLAN {
			err = fmt.Errorf("%v, VLAN %d: %w", a.IP, vlan.ID, ErrVLAN)
			continue
		}
		if a.VLAN != 0 {
			vlan.ID, vlan.Tagged = a.VLAN, true
		}
		return ib.Endpoints{SourceMAC: n.cfg.MAC, DestMAC: mac, VLAN: vlan, Source: a.IP,
			Dest: ip}, nil
	}
	return ib.Endpoints{}, err
}

// noVLAN is no VLAN ID: they have twelve bits.
const noVLAN = 1 << 12

// vlanOf is the VLAN that a frame belongs to: 0 without a tag, and with a tag that only tells a
// priority (IEEE 802.1Q-2022 6.9.1). A frame with a service tag belongs to none of ours.
func vlanOf(b []byte, l3 uint8) uint16 {
	if l3 == wire.EthernetLen {
		return 0
	}
	switch eth, _ := wire.AsEthernet(b); eth.Type() {
	case wire.TypeVLAN:
		tag, _ := wire.AsTag(b[wire.EthernetLen:])
		return tag.VID()
	case wire.TypeSTag:
		return noVLAN
	}
	return 0 // a CN-TAG
}
