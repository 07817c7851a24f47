package fib

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// RouterConfig makes a switch route. Frames to MAC are routed, all others bridged.
type RouterConfig struct {
	MAC        wire.MAC    // of all interfaces
	Interfaces []Interface // at most one a port, and at most one for the bridge
	Routes     []Route     // static ones; the interfaces' own subnets need none
	Neighbours NeighbourConfig
	Incomplete Remedy
	// Seed is mixed into the flow hash that chooses among next hops. Switches in series want
	// different ones: with the same seed the second switch sees only flows that the first hashed
	// alike, and uses few of its next hops (polarisation).
	Seed  uint64
	Class uint8 // lossy traffic class of the frames that the switch itself sends
}

// Interface is where the router is in a subnet: a routed port, which does not bridge, or the VLAN
// interface, behind which are all ports that have no interface of their own.
type Interface struct {
	Name      string
	Port      dataplane.PortID // or VLAN
	Addresses []netip.Prefix   // the router's address with the length of the subnet's prefix
}

// VLAN stands for the bridge in Interface.Port (SONiC: VLAN_INTERFACE).
const VLAN dataplane.PortID = math.MaxUint16

// Route is a static route.
type Route struct {
	Prefix   netip.Prefix
	NextHops []netip.Addr // 1 to MaxNextHops, of the prefix's family, each in a connected subnet
}

// MaxNextHops bounds the next hops of a route (SAI_SWITCH_ATTR_MAX_ECMP_MEMBER_COUNT is 64 on
// many ASICs).
const MaxNextHops = 64

// NeighbourConfig bounds the table of neighbours (ARP and ND). Zero values take the defaults.
type NeighbourConfig struct {
	Max     int           // entries; DefaultNeighbours
	Timeout time.Duration // of an entry that is not confirmed again; DefaultNeighbourTimeout
	// Retransmit is the time between two requests for one address; DefaultRetransmit.
	Retransmit time.Duration
	Waiting    int // frames that wait for one address; DefaultWaiting
	Held       int // frames that wait for all addresses together; DefaultHeld
	// Static are there from the start and stay, at most Max; each in a connected subnet.
	Static []StaticNeighbour
}

// StaticNeighbour is an entry for good.
type StaticNeighbour struct {
	Addr netip.Addr
	MAC  wire.MAC
}

// The defaults.
const (
	DefaultNeighbours = 4096
	// DefaultNeighbourTimeout is "4 hours", [RDMA at scale] section 4.2.
	DefaultNeighbourTimeout = 4 * time.Hour
	// DefaultRetransmit is RETRANS_TIMER, RFC 4861 section 10; RFC 1122 section 2.3.2.1 asks for
	// at most one ARP request a second.
	DefaultRetransmit = time.Second
	// DefaultWaiting is a small number, as RFC 4861 section 7.2.2 asks for.
	DefaultWaiting = 3
	DefaultHeld    = 256
)

// Remedy is what becomes of a packet whose neighbour's MAC address is known and its port is not:
// what [RDMA at scale] section 4.2 calls an incomplete ARP entry. The section's option (2) is none
// of these but a NeighbourConfig.Timeout no longer than the MAC table's Age.
type Remedy uint8

// The remedies.
const (
	// DropLossless is option (3), which the paper chose: packets of a lossless class are dropped,
	// others are flooded.
	DropLossless Remedy = iota
	// Flood is what the paper found: packets are flooded to all ports in their own class, lossless
	// ones too. A deadlock can follow.
	Flood
	// ToCPU is option (1): the packet waits at the switch's CPU, which asks for the address.
	ToCPU
	remedies
)

var remedyNames = [remedies]string{"drop_lossless", "flood", "cpu"}

func (r Remedy) String() string { return remedyNames[r] }

// MarshalText is String for encoders.
func (r Remedy) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the name of a remedy.
func (r *Remedy) UnmarshalText(b []byte) error {
	for i, name := range remedyNames {
		if string(b) == name {
			*r = Remedy(i)
			return nil
		}
	}
	return fmt.Errorf("%q: want one of %q", b, remedyNames)
}

// Validate returns every fault; the switch has that many ports.
func (c *RouterConfig) Validate(ports int) error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.MAC == (wire.MAC{}) || c.MAC.IsMulticast() {
		add("router MAC %v: want an address of one station", c.MAC)
	}
	used := make(map[dataplane.PortID]string)
	for i := range c.Interfaces {
		f := &c.Interfaces[i]
		if f.Port != VLAN && int(f.Port) >= ports {
			add("interface %s: port %d of %d", f.Name, f.Port, ports)
		}
		if other, twice := used[f.Port]; twice {
			add("interface %s: its port has interface %s already", f.Name, other)
		}
		used[f.Port] = f.Name
		faults = append(faults, c.validateAddresses(i)...)
	}
	faults = append(faults, c.validateRoutes()...)
	n := c.Neighbours
	if n.Max < 0 || n.Timeout < 0 || n.Retransmit < 0 || n.Waiting < 0 || n.Held < 0 {
		add("neighbours: nothing may be negative: %+v", n)
	}
	if limit := cmp.Or(n.Max, DefaultNeighbours); len(n.Static) > limit {
		add("neighbours: %d static ones of at most %d", len(n.Static), limit)
	}
	for _, e := range n.Static {
		if err := c.ValidateNeighbour(e); err != nil {
			faults = append(faults, err)
		}
	}
	if c.Incomplete >= remedies {
		add("remedy %d: want one below %d", c.Incomplete, remedies)
	}
	if c.Class > 7 {
		add("class %d: want 0 to 7", c.Class)
	}
	return errors.Join(faults...)
}

