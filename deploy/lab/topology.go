package lab

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/xsk"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
)

// Topology describes a lab. The grammar follows containerlab's: nodes and links with endpoints.
type Topology struct {
	Name   string         `yaml:"name"`
	Nodes  []Node         `yaml:"nodes"`
	Links  []Link         `yaml:"links"`
	Switch switchd.Config `yaml:"switch,omitempty"` // QoS of every switch; ports are filled in
	NIC    nicd.Config    `yaml:"nic,omitempty"`    // settings of every NIC; the port is filled in
	Clock  Clock          `yaml:"clock,omitempty"`
	// Pingmesh has every host probe every other one.
	Pingmesh Pingmesh `yaml:"pingmesh,omitempty"`
	// MTU of the devices of all links that give none, in bytes; 0 means 1500.
	MTU int `yaml:"mtu,omitempty"`
	// MetricsPort is the loopback port of the first node's metrics; the others follow in their
	// order, and the lab's own after them. 0 is none.
	MetricsPort int `yaml:"metrics_port,omitempty"`
	// Seed is what all dice of the lab follow from: those of NICs, marking, ECMP and faults, but
	// for what a switch has of its own or a fault names. 0: each has the seed of its place or
	// name, and marking that of the settings.
	Seed uint64 `yaml:"seed,omitempty"`
	// Faults are what goes wrong, by the lab's clock.
	Faults []Fault `yaml:"faults,omitempty"`

	source daemon.Source // that it was read from
}

// Node is a switch or a host.
type Node struct {
	Name string `yaml:"name"`
	Kind Kind   `yaml:"kind"`
	// Of switches: settings of this one over those that the topology has for all.
	Switch yaml.Node `yaml:"switch,omitempty"`
	// Of hosts: settings of this one's NIC over those that the topology has for all.
	NIC yaml.Node `yaml:"nic,omitempty"`
	// Of hosts: the address with the length of its subnet's prefix, and the router to others; if
	// empty, the switch, if it has an address in the subnet.
	IPv4    netip.Prefix `yaml:"ipv4"`
	Gateway netip.Addr   `yaml:"gateway"`
}

// Kind says which daemon a node runs.
type Kind string

// The kinds of nodes.
const (
	Switch Kind = "switch" // switchd
	Host   Kind = "host"   // nicd, one port
)

// Link is a point-to-point link; never a bridge, which would swallow PFC frames.
type Link struct {
	Endpoints [2]Endpoint   `yaml:"endpoints"`
	Rate      unit.Rate     `yaml:"rate"`
	Delay     time.Duration `yaml:"delay"`
	MTU       int           `yaml:"mtu,omitempty"` // of the devices; 0: the topology's
}

// Endpoint is a device of a node. In files it is written as "h1:eth0".
type Endpoint struct{ Node, Device string }

var endpointText = regexp.MustCompile(`^([a-z][a-z0-9-]*):([a-z][a-z0-9._-]*)$`)

// UnmarshalText reads "node:device".
func (e *Endpoint) UnmarshalText(b []byte) error {
	m := endpointText.FindSubmatch(b)
	if m == nil {
		return fmt.Errorf("endpoint %q: want node:device, as h1:eth0", b)
	}
	e.Node, e.Device = string(m[1]), string(m[2])
	return nil
}

// MarshalText is the inverse of UnmarshalText.
func (e Endpoint) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

func (e Endpoint) String() string { return e.Node + ":" + e.Device }

// Clock bounds the dilation. The governor moves within the bounds, from Start.
type Clock struct {
	Start float64 `yaml:"start,omitempty"` // dilation factor to begin with
	Min   float64 `yaml:"min,omitempty"`
	Max   float64 `yaml:"max,omitempty"`
	// Budget is the lateness the clock allows; 0 is two fifths of the shortest delay.
	Budget time.Duration `yaml:"budget,omitempty"`
	// Rigid has the clock wait for nobody, as the time of the machine does. What a machine that is
	// too slow for the dilation then does is not what virtual time does, and the certificate of a
	// run says so. It is there to show what the waiting is good for.
	Rigid bool `yaml:"rigid,omitempty"`
}

// Pingmesh is the RDMA pingmesh of a lab's hosts.
type Pingmesh struct {
	Interval time.Duration `yaml:"interval,omitempty"` // between two probes of a pair; 0: off
	Timeout  time.Duration `yaml:"timeout,omitempty"`  // of a probe; 0: the interval
}

var nodeName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)

// maxDevice is IFNAMSIZ less the terminating zero.
const maxDevice = 15

// Resolve reads the files that the switches' settings name.
func (t *Topology) Resolve(src daemon.Source) (faults []daemon.Fault) {
	t.source = src
	for _, f := range t.Switch.Resolve(src.Under("switch")) {
		faults = append(faults, daemon.Fault{Path: "switch." + f.Path, Problem: f.Problem})
	}
	return faults
}

