package fabric_test

import (
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/switchd"
)

// walker follows packets through the configurations of a network that routes: longest prefix, every
// next hop. It knows nothing of how the network was made.
type walker struct {
	t     *testing.T
	conf  map[string]switchd.Config
	owner map[netip.Addr]string // the switch that has an interface's address
	hosts map[netip.Addr]string // the switch that a host is on
}

func newWalker(t *testing.T, top *lab.Topology) *walker {
	w := &walker{t, map[string]switchd.Config{}, map[netip.Addr]string{}, map[netip.Addr]string{}}
	for _, n := range top.Nodes {
		if n.Kind == lab.Switch {
			c := top.SwitchConfig(n)
			w.conf[n.Name] = c
			for _, of := range c.Interfaces {
				w.owner[of[0].Addr()] = n.Name
			}
		}
	}
	addrs := map[string]netip.Addr{}
	for _, n := range top.Nodes {
		if n.Kind == lab.Host {
			addrs[n.Name] = n.IPv4.Addr()
		}
	}
	for _, l := range top.Links {
		if addr, ok := addrs[l.Endpoints[0].Node]; ok {
			w.hosts[addr] = l.Endpoints[1].Node
		}
	}
	return w
}

// next is where a switch may send a packet; nothing if it drops it.
func (w *walker) next(sw string, dst netip.Addr) (next []string) {
	c := w.conf[sw]
	best := -1
	for p, hops := range c.StaticRoutes {
		if p.Contains(dst) && p.Bits() > best {
			best, next = p.Bits(), nil
			for _, h := range hops {
				next = append(next, w.owner[h])
			}
		}
	}
	slices.Sort(next)
	return next
}

// paths finds the ways from a switch to where dst is delivered. It fails if they are not equally
// long, or one does not end.
func (w *walker) paths(from string, dst netip.Addr) (p paths) {
	at := map[string]int{from: 1} // ways that lead to a switch
	for p.switches = 1; p.switches <= len(w.conf); p.switches++ {
		arrived := 0
		for name, n := range at {
			c := w.conf[name]
			if _, _, ok := c.Gateway("eth0", dst); ok { // by its bridge
				arrived++
				p.ways += n
			}
		}
		if arrived > 0 {
			if arrived != len(at) || w.hosts[dst] == "" {
				w.t.Errorf("%s to %v: ways of different lengths: %v", from, dst, at)
			}
			return p
		}
		beyond := map[string]int{}
		for name, n := range at {
			for _, hop := range w.next(name, dst) {
				beyond[hop] += n
			}
		}
		if at = beyond; len(at) == 0 {
			return p
		}
	}
	w.t.Errorf("%s to %v: no end", from, dst)
	return p
}

// paths are how many ways there are from ToR to ToR, and over how many switches each.
type paths struct{ ways, switches int }

// TestRoutes: from every ToR to every other there are as many equally long ways as the papers'
// figures have, and what is for nobody ends.
func TestRoutes(t *testing.T) {
	small := fabric.PodsetShape{Podsets: 3, Leaves: 2, ToRs: 2, Hosts: 2, Spines: 4}
	for name, c := range map[string]struct {
		top  lab.Topology
		want []paths
	}{
		"dumbbell":   {fabric.Dumbbell("a", 3, links, links), []paths{{1, 1}, {1, 2}}},
		"parking":    {fabric.ParkingLot("a", links), []paths{{1, 1}, {1, 3}}},
		"testbed":    {fabric.Testbed("a", 2, links), []paths{{1, 1}, {2, 3}, {2 * 2 * 2, 5}}},
		"two-tier":   {fabric.TwoTier("a", 3, 4, 1, links), []paths{{1, 1}, {4, 3}}},
		"podsets":    {fabric.Podsets("a", small, links), []paths{{1, 1}, {2, 3}, {4, 5}}},
		"fat tree 4": {fabric.FatTree("a", 4, links), []paths{{1, 1}, {2, 3}, {4, 5}}},
		"fat tree 6": {fabric.FatTree("a", 6, links), []paths{{1, 1}, {3, 3}, {9, 5}}},
	} {
		w := newWalker(t, &c.top)
		seen := map[paths]bool{}
		for _, from := range slices.Sorted(maps.Values(w.hosts)) {
			for dst := range w.hosts {
				seen[w.paths(from, dst)] = true
			}
			for _, nobody := range []string{"10.255.0.1", "172.31.0.1", "192.0.2.1"} {
				if got := w.paths(from, netip.MustParseAddr(nobody)); got.ways != 0 {
					t.Errorf("%s: %s is somewhere", name, nobody)
				}
			}
		}
		want := map[paths]bool{}
		for _, p := range c.want {
			want[p] = true
		}
		if !maps.Equal(seen, want) {
			t.Errorf("%s: %v, want %v", name, seen, want)
		}
	}
}

// TestFigure7Routes: between two ToRs of different podsets there is one way over each spine ([RDMA
// at scale] section 5.4), in a podset one over each leaf.
func TestFigure7Routes(t *testing.T) {
	top := fabric.Podsets("a", fabric.Figure7(), links)
	w := newWalker(t, &top)
	for to, want := range map[string]paths{"h2-1-1": {64, 5}, "h2-24-24": {64, 5},
		"h1-24-1": {4, 3}} {
		if got := w.paths("t1-1", top.Node(to).IPv4.Addr()); got != want {
			t.Errorf("%s: %v, want %v", to, got, want)
		}
	}
}
