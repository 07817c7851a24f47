package fib

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/gaissmai/bart"

	"github.com/rocelab/rocelab/dataplane"
)

// Router is what a switch needs to know to route: interfaces, routes and neighbours. Interfaces
// start up.
type Router struct {
	Neighbours *Neighbours

	cfg    RouterConfig
	seed   uint64
	up     []bool // by interface
	byPort []int  // interface of each port, that of the bridge included; -1 if none
	table  bart.Fast[*Group]
	groups map[string]*Group // by the addresses of their hops
}

// NewRouter makes the router of a switch with so many ports, of a valid configuration.
func NewRouter(cfg RouterConfig, ports int) *Router {
	r := &Router{Neighbours: NewNeighbours(cfg.Neighbours), seed: mix(cfg.Seed),
		up: make([]bool, len(cfg.Interfaces)), byPort: make([]int, ports),
		groups: make(map[string]*Group)}
	cfg.Interfaces = slices.Clone(cfg.Interfaces)
	routes := cfg.Routes
	cfg.Routes = nil
	r.cfg = cfg
	bridge := slices.IndexFunc(cfg.Interfaces, func(f Interface) bool { return f.Port == VLAN })
	for port := range r.byPort {
		r.byPort[port] = bridge
	}
	for _, p := range reserved() {
		r.table.Insert(p, &Group{Kind: Null})
	}
	for i, f := range cfg.Interfaces {
		r.up[i] = true
		if f.Port != VLAN {
			r.byPort[f.Port] = i
		}
		for _, a := range f.Addresses {
			r.connect(i, a)
		}
	}
	for i := range routes {
		r.insert(&routes[i])
	}
	for _, e := range cfg.Neighbours.Static {
		on, _ := cfg.Connected(e.Addr)
		if err := r.Neighbours.AddStatic(0, on, e.Addr, e.MAC); err != nil {
			panic("fib: " + err.Error()) // The owner has validated the configuration.
		}
	}
	return r
}

// connect adds the routes that come with an address: its subnet, the subnet's broadcast addresses,
// which lead nowhere, and the switch itself, which is the last so that it wins in a /32.
func (r *Router) connect(i int, a netip.Prefix) {
	r.table.Insert(a.Masked(), &Group{Kind: Connected, Hops: []Hop{{Interface: i}}})
	for _, b := range broadcasts(a) {
		r.table.Insert(b, &Group{Kind: Null})
	}
	r.table.Insert(netip.PrefixFrom(a.Addr(), a.Addr().BitLen()), &Group{Kind: Local})
}

// Lookup finds the group of the longest prefix that matches; nil if none does. IPv4 addresses must
// not be mapped into IPv6.
func (r *Router) Lookup(dst netip.Addr) *Group {
	g, ok := r.table.Lookup(dst)
	if !ok {
		return nil
	}
	return g
}

// Len is the number of routes, those that interfaces bring along included.
func (r *Router) Len() int { return r.table.Size() }

// Groups is the number of next-hop groups that static routes use.
func (r *Router) Groups() int { return len(r.groups) }

// AddRoute adds a static route, or gives it other next hops. Flows of next hops that stay stay as
// far as a group of another size lets them.
func (r *Router) AddRoute(route Route) error {
	if err := r.cfg.ValidateRoute(&route); err != nil {
		return err
	}
	old, there := r.table.Get(route.Prefix)
	if there && old.Kind != Via {
		return fmt.Errorf("route %v: it is %v already", route.Prefix, old.Kind)
	}
	r.insert(&route)
	if there {
		r.release(old)
	}
	return nil
}

// RemoveRoute removes a static route.
func (r *Router) RemoveRoute(prefix netip.Prefix) error {
	g, ok := r.table.Get(prefix)
	if !ok || g.Kind != Via {
		return fmt.Errorf("route %v: there is no such static route", prefix)
	}
	r.table.Delete(prefix)
	r.release(g)
	return nil
}

// insert gives the prefix the group of its next hops.
func (r *Router) insert(route *Route) {
	hops := make([]Hop, len(route.NextHops))
	for i, addr := range route.NextHops {
		on, _ := r.cfg.Connected(addr)
		hops[i] = Hop{addr, on}
	}
	sortHops(hops)
	key := keyOfHops(hops)
	g := r.groups[key]
	if g == nil {
		g = &Group{Kind: Via, Hops: hops}
		r.groups[key] = g
	}
	g.refs++
	r.table.Insert(route.Prefix, g)
}

// release ends a route's use of a group.
func (r *Router) release(g *Group) {
	if g.refs--; g.refs == 0 {
		delete(r.groups, keyOfHops(g.Hops))
	}
}

func keyOfHops(hops []Hop) string {
	var b strings.Builder
	for _, h := range hops {
		raw := h.Addr.As16()
		b.Write(raw[:])
	}
	return b.String()
}

// Routes calls fn with every route in order of prefix, IPv4 first, until it returns false.
func (r *Router) Routes(fn func(netip.Prefix, *Group) bool) {
	for prefix, g := range r.table.AllSorted() {
		if !fn(prefix, g) {
			return
		}
	}
}

// Config is what the router was made of, without routes.
func (r *Router) Config() *RouterConfig { return &r.cfg }

// Interface is the index of the interface that a port belongs to; -1 if to none.
func (r *Router) Interface(port dataplane.PortID) int { return r.byPort[port] }

// Routed reports whether a port has an interface of its own, and so does not bridge.
func (r *Router) Routed(port dataplane.PortID) bool {
	i := r.byPort[port]
	return i >= 0 && r.cfg.Interfaces[i].Port != VLAN
}

// Own reports whether addr is the switch's own on an interface.
func (r *Router) Own(on int, addr netip.Addr) bool {
	for _, a := range r.cfg.Interfaces[on].Addresses {
		if a.Addr() == addr {
			return true
		}
	}
	return false
}

// InSubnet reports whether addr is in a subnet of an interface.
func (r *Router) InSubnet(on int, addr netip.Addr) bool {
	_, ok := r.Source(on, addr)
	return ok
}

// Source is the switch's own address in the subnet of addr on an interface; false if there is none.
func (r *Router) Source(on int, addr netip.Addr) (netip.Addr, bool) {
	for _, a := range r.cfg.Interfaces[on].Addresses {
		if a.Contains(addr) {
			return a.Addr(), true
		}
	}
	return netip.Addr{}, false
}

// SetUp takes an interface's next hops out of their groups, or puts them back.
func (r *Router) SetUp(i int, up bool) { r.up[i] = up }

// Up reports whether an interface is up.
func (r *Router) Up(i int) bool { return r.up[i] }
