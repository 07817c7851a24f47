package fabric

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
)

// Links are how the links of a fabric are, all alike unless a builder says more.
type Links struct {
	Rate  unit.Rate
	Delay time.Duration // propagation
}

const (
	maxHosts = 253       // of a ToR: its /24 without network, ToR and broadcast
	maxToRs  = 1<<16 - 1 // subnets in 10.0.0.0/8, but for the first
	maxLinks = 1 << 16   // that the MAC addresses of a lab tell apart
)

// plan is a network that grows: switches first, then what joins them.
type plan struct {
	name     string
	switches []*node
	hosts    []lab.Node
	links    []lab.Link
	tors     int // so far
	routed   int // links between switches, so far
}

// node is a switch, with its settings in the words of switchd's configuration.
type node struct {
	name  string
	ports int // that have a link
	tor   int // its number, of which its subnet is made; 0: it is none
	hosts int // on a ToR

	Interfaces   map[string]string   `yaml:"interfaces,flow"`
	StaticRoutes map[string][]string `yaml:"static_routes,flow"`
	StaticARP    map[string]string   `yaml:"static_arp,flow"`
}

func (p *plan) addSwitch(name string) *node {
	n := &node{name: name, Interfaces: make(map[string]string),
		StaticRoutes: make(map[string][]string), StaticARP: make(map[string]string)}
	p.switches = append(p.switches, n)
	return n
}

// addToR adds a switch for hosts.
func (p *plan) addToR(name string) *node {
	n := p.addSwitch(name)
	p.tors++
	n.tor = p.tors
	n.Interfaces["vlan"] = n.member(maxHosts + 1).String()
	return n
}

// member is an address in the subnet of a ToR, with the subnet's length.
func (n *node) member(i int) netip.Prefix {
	addr := netip.AddrFrom4([4]byte{10, byte(n.tor >> 8), byte(n.tor), byte(i)})
	return netip.PrefixFrom(addr, 24)
}

func (n *node) subnet() string { return n.member(0).String() }

// port takes the next port of a switch; they are swp1, swp2 and so on.
func (n *node) port() lab.Endpoint {
	if n.ports++; n.ports > dataplane.MaxPorts {
		panic(impossible(fmt.Sprintf("%s has more than %d ports", n.name, dataplane.MaxPorts)))
	}
	return lab.Endpoint{Node: n.name, Device: fmt.Sprintf("swp%d", n.ports)}
}

// via adds a next hop to a route.
func (n *node) via(prefix string, hop netip.Addr) {
	n.StaticRoutes[prefix] = append(n.StaticRoutes[prefix], hop.String())
}

// mac is the MAC address that switchd gives to a router of that name.
func (n *node) mac() string {
	c := switchd.Config{Common: daemon.Common{Name: n.name}}
	return c.RouterAddr().String()
}

// host puts a host on the next port of a ToR.
func (p *plan) host(name string, tor *node, l Links) {
	tor.hosts++
	p.hosts = append(p.hosts, lab.Node{Name: name, Kind: lab.Host, IPv4: tor.member(tor.hosts)})
	p.link(lab.Endpoint{Node: name, Device: "eth0"}, tor.port(), l)
}

func (p *plan) link(a, b lab.Endpoint, l Links) {
	p.links = append(p.links, lab.Link{Endpoints: [2]lab.Endpoint{a, b}, Rate: l.Rate,
		Delay: l.Delay})
	if len(p.links) > maxLinks {
		panic(impossible(fmt.Sprintf("more than %d links", maxLinks)))
	}
}

// uplink lets everything that the lower switch does not know go up, and what is for the ToRs below
// it come down.
func (p *plan) uplink(lower, upper *node, below []*node, l Links) {
	up, down := p.route(lower, upper, l)
	lower.via("0.0.0.0/0", up)
	for _, t := range below {
		upper.via(t.subnet(), down)
	}
}

// route joins two switches by a subnet of its own, and returns the next hops, up and down. They
// know each other's MAC address from the start, as switches do whose routes come by BGP ([DCQCN]
// figure 2): who has to ask first loses what of a burst may not wait for the answer.
func (p *plan) route(lower, upper *node, l Links) (up, down netip.Addr) {
	n := 2 * p.routed
	p.routed++
	down = netip.AddrFrom4([4]byte{172, 16 + byte(n>>16), byte(n >> 8), byte(n)})
	up = down.Next()
	low, high := lower.port(), upper.port()
	p.link(low, high, l)
	lower.Interfaces[low.Device] = netip.PrefixFrom(down, 31).String() // RFC 3021
	upper.Interfaces[high.Device] = netip.PrefixFrom(up, 31).String()
	lower.StaticARP[up.String()], upper.StaticARP[down.String()] = upper.mac(), lower.mac()
	return up, down
}

// topology is the lab of what has grown.
func (p *plan) topology() lab.Topology {
	t := lab.Topology{Name: p.name, Links: p.links, Switch: switchd.Default(),
		NIC: nicd.Default()}
	for _, s := range p.switches {
		n := lab.Node{Name: s.name, Kind: lab.Switch}
		if err := n.Switch.Encode(s); err != nil {
			panic("fabric: " + err.Error()) // maps of strings, which can be written
		}
		t.Nodes = append(t.Nodes, n)
	}
	t.Nodes = append(t.Nodes, p.hosts...)
	return t
}
