package accept

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/nicd"
)

// routedLab is two routers with hosts. Each has to ask the other for its MAC address.
const routedLab = `
name: routed
nodes:
  - name: t0
    kind: switch
    switch:
      interfaces: {vlan: 10.0.0.254/24, up: 172.16.0.0/31}
      static_routes: {10.0.1.0/24: [172.16.0.1]}
  - name: t1
    kind: switch
    switch:
      interfaces: {vlan: 10.0.1.254/24, up: 172.16.0.1/31}
      static_routes: {10.0.0.0/24: [172.16.0.0]}
  - {name: h1, kind: host, ipv4: 10.0.0.1/24}
  - {name: h2, kind: host, ipv4: 10.0.0.2/24}
  - {name: h3, kind: host, ipv4: 10.0.1.3/24}
links:
  - {endpoints: ["h1:eth0", "t0:swp1"], rate: 40Gb/s, delay: 1us}
  - {endpoints: ["h2:eth0", "t0:swp2"], rate: 40Gb/s, delay: 1us}
  - {endpoints: ["h3:eth0", "t1:swp1"], rate: 40Gb/s, delay: 1us}
  - {endpoints: ["t0:up", "t1:up"], rate: 40Gb/s, delay: 1us}
`

// routed is a flow across two routers from the first packet on, with a sample every microsecond.
func routed(t *testing.T, name string) *scenario.Scenario {
	t.Helper()
	top := lab.Default()
	if err := daemon.Decode("routed.yaml", []byte(routedLab), &top); err != nil {
		t.Fatal(err)
	}
	top.Name = name
	return &scenario.Scenario{Topology: top, Flows: scenario.Many("h3", nicd.FlowRequest{}, "h1"),
		Queues:   []scenario.Queue{{Switch: "t0", Port: "up", Queue: scenario.DataQueue}},
		Duration: 300 * time.Microsecond, Interval: time.Microsecond}
}

// TestHostsAnswerInVirtualTime: a router whose only host was away asks for it. A kernel's answer
// would come in real time; the NIC's comes in virtual time, and packets go on.
func TestHostsAnswerInVirtualTime(t *testing.T) {
	s := routed(t, "fid-hosts")
	away, err := lab.ParseFault("h3:eth0 down at 50us for 50us")
	if err != nil {
		t.Fatal(err)
	}
	s.Topology.Faults = append(s.Topology.Faults, away)
	s.Flows = scenario.Many("h3", nicd.FlowRequest{StartNs: 120_000}, "h2")
	r := onRealFrames(t, s, nil)
	if !r.Certificate.Valid {
		t.Errorf("%+v", r.Certificate)
	}
	if r.GoodputIn(0, 0, s.Duration) == 0 || r.Dropped()["no_neighbour"] == 0 {
		t.Errorf("h3 was not looked for and found; dropped %v", r.Dropped())
	}
}

// TestRoutersAskInVirtualTime: packets that wait for the next router's MAC address leave when its
// answer arrives in virtual time, and those that find no room to wait are dropped.
func TestRoutersAskInVirtualTime(t *testing.T) {
	r := onRealFrames(t, routed(t, "fid-routers"), nil)
	if !r.Certificate.Valid {
		t.Errorf("%+v", r.Certificate)
	}
	if r.Dropped()["no_neighbour"] == 0 {
		t.Errorf("dropped %v: nothing had to wait", r.Dropped())
	}
}
