package fabric_test

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/lab"
)

var links = fabric.Links{Rate: 40 * unit.GbPerSecond, Delay: time.Microsecond}

// built is a network with what its paper says about it.
type built struct {
	lab.Topology
	hosts, switches, links int
}

func networks() map[string]built {
	fast := fabric.Links{Rate: 100 * unit.GbPerSecond, Delay: 5 * time.Microsecond}
	small := fabric.PodsetShape{Podsets: 3, Leaves: 2, ToRs: 2, Hosts: 2, Spines: 4}
	return map[string]built{
		"star":       {fabric.Star("a", 16, links), 16, 1, 16},
		"dumbbell 1": {fabric.Dumbbell("a", 1, links, links), 2, 2, 3},
		"dumbbell":   {fabric.Dumbbell("a", 20, links, fast), 40, 2, 41},
		"parking":    {fabric.ParkingLot("a", links), 5, 4, 8},
		// [DCQCN] section 6.2: five hosts on each of four ToRs.
		"testbed":   {fabric.Testbed("a", 5, links), 20, 10, 20 + 8 + 8},
		"testbed 1": {fabric.Testbed("a", 1, links), 4, 10, 4 + 8 + 8},
		// [RDMA at scale] section 5.4: 2 ToRs of 24 servers with 4 uplinks.
		"two-tier":   {fabric.TwoTier("a", 2, 4, 24, links), 48, 6, 48 + 8},
		"two-tier 1": {fabric.TwoTier("a", 1, 1, 1, links), 1, 2, 2},
		"full ToR":   {fabric.TwoTier("a", 1, 1, 253, links), 253, 2, 254},
		"podsets":    {fabric.Podsets("a", small, links), 12, 6 + 6 + 4, 12 + 12 + 12},
		// The same: 1,152 servers, 128 leaf-spine links.
		"figure 7": {fabric.Podsets("a", fabric.Figure7(), links), 1152, 48 + 8 + 64,
			1152 + 48*4 + 128},
		// k^3/4 hosts, 5k^2/4 switches, 3k^3/4 links.
		"fat tree 2": {fabric.FatTree("a", 2, links), 2, 5, 6},
		"fat tree 4": {fabric.FatTree("a", 4, links), 16, 20, 48},
		"fat tree 8": {fabric.FatTree("a", 8, links), 128, 80, 384},
	}
}

// TestNetworksAreValid: there are as many nodes and links as the papers say, a lab has no fault to
// find, and no two switches share the MAC address that is made of their names.
func TestNetworksAreValid(t *testing.T) {
	for name, n := range networks() {
		for _, f := range n.Validate() {
			t.Errorf("%s: %s: %s", name, f.Path, f.Problem)
		}
		hosts, macs := 0, map[wire.MAC]string{}
		for _, v := range n.Nodes {
			if v.Kind == lab.Host {
				hosts++
				continue
			}
			c := n.SwitchConfig(v)
			if twin := macs[c.RouterAddr()]; twin != "" {
				t.Errorf("%s: %s and %s share a MAC address", name, v.Name, twin)
			}
			macs[c.RouterAddr()] = v.Name
		}
		if hosts != n.hosts || len(macs) != n.switches || len(n.Links) != n.links {
			t.Errorf("%s: %d hosts, %d switches, %d links; want %d, %d, %d", name, hosts,
				len(macs), len(n.Links), n.hosts, n.switches, n.links)
		}
	}
}

// TestEachAddressIsThereOnce: hosts, interfaces and links share no address.
func TestEachAddressIsThereOnce(t *testing.T) {
	for name, n := range networks() {
		owner := map[string]string{}
		add := func(node, addr string) {
			if twin := owner[addr]; twin != "" {
				t.Errorf("%s: %s and %s are %s", name, node, twin, addr)
			}
			owner[addr] = node
		}
		for _, v := range n.Nodes {
			if v.Kind == lab.Host {
				add(v.Name, v.IPv4.Addr().String())
				continue
			}
			for _, of := range n.SwitchConfig(v).Interfaces {
				add(v.Name, of[0].Addr().String())
			}
		}
	}
}

// TestImpossibleNetworks: what is wrong with a size is told.
func TestImpossibleNetworks(t *testing.T) {
	podsets := func(tors, spines int) func() lab.Topology {
		s := fabric.Figure7()
		s.ToRs, s.Spines = tors, spines
		return func() lab.Topology { return fabric.Podsets("a", s, links) }
	}
	tiers := func(tors, leaves, hosts int) func() lab.Topology {
		return func() lab.Topology { return fabric.TwoTier("a", tors, leaves, hosts, links) }
	}
	tree := func(k int) func() lab.Topology {
		return func() lab.Topology { return fabric.FatTree("a", k, links) }
	}
	for want, build := range map[string]func() lab.Topology{
		"hosts: 0, want 1 to 256": func() lab.Topology { return fabric.Star("a", 0, links) },
		"pairs: 254, want 1 to 253": func() lab.Topology {
			return fabric.Dumbbell("a", 254, links, links)
		},
		"hosts of a ToR: 254, want 1 to 253":               tiers(1, 1, 254),
		"t1 has more than 256 ports":                       tiers(1, 4, 253),
		"ToRs of a pod: 0, want 1 to 65535":                tiers(0, 1, 1),
		"leaves of a pod: 257, want 1 to 256":              tiers(1, 257, 1),
		"switches of 5 ports: want an even number":         tree(5),
		"pods: 0, want 1 to 65535":                         tree(0),
		"more than 65536 links":                            tree(48),
		"65 spines for 4 leaves of a pod: want a multiple": podsets(24, 65),
		"spines: 0, want 1 to 65536":                       podsets(24, 0),
		"ToRs of a pod: 40000, want 1 to 32767":            podsets(40000, 64),
	} {
		if _, err := fabric.Try(build); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestTryHidesNoBug: another panic goes on.
func TestTryHidesNoBug(t *testing.T) {
	defer func() {
		if r := recover(); r != "bug" {
			t.Errorf("%v", r)
		}
	}()
	_, err := fabric.Try(func() lab.Topology { panic("bug") })
	t.Errorf("it returned, with %v", err)
}
