package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/nicd"
)

// A flow over IPv4, IPv6 and link-local addresses, with nothing configured but the device.
func TestFlowsByTheKernelsAddresses(t *testing.T) {
	a, b := pair(t, nil)
	for _, ips := range [][2]string{{"10.1.0.1", "10.1.0.2"}, {"fd01::1", "fd01::2"},
		{"fe80::ff:fe00:1", "fe80::ff:fe00:2"}} {
		f := connect(a, b, ips[0], ips[1])
		f.start()
		f.goesOn(10)
	}
	got := a.addresses()
	if !got.Follows || got.MAC.String() != "02:00:00:00:00:01" || got.PathMTU != 1024 {
		t.Errorf("%+v", got)
	}
	var gids []string
	for _, g := range got.GIDs {
		gids = append(gids, fmt.Sprint(g.Index, " ", g.GID, " ", g.Type, " ", g.Device))
	}
	want := []string{"0 fe80:0000:0000:0000:0000:00ff:fe00:0001 RoCE v2 eth0",
		"1 0000:0000:0000:0000:0000:ffff:0a01:0001 RoCE v2 eth0",
		"2 fd01:0000:0000:0000:0000:0000:0000:0001 RoCE v2 eth0"}
	if !slices.Equal(gids, want) || len(got.Peers) != 3 || len(got.QPs) != 3 {
		t.Errorf("%q, peers %+v, QPs %+v", gids, got.Peers, got.QPs)
	}
}

// An address that is added can be used at once; one that is removed ends the QPs that send by it,
// and no other.
func TestAddressComesAndGoes(t *testing.T) {
	a, b := pair(t, nil)
	stays := connect(a, b, "10.1.0.1", "10.1.0.2")
	stays.start()
	a.ip("addr add 10.1.0.77/24 dev eth0")
	a.hasAddress("10.1.0.77", true)
	goes := connect(a, b, "10.1.0.77", "10.1.0.2")
	goes.start()
	goes.goesOn(10)
	a.ip("addr del 10.1.0.77/24 dev eth0")
	a.hasAddress("10.1.0.77", false)
	a.await("the QP ends", func() error {
		for _, q := range a.addresses().QPs {
			if q.QPN == goes.a.QPN && q.State == "ERR" {
				return nil
			}
		}
		return errors.New("it does not")
	})
	if s := goes.status(); s.Failed == 0 {
		t.Errorf("%+v", s)
	}
	stays.goesOn(10)
	if !a.happened("gid_change") {
		t.Error("no event tells of it")
	}
}

func (s *station) hasAddress(ip string, want bool) {
	s.Helper()
	s.await(fmt.Sprintf("%s is there: %v", ip, want), func() error {
		gids := s.addresses().GIDs
		if slices.ContainsFunc(gids, func(g nicd.GID) bool { return g.IP.String() == ip }) != want {
			return fmt.Errorf("%+v", gids)
		}
		return nil
	})
}

// happened reports whether an event of a kind is in the log.
func (s *station) happened(kind string) bool {
	s.Helper()
	var all daemon.Events
	s.call(http.MethodGet, "/v1/events", nil, &all)
	return slices.ContainsFunc(all.Events, func(e daemon.Event) bool { return e.Kind == kind })
}

// The other end gets another MAC address in the middle of a flow: both NICs follow, and the flow
// goes on.
func TestNeighbourMovesInTheMiddle(t *testing.T) {
	a, b := pair(t, nil)
	f := connect(a, b, "10.1.0.1", "10.1.0.2")
	f.start()
	f.goesOn(10)
	b.sysctl("net/ipv4/conf/eth0/arp_notify", "1")
	b.ip("link set eth0 address 02:00:00:00:09:02")
	a.await("the neighbour is found again", func() error {
		p := a.addresses().Peers
		if len(p) != 1 || p[0].MAC.String() != "02:00:00:00:09:02" {
			return fmt.Errorf("%+v", p)
		}
		return nil
	})
	f.goesOn(50)
	if !a.happened("path_moved") || !b.happened("mac_change") {
		t.Error("no event tells of it")
	}
}

// The route to the peer moves to a router and back in the middle of a flow, and is missing for a
// while; the router is the kernel of the other end, by another address of its.
func TestRouteMovesInTheMiddle(t *testing.T) {
	a, b := pair(t, nil)
	b.ip("addr add 192.0.2.7/32 dev eth0")
	b.hasAddress("192.0.2.7", true)
	a.ip("neigh add 10.1.0.9 lladdr 02:00:00:00:00:99 dev eth0 nud permanent") // a dead router
	a.ip("route add default via 10.1.0.2")
	b.ip("route add 10.1.0.1/32 dev eth0 src 192.0.2.7")
	f := connect(a, b, "10.1.0.1", "192.0.2.7")
	f.start()
	f.goesOn(10)
	a.ip("route replace default via 10.1.0.9")
	a.peer("by the dead router", func(p nicd.Peer) bool {
		return p.MAC.String() == "02:00:00:00:00:99"
	})
	a.ip("route add 192.0.2.0/24 via 10.1.0.2")
	f.goesOn(10)
	a.ip("route del 192.0.2.0/24 via 10.1.0.2")
	a.ip("route del default")
	a.peer("no way", func(p nicd.Peer) bool { return p.Lost })
	a.await("what is sent again is dropped", func() error {
		if l := a.status().Ledger; l.Dropped["no_route"].Frames == 0 {
			return fmt.Errorf("%+v", l.Dropped)
		}
		return nil
	})
	a.ip("route add 192.0.2.7/32 dev eth0")
	a.peer("a way", func(p nicd.Peer) bool { return !p.Lost })
	f.goesOn(10)
}

// peer waits until the only peer is so.
func (s *station) peer(what string, is func(nicd.Peer) bool) {
	s.Helper()
	s.await(what, func() error {
		if p := s.addresses().Peers; len(p) != 1 || !is(p[0]) {
			return fmt.Errorf("%+v", p)
		}
		return nil
	})
}

// What cannot be is refused with the kernel's reason.
func TestRefusals(t *testing.T) {
	a, _ := pair(t, nil)
	e := a.open("")
	for ip, want := range map[string]string{
		"198.51.100.1": "path to 198.51.100.1: no route to host (network is unreachable)",
		"10.1.0.200":   "path to 10.1.0.200: no answer from neighbour 10.1.0.200",
		"10.1.0.1":     "path to 10.1.0.1: not by this device",
	} {
		peer := nicd.Endpoint{QPN: 99, IP: netip.MustParseAddr(ip)}
		err := a.control.Call(context.Background(), http.MethodPost, "/v1/join",
			nicd.JoinRequest{QPN: e.QPN, Peer: peer}, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", ip, err, want)
		}
	}
	err := a.control.Call(context.Background(), http.MethodPost, "/v1/open",
		nicd.OpenRequest{Bytes: 1, IP: netip.MustParseAddr("10.9.9.9")}, nil)
	if err == nil || !strings.Contains(err.Error(), "10.9.9.9 is no address of eth0") {
		t.Error(err)
	}
}
