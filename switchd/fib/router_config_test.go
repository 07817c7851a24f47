package fib

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/dataplane/wire"
)

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

func hops(list ...string) (out []netip.Addr) {
	for _, s := range list {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

// torConfig is a ToR: servers on the bridge, two routed uplinks.
func torConfig() RouterConfig {
	return RouterConfig{
		MAC: wire.MAC{2, 0, 0, 0, 0, 1},
		Interfaces: []Interface{
			{"vlan", VLAN, []netip.Prefix{prefix("10.0.1.1/24"), prefix("fd00:1::1/64")}},
			{"swp5", 4, []netip.Prefix{prefix("10.1.0.0/31"), prefix("fd01::/127")}},
			{"swp6", 5, []netip.Prefix{prefix("10.1.0.2/31"), prefix("fd01::2/127")}},
		},
		Routes: []Route{
			{prefix("0.0.0.0/0"), hops("10.1.0.1", "10.1.0.3")},
			{prefix("::/0"), hops("fd01::1", "fd01::3")},
		},
	}
}

func TestRouterConfig(t *testing.T) {
	for want, change := range map[string]func(c *RouterConfig){
		"router MAC 00":            func(c *RouterConfig) { c.MAC = wire.MAC{} },
		"router MAC ff":            func(c *RouterConfig) { c.MAC = wire.Broadcast },
		"port 6 of 6":              func(c *RouterConfig) { c.Interfaces[1].Port = 6 },
		"has interface swp5":       func(c *RouterConfig) { c.Interfaces[2].Port = 4 },
		"swp6: no address":         func(c *RouterConfig) { c.Interfaces[2].Addresses = nil },
		"address 224.0.0.1/31":     setAddress("224.0.0.1/31"),
		"10.0.0.9/8 overlaps 10.0": setAddress("10.0.0.9/8"),
		"nothing may be negative":  func(c *RouterConfig) { c.Neighbours.Waiting = -1 },
		"is a group address":       setNeighbour("10.0.1.9", wire.Broadcast),
		"or the switch itself":     setNeighbour("10.0.1.1", mac(1)),
		"no interface's subnet":    setNeighbour("10.0.2.1", mac(1)),
		"2 static ones of at":      twoNeighbours,
		"remedy 3":                 func(c *RouterConfig) { c.Incomplete = remedies },
		"class 8":                  func(c *RouterConfig) { c.Class = 8 },
		"there already":            func(c *RouterConfig) { c.Routes[1] = c.Routes[0] },
		"no bit set":               setRoute("10.0.0.1/8", "10.1.0.1"),
		"0 next hops":              setRoute("10.0.0.0/8"),
		"another family":           setRoute("10.0.0.0/8", "fd01::1"),
		"0.0.0.0/8: the switch":    setRoute("0.0.0.0/8", "10.1.0.1"),
		"10.0.1.0/24: the sw":      setRoute("10.0.1.0/24", "10.1.0.1"),
		"10.0.1.255/32: the sw":    setRoute("10.0.1.255/32", "10.1.0.1"),
		"10.0.1.1/32: the sw":      setRoute("10.0.1.1/32", "10.1.0.1"),
		"in no interface's":        setRoute("10.0.0.0/8", "10.2.0.1"),
		"the switch itself":        setRoute("10.0.0.0/8", "10.1.0.0"),
		"there twice":              setRoute("10.0.0.0/8", "10.1.0.1", "10.1.0.1"),
	} {
		c := torConfig()
		if err := c.Validate(6); err != nil {
			t.Fatal(err)
		}
		change(&c)
		if err := c.Validate(6); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func setAddress(s string) func(*RouterConfig) {
	return func(c *RouterConfig) { c.Interfaces[2].Addresses[0] = prefix(s) }
}

func setNeighbour(addr string, m wire.MAC) func(*RouterConfig) {
	return func(c *RouterConfig) {
		c.Neighbours.Static = []StaticNeighbour{{netip.MustParseAddr(addr), m}}
	}
}

func twoNeighbours(c *RouterConfig) {
	c.Neighbours.Max = 1
	for i, addr := range hops("10.0.1.9", "10.0.1.10") {
		c.Neighbours.Static = append(c.Neighbours.Static, StaticNeighbour{addr, mac(i)})
	}
}

func setRoute(p string, via ...string) func(*RouterConfig) {
	return func(c *RouterConfig) { c.Routes[0] = Route{prefix(p), hops(via...)} }
}

func TestConnectedAndOwn(t *testing.T) {
	c := torConfig()
	if i, ok := c.Connected(netip.MustParseAddr("10.0.1.77")); !ok || c.Interfaces[i].Port != VLAN {
		t.Errorf("10.0.1.77 is behind interface %d (%v)", i, ok)
	}
	if _, ok := c.Connected(netip.MustParseAddr("10.9.9.9")); ok {
		t.Error("10.9.9.9 is connected")
	}
	if !c.Own(netip.MustParseAddr("fd01::2")) || c.Own(netip.MustParseAddr("fd01::3")) {
		t.Error("the wrong addresses are our own")
	}
}

func TestRemedyNames(t *testing.T) {
	for r := range remedies {
		text, err := r.MarshalText()
		var back Remedy
		if err != nil || back.UnmarshalText(text) != nil || back != r {
			t.Errorf("%d is %q and back %d (%v)", r, text, back, err)
		}
	}
	var r Remedy
	if r.UnmarshalText([]byte("pray")) == nil {
		t.Error("an unknown remedy was read")
	}
}