// Validate returns every fault.
func (t *Topology) Validate() (faults []daemon.Fault) {
	fault := func(path, format string, args ...any) {
		faults = append(faults, daemon.Fault{Path: path, Problem: fmt.Sprintf(format, args...)})
	}
	if !nodeName.MatchString(t.Name) {
		fault("name", "%q: want lower-case letters, digits and dashes", t.Name)
	}
	if t.MetricsPort < 0 || t.MetricsPort+len(t.Nodes) > 65535 {
		fault("metrics_port", "%d: want 0, or ports for %d nodes and the lab", t.MetricsPort,
			len(t.Nodes))
	}
	validateMTU("mtu", t.MTU, fault)
	kinds := make(map[string]Kind)
	for i, n := range t.Nodes {
		path := fmt.Sprintf("nodes[%d]", i)
		if !nodeName.MatchString(n.Name) {
			fault(path+".name", "%q: want lower-case letters, digits and dashes", n.Name)
		}
		if _, twice := kinds[n.Name]; twice {
			fault(path+".name", "%s is there already", n.Name)
		}
		if kinds[n.Name] = n.Kind; n.Kind != Switch && n.Kind != Host {
			fault(path+".kind", "%q: want switch or host", n.Kind)
		}
		if n.Kind == Host && !n.IPv4.Addr().Is4() {
			fault(path+".ipv4", "a host needs an address, as 10.0.0.1/24")
		}
	}
	t.validateLinks(kinds, fault)
	t.Clock.validate(fault)
	t.validateFaults(fault)
	t.validatePingmesh(fault)
	if len(faults) > 0 {
		return faults // settings of nodes want links that make sense
	}
	return t.validateNodes()
}

func (c *Clock) validate(fault func(string, string, ...any)) {
	for _, k := range []struct {
		key   string
		value float64
	}{{"start", c.Start}, {"min", c.Min}, {"max", c.Max}} {
		if k.value != 0 && !(k.value >= 1) {
			fault("clock."+k.key, "%v: want at least 1", k.value)
		}
	}
	if c.Max != 0 && c.Max < c.Min {
		fault("clock.max", "%v is less than clock.min, %v", c.Max, c.Min)
	}
	switch {
	case c.Budget < 0:
		fault("clock.budget", "%v: want 0 or more", c.Budget)
	case c.Budget > 0 && c.Rigid:
		fault("clock.rigid", "a clock that waits for nobody has no budget")
	}
}

func validateMTU(path string, mtu int, fault func(string, string, ...any)) {
	if mtu != 0 && (mtu < daemon.MinMTU || mtu > xsk.MaxMTU) {
		fault(path, "%d: want %d to %d", mtu, daemon.MinMTU, xsk.MaxMTU)
	}
}

func (t *Topology) validateLinks(kinds map[string]Kind, fault func(string, string, ...any)) {
	used := make(map[Endpoint]bool)
	ports := make(map[string]int)
	for i, l := range t.Links {
		path := fmt.Sprintf("links[%d]", i)
		for j, e := range l.Endpoints {
			at := fmt.Sprintf("%s.endpoints[%d]", path, j)
			if _, ok := kinds[e.Node]; !ok {
				fault(at, "no node %q", e.Node)
			}
			if len(e.Device) > maxDevice || e.Device == "" {
				fault(at, "device %q: 1 to %d characters", e.Device, maxDevice)
			}
			if used[e] {
				fault(at, "%v has a link already", e)
			}
			used[e] = true
			ports[e.Node]++
		}
		if l.Rate <= 0 {
			fault(path+".rate", "must be positive, as 40Gb/s")
		}
		if l.Delay <= 0 {
			fault(path+".delay", "must be positive: the delay is what keeps the daemons in step")
		}
		validateMTU(path+".mtu", l.MTU, fault)
	}
	for i, n := range t.Nodes {
		p := ports[n.Name]
		if p == 0 || p > dataplane.MaxPorts || (n.Kind == Host && p != 1) {
			fault(fmt.Sprintf("nodes[%d]", i), "%s has %d links; a host has one, a switch 1 to %d",
				n.Name, p, dataplane.MaxPorts)
		}
	}
}

// shortestDelay is the smallest propagation delay in the lab.
func (t *Topology) shortestDelay() time.Duration {
	return slices.MinFunc(t.Links, func(a, b Link) int { return int(a.Delay - b.Delay) }).Delay
}

// linksOf returns the links of a node, each turned so that the node is its first endpoint.
func (t *Topology) linksOf(node string) (links []Link) {
	for _, l := range t.Links {
		switch node {
		case l.Endpoints[0].Node:
			links = append(links, l)
		case l.Endpoints[1].Node:
			l.Endpoints[0], l.Endpoints[1] = l.Endpoints[1], l.Endpoints[0]
			links = append(links, l)
		}
	}
	return links
}

// Star is one switch with hosts h1..hn on ports swp1..swpn, all links alike.
func Star(name string, hosts int, rate unit.Rate, delay time.Duration) Topology {
	t := Topology{Name: name, Nodes: []Node{{Name: "sw0", Kind: Switch}},
		Switch: switchd.Default(), NIC: nicd.Default()}
	for i := 1; i <= hosts; i++ {
		host := fmt.Sprintf("h%d", i)
		addr := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
		t.Nodes = append(t.Nodes, Node{Name: host, Kind: Host, IPv4: netip.PrefixFrom(addr, 16)})
		t.Links = append(t.Links, Link{Rate: rate, Delay: delay, Endpoints: [2]Endpoint{
			{host, "eth0"}, {"sw0", fmt.Sprintf("swp%d", i)}}})
	}
	return t
}
