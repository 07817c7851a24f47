package fib

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
)

// TestReconfigureKeepsEntries: through larger, smaller and too small tables every entry is found,
// and a table that is too full learns again when it has room.
func TestReconfigureKeepsEntries(t *testing.T) {
	const n = 100
	now := unit.Time(0)
	table := New(Config{Ports: 4, Max: n})
	for i := range n {
		table.Learn(now, wiretest.MACOrNumber(i).MAC(), dataplane.PortID(i%4))
	}
	for _, most := range []int{n, 10 * n, n / 2, 2 * n} {
		table.Reconfigure(Config{Max: most})
		for i := range n {
			mac := wiretest.MACOrNumber(i).MAC()
			if port, ok := table.Lookup(now, mac); !ok || port != dataplane.PortID(i%4) {
				t.Fatalf("of at most %d: entry %d at port %d, %v", most, i, port, ok)
			}
		}
		before := table.Stats.Learnt
		fresh := wiretest.MACOrNumber(1000 + most).MAC()
		table.Learn(now, fresh, 1)
		if learnt := table.Stats.Learnt > before; learnt != (table.Len() <= most && most > n) {
			t.Errorf("of at most %d: learnt %v, holds %d", most, learnt, table.Len())
		}
	}
}

func TestReconfigureAge(t *testing.T) {
	table := New(Config{Ports: 4})
	mac := wiretest.MACOrNumber(1).MAC()
	table.Learn(0, mac, 2)
	later := unit.Time(0).Add(time.Minute)
	table.Reconfigure(Config{Age: time.Second})
	if _, ok := table.Lookup(later, mac); ok {
		t.Error("found though too old now")
	}
	table.Reconfigure(Config{Age: time.Hour})
	if port, ok := table.Lookup(later, mac); !ok || port != 2 {
		t.Errorf("port %d, %v", port, ok)
	}
}

// TestRouterReconfigure: routes, seed and remedy change, a neighbour stays known, and what makes
// it another router is refused.
func TestRouterReconfigure(t *testing.T) {
	c := torConfig()
	r := NewRouter(c, 6)
	neighbour := netip.MustParseAddr("10.0.1.77")
	r.Neighbours.Confirm(0, 0, neighbour, News{MAC: wiretest.MACOrNumber(7).MAC(), Create: true})
	if err := r.AddRoute(Route{prefix("198.51.100.0/24"), hops("10.1.0.1")}); err != nil {
		t.Fatal(err)
	}
	next := torConfig()
	next.Seed, next.Incomplete, next.Neighbours.Timeout = 9, Flood, time.Minute
	next.Routes = []Route{{prefix("203.0.113.0/24"), hops("10.1.0.3")},
		{c.Routes[0].Prefix, hops("10.1.0.3")}}
	if err := r.CanBecome(&next); err != nil {
		t.Fatal(err)
	}
	r.Reconfigure(0, c.Routes, next)
	want := NewRouter(next, 6)
	if err := want.AddRoute(Route{prefix("198.51.100.0/24"), hops("10.1.0.1")}); err != nil {
		t.Fatal(err)
	}
	if got, want := routesOf(r), routesOf(want); got != want || r.Groups() != 2 {
		t.Errorf("%d groups, routes\n%s\nwant\n%s", r.Groups(), got, want)
	}
	if _, ok := r.Neighbours.Lookup(1, 0, neighbour); !ok {
		t.Error("the neighbour is forgotten")
	}
	if _, ok := r.Neighbours.Lookup(unit.Time(2*time.Minute), 0, neighbour); ok {
		t.Error("the neighbour does not age as it should now")
	}
	if r.Config().Seed != 9 || r.Config().Incomplete != Flood || r.seed != want.seed {
		t.Errorf("%+v", r.Config())
	}
	for name, change := range map[string]func(c *RouterConfig){
		"interfaces":    func(c *RouterConfig) { c.Interfaces = c.Interfaces[1:] },
		"as large as i": func(c *RouterConfig) { c.Neighbours.Max = 3 },
	} {
		other := torConfig()
		change(&other)
		if err := r.CanBecome(&other); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func routesOf(r *Router) string {
	var b strings.Builder
	for prefix, g := range r.table.AllSorted() {
		fmt.Fprintln(&b, prefix, g.Kind, g.Hops)
	}
	return b.String()
}

// TestReconfigureStatic: static entries of either table come and go with the configuration, those
// that were added by hand stay.
func TestReconfigureStatic(t *testing.T) {
	table := New(Config{Ports: 4, Static: []Static{{mac(1), 1}, {mac(2), 2}}})
	if err := table.AddStatic(mac(9), 3); err != nil {
		t.Fatal(err)
	}
	table.Reconfigure(Config{Static: []Static{{mac(2), 3}, {mac(3), 0}}})
	expect(t, table, 0, 1, 0, false)
	expect(t, table, 0, 2, 3, true)
	expect(t, table, 0, 3, 0, true)
	expect(t, table, 0, 9, 3, true)

	c := torConfig()
	c.Neighbours.Static = []StaticNeighbour{{ip1, mac(1)}, {ip2, mac(2)}}
	r := NewRouter(c, 6)
	if m, ok := r.Neighbours.Lookup(9e6*second, 0, ip1); !ok || m != mac(1) {
		t.Errorf("at the start: %v %v", m, ok)
	}
	next := c
	next.Neighbours.Static = []StaticNeighbour{{ip2, mac(3)}}
	r.Reconfigure(5, c.Routes, next)
	if _, ok := r.Neighbours.Lookup(5, 0, ip1); ok {
		t.Error("the first is still there")
	}
	if m, ok := r.Neighbours.Lookup(9e6*second, 0, ip2); !ok || m != mac(3) {
		t.Errorf("the second: %v %v", m, ok)
	}
}
