package nicd

import (
	"fmt"
	"net/netip"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// Addresses is the answer to GET /v1/addresses: who the NIC is, and whom it sends to.
type Addresses struct {
	Name    string   `json:"name"` // of the NIC
	Port    string   `json:"port"` // its device
	MAC     wire.MAC `json:"mac"`
	PathMTU int      `json:"path_mtu"` // the largest that a QP may have
	Up      bool     `json:"up"`
	Follows bool     `json:"follows"` // the addresses are the kernel's
	GIDs    []GID    `json:"gids"`
	Peers   []Peer   `json:"peers"`
	QPs     []QP     `json:"qps"`
}

// GID is an entry of the GID table.
type GID struct {
	Index  int        `json:"index"`
	GID    string     `json:"gid"` // eight groups of four hexadecimal digits
	Type   string     `json:"type"`
	IP     netip.Addr `json:"ip"`
	VLAN   uint16     `json:"vlan"` // 0: untagged
	Device string     `json:"device"`
}

// Peer is a host that QPs send to by a path of the kernel's.
type Peer struct {
	Source netip.Addr `json:"source"`
	IP     netip.Addr `json:"ip"`
	MAC    wire.MAC   `json:"mac"` // of the host, or of the router on the way
	VLAN   uint16     `json:"vlan"`
	Lost   bool       `json:"lost"` // there is no path at present
}

// QP is a queue pair as a list shows it.
type QP struct {
	QPN       ib.QPN     `json:"qpn"`
	RemoteQPN ib.QPN     `json:"remote_qpn"`
	Type      string     `json:"type"`
	State     string     `json:"state"`
	Source    netip.Addr `json:"source"`
	Remote    netip.Addr `json:"remote"`
}

// gidType is what show_gids and sysfs (gid_attrs/types) call the GIDs of annex A17.
const gidType = "RoCE v2"

// addresses answers GET /v1/addresses.
func (s *verbs) addresses(struct{}) (a Addresses, err error) {
	err = s.do(func(now unit.Time) error {
		n := s.host.NIC()
		c := n.Config()
		a = Addresses{Name: s.c.Name, Port: s.c.Port.Name, MAC: c.MAC, PathMTU: c.QP.MTU,
			Up: n.Up(), Follows: s.c.followsAddresses(),
			GIDs: []GID{}, Peers: []Peer{}, QPs: []QP{}}
		for _, g := range n.GIDs() {
			a.GIDs = append(a.GIDs, s.gid(&g))
		}
		for _, p := range n.Peers() {
			a.Peers = append(a.Peers, Peer(p))
		}
		n.Snapshot(now, &s.snap)
		for i := range s.snap.QPs {
			a.QPs = append(a.QPs, queuePair(&s.snap.QPs[i]))
		}
		return nil
	})
	return a, err
}

func (s *verbs) gid(g *nic.GID) GID {
	b := g.Bytes()
	text := ""
	for i := 0; i < len(b); i += 2 {
		text += fmt.Sprintf(":%02x%02x", b[i], b[i+1])
	}
	device := g.Device
	if device == "" {
		device = s.c.Port.Name
	}
	return GID{Index: g.Index, GID: text[1:], Type: gidType, IP: g.IP, VLAN: g.VLAN,
		Device: device}
}

func queuePair(v *nic.QPView) QP {
	q := QP{QPN: v.QPN, RemoteQPN: v.RemoteQPN, Type: "RC", State: v.State.String(),
		Source: v.Source, Remote: v.RemoteIP}
	if v.Datagrams {
		q.Type = "UD"
	}
	return q
}

// source is the address that a QP is to have: the one asked for, or the NIC's first.
func (s *verbs) source(asked netip.Addr) (netip.Addr, error) {
	n := s.host.NIC()
	if !asked.IsValid() {
		a, ok := n.Address()
		if !ok {
			return asked, fmt.Errorf("%s has no address", s.c.Port.Name)
		}
		return a.IP, nil
	}
	for _, g := range n.GIDs() {
		if g.IP == asked {
			return asked, nil
		}
	}
	return asked, fmt.Errorf("%v is no address of %s", asked, s.c.Port.Name)
}

// allRights are those of a region that peers may use in any way.
var allRights = qp.Access{LocalWrite: true, RemoteWrite: true, RemoteRead: true,
	RemoteAtomic: true}
