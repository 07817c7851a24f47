package lab

import (
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/nicd/nic"
)

const meshTopology = `
name: mesh
nodes:
  - {name: sw0, kind: switch}
  - {name: h1, kind: host, ipv4: 10.0.0.1/24, nic: {personality: connectx5}}
  - {name: h2, kind: host, ipv4: 10.0.0.2/24}
  - {name: h3, kind: host, ipv4: 10.0.0.3/24}
links:
  - {endpoints: ["h1:eth0", "sw0:swp1"], rate: 40Gb/s, delay: 1us}
  - {endpoints: ["h2:eth0", "sw0:swp2"], rate: 40Gb/s, delay: 1us}
  - {endpoints: ["h3:eth0", "sw0:swp3"], rate: 40Gb/s, delay: 1us}
`

// Each host probes all others, from the one behind it on and at a time of its own; without an
// interval nobody does.
func TestMesh(t *testing.T) {
	for _, c := range []struct {
		text  string
		peers string
		phase time.Duration
	}{{"", "", 0}, {"pingmesh: {interval: 9ms}", "h3 h1", time.Millisecond}} {
		top := Default()
		if err := daemon.Decode("t", []byte(meshTopology+c.text), &top); err != nil {
			t.Fatal(err)
		}
		cfg := top.NICConfig(top.Node("h2"))
		var peers []string
		for _, p := range cfg.Pingmesh.Peers {
			peers = append(peers, p.Name)
		}
		if got := strings.Join(peers, " "); got != c.peers || cfg.Pingmesh.Phase != c.phase {
			t.Errorf("%q: h2 probes %q from %v on", c.text, got, cfg.Pingmesh.Phase)
		}
	}
}

// A host's own settings stand above those of all, and touch no other host.
func TestOwnSettingsOfAHost(t *testing.T) {
	top := Default()
	text := meshTopology + "nic: {burst: 3000B, cc: {params: {timer: 99us}}}"
	if err := daemon.Decode("t", []byte(text), &top); err != nil {
		t.Fatal(err)
	}
	for node, want := range map[string]nic.CNPScope{"h1": nic.ScopePort, "h2": nic.ScopeQP} {
		c := top.NICConfig(top.Node(node))
		m, err := c.Machine()
		if err != nil || m.CNP.Scope != want || m.Burst != 3000 {
			t.Errorf("%s: %+v, burst %v, %v", node, m.CNP, m.Burst, err)
		}
	}
}

func TestFaultsOfMesh(t *testing.T) {
	for change, want := range map[string]string{
		"pingmesh: {interval: -1s}":             "pingmesh.interval: -1s is negative",
		"pingmesh: {interval: 1s, timeout: 2s}": "pingmesh.timeout: 2s is not in",
		"pingmesh: {intervals: 1s}":             "unknown key intervals",
		"nodes: [{name: sw0, kind: switch, nic: {mtu: 1}}, {name: h1, kind: host, " +
			"ipv4: 10.0.0.1/24, nic: {mtu: 1000}}]\nlinks: [{endpoints: [\"h1:eth0\", " +
			"\"sw0:swp1\"], rate: 1Gb/s, delay: 1us}]": "nodes[1].nic.mtu: 1000 is not",
	} {
		top := Default()
		text := meshTopology
		if strings.HasPrefix(change, "nodes") {
			text = "name: mesh\n"
		}
		err := daemon.Decode("t", []byte(text+change), &top)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", change, err, want)
		}
	}
}
