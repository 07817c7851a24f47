package switchd

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/fib"
)

// torText is a ToR: two servers' ports, two uplinks.
const torText = `
name: t1
ports:
  - {name: swp1, rate: 40Gb/s}
  - {name: swp2, rate: 40Gb/s}
  - {name: swp3, rate: 40Gb/s}
  - {name: swp4, rate: 40Gb/s}
static_macs: {"02:00:00:00:00:0a": swp1}
isolated_ports: [swp1, swp2]
interfaces:
  vlan: [10.0.1.1/24, "fd00:1::1/64"]
  swp3: 10.1.0.0/31
  swp4: 10.1.0.2/31
static_routes:
  0.0.0.0/0: [10.1.0.1, 10.1.0.3]
static_arp: {10.0.1.10: "02:00:00:00:00:0a"}
router_mac: "02:00:00:aa:00:01"
ecmp_seed: 7
arp_timeout: 200s
incomplete_arp: flood
`

func TestForwardingReachesTheMachine(t *testing.T) {
	c, err := decode(t, torText)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Machine()
	if err != nil {
		t.Fatal(err)
	}
	r := m.Router
	a := wire.MAC{2, 5: 10}
	if m.Ports[0].Isolated != 1 || m.Ports[1].Isolated != 1 || m.Ports[2].Isolated != 0 ||
		!slices.Equal(m.MACs.Static, []fib.Static{{MAC: a, Port: 0}}) {
		t.Errorf("layer 2: %+v", m.MACs)
	}
	if r.MAC != (wire.MAC{2, 0, 0, 0xaa, 0, 1}) || r.Seed != 7 || r.Class != 6 ||
		r.Incomplete != fib.Flood || r.Neighbours.Timeout != 200*time.Second {
		t.Errorf("router %+v", r)
	}
	if len(r.Interfaces) != 3 || r.Interfaces[0].Port != 2 || r.Interfaces[1].Port != 3 ||
		r.Interfaces[2].Port != fib.VLAN || len(r.Interfaces[2].Addresses) != 2 {
		t.Errorf("interfaces %+v", r.Interfaces)
	}
	if len(r.Routes) != 1 || len(r.Routes[0].NextHops) != 2 || len(r.Neighbours.Static) != 1 {
		t.Errorf("routes %+v, neighbours %+v", r.Routes, r.Neighbours)
	}
}

// TestForwardingOfTheName: without a seed and a MAC address, switches differ, and each is itself.
func TestForwardingOfTheName(t *testing.T) {
	router := func(name string) *fib.RouterConfig {
		c, err := decode(t, strings.Replace(minimal, "sw0", name, 1)+
			"interfaces: {vlan: 10.0.1.1/24}\n")
		if err != nil {
			t.Fatal(err)
		}
		m, err := c.Machine()
		if err != nil {
			t.Fatal(err)
		}
		return m.Router
	}
	a, b := router("t1"), router("t2")
	if a.MAC == b.MAC || a.Seed == b.Seed || a.MAC != router("t1").MAC || a.MAC.IsMulticast() {
		t.Errorf("%v %x and %v %x", a.MAC, a.Seed, b.MAC, b.Seed)
	}
}

// TestForwardingIsWrittenAndReadAgain, as the lab does.
func TestForwardingIsWrittenAndReadAgain(t *testing.T) {
	c, err := decode(t, torText)
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	back, err := decode(t, string(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	prefix := netip.MustParsePrefix("0.0.0.0/0")
	if !slices.Equal(back.StaticRoutes[prefix], c.StaticRoutes[prefix]) ||
		!slices.Equal(back.Interfaces["vlan"], c.Interfaces["vlan"]) ||
		back.StaticMACs[wire.MAC{2, 5: 10}] != "swp1" || *back.ECMPSeed != 7 ||
		back.Incomplete != fib.Flood || back.StaticARP[netip.MustParseAddr("10.0.1.10")] !=
		c.StaticARP[netip.MustParseAddr("10.0.1.10")] {
		t.Errorf("%+v", back.Forwarding)
	}
}

// TestForwardingFaults: each is told with its path.
func TestForwardingFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"isolated_ports: [swp9]\n", `isolated_ports[0]: no port "swp9"`},
		{"static_macs: {\"02:00:00:00:00:01\": swp9}\n",
			`static_macs.02:00:00:00:00:01: no port "swp9"`},
		{"static_macs: {\"03:00:00:00:00:01\": swp1}\n", "a group address"},
		{"interfaces: {swp1: 10.0.0.1/24}\nstatic_macs: {\"02:00:00:00:00:01\": swp1}\n",
			"does not bridge"},
		{"static_routes: {10.0.0.0/8: [10.0.0.1]}\n", "static_routes: needs interfaces"},
		{"static_arp: {10.0.0.1: \"02:00:00:00:00:01\"}\n", "static_arp: needs interfaces"},
		{"interfaces: {swp9: 10.0.0.1/24}\n", "interfaces.swp9: no port"},
		{"interfaces: {swp1: 224.0.0.1/24}\n", "interfaces: interface swp1: address"},
		{"interfaces: {vlan: 10.0.1.1/24}\nstatic_routes: {0.0.0.0/0: [10.9.9.9]}\n",
			"static_routes.0.0.0.0/0: route 0.0.0.0/0: next hop 10.9.9.9 is in no"},
		{"interfaces: {vlan: 10.0.1.1/24}\nstatic_arp: {10.9.9.9: \"02:00:00:00:00:01\"}\n",
			"static_arp.10.9.9.9: "},
		{"interfaces: {vlan: 10.0.1.1/24}\nrouter_mac: \"03:00:00:00:00:01\"\n", "router MAC"},
		{"interfaces: {vlan: ten}\n", "interfaces"},
		{"interfaces: {vlan: 10.0.1.1/24}\nrouter_tc: 3\n", "class 3 is lossless"},
		{"router_tc: 8\n", "router_tc: 8"},
		{"arp_timeout: 0s\n", "arp_timeout"},
		{"arp_limit: 0\n", "arp_limit"},
		{"incomplete_arp: pray\n", "incomplete_arp"},
	} {
		got, err := decode(t, minimal+c.text)
		if err == nil {
			_, err = got.Machine()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", strings.TrimSpace(c.text), err, c.want)
		}
	}
	two := "name: sw0\nports:\n  - {name: vlan, rate: 40Gb/s}\ninterfaces: {vlan: 10.0.1.1/24}\n"
	if _, err := decode(t, two); err == nil || !strings.Contains(err.Error(), "this name") {
		t.Errorf("a port called vlan: %v", err)
	}
}

// TestInterfacesTakeOneOrMany: a text or a list, and nothing else.
func TestInterfacesTakeOneOrMany(t *testing.T) {
	var got struct{ A, B Prefixes }
	text := "a: 10.0.0.1/8\nb: [10.0.0.1/8, 11.0.0.1/8]\n"
	if err := yaml.Unmarshal([]byte(text), &got); err != nil || len(got.A) != 1 ||
		len(got.B) != 2 {
		t.Errorf("%+v %v", got, err)
	}
	if err := yaml.Unmarshal([]byte("a: {}\n"), &got); err == nil {
		t.Error("a map was read as an address")
	}
}