// ValidateNeighbour judges a static neighbour against the interfaces.
func (c *RouterConfig) ValidateNeighbour(e StaticNeighbour) error {
	if e.MAC.IsMulticast() {
		return fmt.Errorf("neighbour %v: %v is a group address", e.Addr, e.MAC)
	}
	if _, ok := c.Connected(e.Addr); !ok || c.Own(e.Addr) {
		return fmt.Errorf("neighbour %v: in no interface's subnet, or the switch itself", e.Addr)
	}
	return nil
}

// validateAddresses judges the addresses of interface i, also against those before them.
func (c *RouterConfig) validateAddresses(i int) (faults []error) {
	f := &c.Interfaces[i]
	if len(f.Addresses) == 0 {
		faults = append(faults, fmt.Errorf("interface %s: no address", f.Name))
	}
	for n, a := range f.Addresses {
		if err := unicast(a.Addr()); err != nil || !a.IsValid() {
			faults = append(faults, fmt.Errorf("interface %s: address %v: want one station's "+
				"address with the length of its prefix", f.Name, a))
			continue
		}
		for j := range i + 1 {
			other := &c.Interfaces[j]
			before := other.Addresses
			if j == i {
				before = before[:n]
			}
			for _, b := range before {
				if a.Overlaps(b) {
					faults = append(faults, fmt.Errorf("interface %s: %v overlaps %v of "+
						"interface %s", f.Name, a, b, other.Name))
				}
			}
		}
	}
	return faults
}

func (c *RouterConfig) validateRoutes() (faults []error) {
	seen := make(map[netip.Prefix]bool)
	for i := range c.Routes {
		r := &c.Routes[i]
		if seen[r.Prefix] {
			faults = append(faults, fmt.Errorf("route %v: it is there already", r.Prefix))
		}
		seen[r.Prefix] = true
		if err := c.ValidateRoute(r); err != nil {
			faults = append(faults, err)
		}
	}
	return faults
}

// ValidateRoute judges one route against the interfaces.
func (c *RouterConfig) ValidateRoute(r *Route) error {
	if !r.Prefix.IsValid() || r.Prefix != r.Prefix.Masked() || r.Prefix.Addr().Is4In6() {
		return fmt.Errorf("route %v: want a prefix with no bit set behind its length", r.Prefix)
	}
	if c.taken(r.Prefix) {
		return fmt.Errorf("route %v: the switch itself, a subnet it is in, or no place to route to",
			r.Prefix)
	}
	if n := len(r.NextHops); n == 0 || n > MaxNextHops {
		return fmt.Errorf("route %v: %d next hops, want 1 to %d", r.Prefix, n, MaxNextHops)
	}
	for i, hop := range r.NextHops {
		if hop.Is4() != r.Prefix.Addr().Is4() {
			return fmt.Errorf("route %v: next hop %v is of another family", r.Prefix, hop)
		}
		if _, ok := c.Connected(hop); !ok {
			return fmt.Errorf("route %v: next hop %v is in no interface's subnet", r.Prefix, hop)
		}
		if c.Own(hop) {
			return fmt.Errorf("route %v: next hop %v is the switch itself", r.Prefix, hop)
		}
		for _, before := range r.NextHops[:i] {
			if hop == before {
				return fmt.Errorf("route %v: next hop %v is there twice", r.Prefix, hop)
			}
		}
	}
	return nil
}

// Connected returns the index of the interface in whose subnet addr is.
func (c *RouterConfig) Connected(addr netip.Addr) (int, bool) {
	for i := range c.Interfaces {
		for _, a := range c.Interfaces[i].Addresses {
			if a.Contains(addr) {
				return i, true
			}
		}
	}
	return 0, false
}

// Own reports whether addr is one of the switch's own.
func (c *RouterConfig) Own(addr netip.Addr) bool {
	for i := range c.Interfaces {
		for _, a := range c.Interfaces[i].Addresses {
			if a.Addr() == addr {
				return true
			}
		}
	}
	return false
}

// taken reports whether a prefix has a route that is not for others to change.
func (c *RouterConfig) taken(p netip.Prefix) bool {
	for i := range c.Interfaces {
		for _, a := range c.Interfaces[i].Addresses {
			for _, b := range broadcasts(a) {
				if p == b {
					return true
				}
			}
			if p == a.Masked() || p == netip.PrefixFrom(a.Addr(), a.Addr().BitLen()) {
				return true
			}
		}
	}
	return slices.Contains(reserved(), p)
}

// reserved are destinations that a router must not forward to: RFC 1812 sections 4.2.2.11 and
// 5.3.7, RFC 4291 sections 2.5.6 and 2.7.
func reserved() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8"),
		netip.MustParsePrefix("224.0.0.0/4"), netip.MustParsePrefix("240.0.0.0/4"),
		netip.MustParsePrefix("::/128"), netip.MustParsePrefix("::1/128"),
		netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("ff00::/8"),
	}
}

// broadcasts are a subnet's two addresses for everybody, to which nothing is routed: RFC 2644. A
// /31 has none: RFC 3021.
func broadcasts(a netip.Prefix) []netip.Prefix {
	if !a.Addr().Is4() || a.Bits() >= 31 {
		return nil
	}
	first := a.Masked().Addr()
	last := first.As4()
	for bit := a.Bits(); bit < 32; bit++ {
		last[bit/8] |= 0x80 >> (bit % 8)
	}
	return []netip.Prefix{netip.PrefixFrom(first, 32),
		netip.PrefixFrom(netip.AddrFrom4(last), 32)}
}

// unicast refuses what is no address of one station.
func unicast(a netip.Addr) error {
	if !a.IsValid() || a.IsUnspecified() || a.IsMulticast() || a.IsLoopback() || a.Is4In6() ||
		a.Zone() != "" {
		return fmt.Errorf("%v is no address of one station", a)
	}
	return nil
}
