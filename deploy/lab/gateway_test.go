package lab

import (
	"maps"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd"
)

// twoSubnets are two switches with one link between them, and a host on each.
const twoSubnets = `
name: two
switch: {mac_ageing: 60s, dscp_to_tc_map: {10: 3}}
nodes:
  - name: t1
    kind: switch
    switch:
      router_mac: "02:00:00:aa:00:01"
      interfaces: {vlan: 10.0.1.1/24, swp2: 10.1.0.0/31}
      static_routes: {10.0.2.0/24: [10.1.0.1]}
      dscp_to_tc_map: {11: 3}
  - name: t2
    kind: switch
    switch:
      interfaces: {swp1: 10.0.2.1/24, swp2: 10.1.0.1/31}
  - {name: h1, kind: host, ipv4: 10.0.1.11/24}
  - {name: h2, kind: host, ipv4: 10.0.2.11/24, gateway: 10.0.2.1}
  - {name: h3, kind: host, ipv4: 10.0.1.12/24}
links:
  - {endpoints: ["h1:eth0", "t1:swp1"], rate: 40Gb/s, delay: 1us}
  - {endpoints: ["t1:swp2", "t2:swp2"], rate: 40Gb/s, delay: 1us}
  - {endpoints: ["h2:eth0", "t2:swp1"], rate: 40Gb/s, delay: 1us}
  - {endpoints: ["h3:eth0", "t1:swp3"], rate: 40Gb/s, delay: 1us}
`

func decodeTopology(text string) (*Topology, error) {
	t := Default()
	return &t, daemon.Decode("two.yaml", []byte(text), &t)
}

// TestSettingsOfOneSwitch: they go over those of all, and stay with that switch.
func TestSettingsOfOneSwitch(t *testing.T) {
	top, err := decodeTopology(twoSubnets)
	if err != nil {
		t.Fatal(err)
	}
	one, two := top.SwitchConfig(top.Node("t1")), top.SwitchConfig(top.Node("t2"))
	if one.MACAgeing != two.MACAgeing || one.MACAgeing.Seconds() != 60 {
		t.Errorf("mac_ageing %v and %v", one.MACAgeing, two.MACAgeing)
	}
	of := func(dscp uint8) switchd.CodePoints { return switchd.CodePoints{dscp: 3} }
	if !maps.Equal(one.DSCPToTC, of(11)) || !maps.Equal(two.DSCPToTC, of(10)) ||
		!maps.Equal(top.Switch.DSCPToTC, of(10)) { // a map is whole
		t.Errorf("DSCP maps %v, %v and %v", one.DSCPToTC, two.DSCPToTC, top.Switch.DSCPToTC)
	}
	if one.RouterAddr() == two.RouterAddr() || one.Name != "t1" || len(one.Ports) != 3 {
		t.Errorf("%v and %v, %s has %d ports", one.RouterAddr(), two.RouterAddr(), one.Name,
			len(one.Ports))
	}
}

// TestGateways: derived from the VLAN interface and from a routed port, or named.
func TestGateways(t *testing.T) {
	top, err := decodeTopology(twoSubnets)
	if err != nil {
		t.Fatal(err)
	}
	t2 := top.SwitchConfig(top.Node("t2"))
	for host, want := range map[string]struct {
		gateway string
		mac     wire.MAC
	}{
		"h1": {"10.0.1.1", wire.MAC{2, 0, 0, 0xaa, 0, 1}},
		"h2": {"10.0.2.1", t2.RouterAddr()},
	} {
		addr, mac, ok := top.gateway(top.Node(host))
		if !ok || addr.String() != want.gateway || mac != want.mac {
			t.Errorf("%s: %v %v %v", host, addr, mac, ok)
		}
		nic := top.NICConfig(top.Node(host))
		if nic.Gateway == nil || nic.Gateway.MAC != want.mac ||
			nic.Gateway.Subnet != top.Node(host).IPv4.Masked() {
			t.Errorf("%s: NIC's gateway %+v", host, nic.Gateway)
		}
	}
	_, neighbour := top.Address("h3")
	if got := top.Toward("h1", "h3"); got != wire.MAC(neighbour) {
		t.Errorf("within the subnet to %v, want %v", got, neighbour)
	}
	if got := top.Toward("h1", "h2"); got != (wire.MAC{2, 0, 0, 0xaa, 0, 1}) {
		t.Errorf("to another subnet to %v", got)
	}
	bridge := Star("x", 2, 1, 1)
	if _, _, ok := bridge.gateway(bridge.Node("h1")); ok || bridge.NICConfig(
		bridge.Node("h1")).Gateway != nil {
		t.Error("a lab without routers has a gateway")
	}
}

// TestFaultsOfNodes: with the line, and each once.
func TestFaultsOfNodes(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"10.1.0.0/31}", "10.1.0.0/31, swp9: 10.2.0.0/31}", "nodes[0].switch.interfaces.swp9"},
		{"static_routes: {10.0.2", "static_roots: {10.0.2", "unknown key static_roots"},
		{"gateway: 10.0.2.1", "gateway: 10.0.3.1", "nodes[3].gateway: 10.0.3.1 is not in"},
		{"gateway: 10.0.2.1", "gateway: 10.0.2.9", "nobody has the address 10.0.2.9"},
		{"ipv4: 10.0.1.12/24", "ipv4: 10.0.1.12/24, switch: {seed: 1}", "h3 is a host"},
		{"name: t2", "name: t2\n    gateway: 10.0.2.1", "t2 is a switch"},
		{"mac_ageing: 60s", "mac_ageing: 0s", "switch.mac_ageing: must be positive"},
	} {
		change, want := c.to, c.want
		_, err := decodeTopology(strings.Replace(twoSubnets, c.from, c.to, 1))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", change, err, want)
		} else if n := strings.Count(err.Error(), want); n != 1 {
			t.Errorf("%s: told %d times", change, n)
		}
	}
}
