package switchd

import (
	"fmt"
	"hash/fnv"
	"maps"
	"net/netip"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/fib"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// Forwarding is what decides where frames and packets go. The switch routes if it has interfaces.
type Forwarding struct {
	StaticMACs map[wire.MAC]string `yaml:"static_macs,omitempty"`    // port, by address
	Isolated   []string            `yaml:"isolated_ports,omitempty"` // no bridging among these

	// SONiC's INTERFACE and VLAN_INTERFACE: addresses with their subnets, of a port, which then
	// does not bridge, or of vlan, behind which are all other ports.
	Interfaces   map[string]Prefixes           `yaml:"interfaces,omitempty"`
	StaticRoutes map[netip.Prefix][]netip.Addr `yaml:"static_routes,omitempty"` // next hops
	StaticARP    map[netip.Addr]wire.MAC       `yaml:"static_arp,omitempty"`
	RouterMAC    *wire.MAC                     `yaml:"router_mac,omitempty"` // nil: from the name
	RouterTC     uint8                         `yaml:"router_tc"`            // of its own frames
	ECMPSeed     *uint64                       `yaml:"ecmp_seed,omitempty"`  // nil: from the name
	ARPTimeout   time.Duration                 `yaml:"arp_timeout"`          // ND's too
	ARPLimit     int                           `yaml:"arp_limit"`            // entries
	Incomplete   fib.Remedy                    `yaml:"incomplete_arp"`
}

// vlanName is the bridge's interface in Interfaces.
const vlanName = "vlan"

// Prefixes is one address with its subnet, or a list of them.
type Prefixes []netip.Prefix

// UnmarshalYAML reads either form.
func (p *Prefixes) UnmarshalYAML(n *yaml.Node) error {
	switch n.Kind {
	case yaml.SequenceNode:
		return n.Decode((*[]netip.Prefix)(p))
	case yaml.MappingNode:
		return fmt.Errorf("line %d: want an address as 10.0.1.1/24, or a list of them", n.Line)
	}
	*p = make(Prefixes, 1)
	return n.Decode(&(*p)[0])
}

// defaultForwarding is [RDMA at scale] section 4.2 with its remedy. What the router sends itself
// goes with the CNPs, ahead of all data.
func defaultForwarding() Forwarding {
	return Forwarding{RouterTC: 6, ARPTimeout: fib.DefaultNeighbourTimeout,
		ARPLimit: fib.DefaultNeighbours}
}

// names returns the number of each port.
func (c *Config) names() map[string]dataplane.PortID {
	m := make(map[string]dataplane.PortID)
	for i, p := range c.Ports {
		m[p.Name] = dataplane.PortID(i)
	}
	return m
}

// forward adds forwarding to the machine's configuration.
func (c *Config) forward(m *pipeline.Config) {
	names := c.names()
	for _, name := range c.Isolated {
		m.Ports[names[name]].Isolated = 1
	}
	for _, mac := range sortedMACs(c.StaticMACs) {
		m.MACs.Static = append(m.MACs.Static, fib.Static{MAC: mac, Port: names[c.StaticMACs[mac]]})
	}
	if len(c.Interfaces) > 0 {
		m.Router = c.router(names)
	}
}

// router is the machine's configuration of the router.
func (c *Config) router(names map[string]dataplane.PortID) *fib.RouterConfig {
	r := &fib.RouterConfig{MAC: c.RouterAddr(), Seed: nameHash(c.Name), Class: c.RouterTC,
		Incomplete: c.Incomplete,
		Neighbours: fib.NeighbourConfig{Max: c.ARPLimit, Timeout: c.ARPTimeout}}
	if c.ECMPSeed != nil {
		r.Seed = *c.ECMPSeed
	}
	for _, name := range slices.Sorted(maps.Keys(c.Interfaces)) {
		port := fib.VLAN
		if name != vlanName {
			port = names[name]
		}
		r.Interfaces = append(r.Interfaces, fib.Interface{Name: name, Port: port,
			Addresses: c.Interfaces[name]})
	}
	for _, p := range slices.SortedFunc(maps.Keys(c.StaticRoutes), netip.Prefix.Compare) {
		r.Routes = append(r.Routes, fib.Route{Prefix: p, NextHops: c.StaticRoutes[p]})
	}
	for _, a := range slices.SortedFunc(maps.Keys(c.StaticARP), netip.Addr.Compare) {
		r.Neighbours.Static = append(r.Neighbours.Static,
			fib.StaticNeighbour{Addr: a, MAC: c.StaticARP[a]})
	}
	return r
}

// Gateway returns the address by which a host on a port reaches other subnets, and the router's MAC
// address; false if the switch does not route for it.
func (c *Config) Gateway(port string, host netip.Addr) (gateway netip.Addr, mac wire.MAC, ok bool) {
	on, routed := c.Interfaces[port]
	if !routed {
		on = c.Interfaces[vlanName]
	}
	for _, a := range on {
		if a.Contains(host) {
			return a.Addr(), c.RouterAddr(), true
		}
	}
	return gateway, mac, false
}

// RouterAddr is the MAC address of the router.
func (c *Config) RouterAddr() wire.MAC {
	if c.RouterMAC != nil {
		return *c.RouterMAC
	}
	return routerMAC(c.Name)
}

// Clone is a copy that shares nothing with c.
func (c *Config) Clone() (Config, error) {
	text, err := yaml.Marshal(c)
	if err != nil {
		return Config{}, err
	}
	out := Default()
	if err := yaml.Unmarshal(text, &out); err != nil {
		return Config{}, err
	}
	out.database, out.remarks = c.database, c.remarks // read once, changed never
	return out, nil
}

// routerMAC is locally administered, and of the switch's name, so that neighbours tell switches
// apart and a restarted one is the same to them.
func routerMAC(name string) wire.MAC {
	h := nameHash(name)
	return wire.MAC{0x02, 0x72, 0xfe, byte(h >> 16), byte(h >> 8), byte(h)}
}

func nameHash(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

func sortedMACs(m map[wire.MAC]string) []wire.MAC {
	return slices.SortedFunc(maps.Keys(m), func(a, b wire.MAC) int {
		return slices.Compare(a[:], b[:])
	})
}

// validateForwarding judges Forwarding. Ports have been judged.
func (c *Config) validateForwarding(f *faults) {
	names := c.names()
	for i, name := range c.Isolated {
		_, ok := names[name]
		f.unless(ok, fmt.Sprintf("isolated_ports[%d]", i), "no port %q", name)
	}
	for _, mac := range sortedMACs(c.StaticMACs) {
		path, name := fmt.Sprintf("static_macs.%v", mac), c.StaticMACs[mac]
		_, ok := names[name]
		f.unless(ok, path, "no port %q", name)
		f.unless(!mac.IsMulticast(), path, "a group address has no port")
		_, routed := c.Interfaces[name]
		f.unless(!routed, path, "port %s has an interface and does not bridge", name)
	}
	f.unless(len(c.StaticMACs) <= c.MACLimit, "static_macs", "%d entries, mac_limit is %d",
		len(c.StaticMACs), c.MACLimit)
	f.unless(c.RouterTC < classify.Classes, "router_tc", "%d: want 0 to %d", c.RouterTC,
		classify.Classes-1)
	f.unless(c.ARPTimeout > 0, "arp_timeout", "must be positive, as 4h")
	f.unless(c.ARPLimit > 0, "arp_limit", "must be positive")
	f.unless(len(c.StaticARP) <= c.ARPLimit, "static_arp", "%d entries, arp_limit is %d",
		len(c.StaticARP), c.ARPLimit)
	if len(c.Interfaces) == 0 {
		f.unless(len(c.StaticRoutes) == 0, "static_routes", "needs interfaces")
		f.unless(len(c.StaticARP) == 0, "static_arp", "needs interfaces")
		return
	}
	c.validateRouter(f, names)
}

func (c *Config) validateRouter(f *faults, names map[string]dataplane.PortID) {
	known := true
	for _, name := range slices.Sorted(maps.Keys(c.Interfaces)) {
		_, ok := names[name]
		known = known && ok != (name == vlanName)
		f.unless(ok || name == vlanName, "interfaces."+name, "no port of this name, and not vlan")
		f.unless(!ok || name != vlanName, "interfaces.vlan", "a port has this name, too")
	}
	if !known {
		return
	}
	r := c.router(names)
	for i := range r.Routes {
		if err := r.ValidateRoute(&r.Routes[i]); err != nil {
			f.unless(false, fmt.Sprintf("static_routes.%v", r.Routes[i].Prefix), "%v", err)
		}
	}
	for _, e := range r.Neighbours.Static {
		if err := r.ValidateNeighbour(e); err != nil {
			f.unless(false, fmt.Sprintf("static_arp.%v", e.Addr), "%v", err)
		}
	}
	r.Routes, r.Neighbours.Static = nil, nil
	if err := r.Validate(len(c.Ports)); err != nil {
		f.unless(false, "interfaces", "%v", err)
	}
}
