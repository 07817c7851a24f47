package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/unit"
)

func TestStarIsValidAndReadsBack(t *testing.T) {
	star := Star("x", dataplane.MaxPorts, 40*unit.GbPerSecond, time.Microsecond)
	if faults := star.Validate(); len(faults) != 0 {
		t.Fatal(faults)
	}
	text, err := yaml.Marshal(star)
	if err != nil {
		t.Fatal(err)
	}
	back := Default()
	if err := daemon.Decode("star.yaml", text, &back); err != nil {
		t.Fatal(err)
	}
	last := dataplane.MaxPorts - 1
	if len(back.Nodes) != last+2 || back.Links[last] != star.Links[last] ||
		back.Nodes[last+1].IPv4 != star.Nodes[last+1].IPv4 {
		t.Errorf("%+v", back.Links[last])
	}
}

// A switch has no more ports than an engine can drive.
func TestMostPorts(t *testing.T) {
	star := Star("x", dataplane.MaxPorts+1, 40*unit.GbPerSecond, time.Microsecond)
	want := daemon.Fault{Path: "nodes[0]",
		Problem: "sw0 has 257 links; a host has one, a switch 1 to 256"}
	if faults := star.Validate(); len(faults) != 1 || faults[0] != want {
		t.Errorf("%v, want %v", faults, want)
	}
}

func TestShippedTopologiesAreValid(t *testing.T) {
	files, err := filepath.Glob("../topologies/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v %v", files, err)
	}
	for _, f := range files {
		top := Default()
		if err := daemon.Load(f, &top); err != nil {
			t.Error(err)
		}
	}
}

func TestTopologyFaults(t *testing.T) {
	end := func(t *Topology, link, i int) *Endpoint { return &t.Links[link].Endpoints[i] }
	for path, spoil := range map[string]func(*Topology){
		"name":                  func(t *Topology) { t.Name = "A b" },
		"nodes[2].name":         func(t *Topology) { t.Nodes[2].Name = "h1" },
		"nodes[0].kind":         func(t *Topology) { t.Nodes[0].Kind = "hub" },
		"nodes[1].ipv4":         func(t *Topology) { t.Nodes[1].IPv4 = t.Nodes[0].IPv4 },
		"links[0].rate":         func(t *Topology) { t.Links[0].Rate = 0 },
		"links[1].delay":        func(t *Topology) { t.Links[1].Delay = 0 },
		"links[1].mtu":          func(t *Topology) { t.Links[1].MTU = 9001 },
		"mtu":                   func(t *Topology) { t.MTU = 575 },
		"links[0].endpoints[0]": func(t *Topology) { end(t, 0, 0).Node = "h9" },
		"links[1].endpoints[1]": func(t *Topology) { *end(t, 1, 1) = *end(t, 0, 1) },
		"links[1].endpoints[0]": func(t *Topology) { end(t, 1, 0).Device = "abcdefghijklmnop" },
		"metrics_port":          func(t *Topology) { t.MetricsPort = 65535 },
		"clock.start":           func(t *Topology) { t.Clock.Start = 0.5 },
		"clock.max":             func(t *Topology) { t.Clock.Min, t.Clock.Max = 20, 10 },
		"clock.budget":          func(t *Topology) { t.Clock.Budget = -1 },
		"clock.rigid":           func(t *Topology) { t.Clock.Rigid, t.Clock.Budget = true, 1 },
	} {
		top := Star("x", 2, unit.GbPerSecond, time.Microsecond)
		spoil(&top)
		found := false
		for _, f := range top.Validate() {
			found = found || f.Path == path
		}
		if !found {
			t.Errorf("%v, want a fault at %s", top.Validate(), path)
		}
	}
}

// A rate without a unit is no link of 40 bits a second.
func TestRatesWantUnits(t *testing.T) {
	text := strings.ReplaceAll(twoSubnets, "rate: 40Gb/s", "rate: 40")
	_, err := decodeTopology(text)
	if err == nil {
		t.Fatal("taken")
	}
	for i, line := range strings.Split(err.Error(), "\n") {
		want := fmt.Sprintf(`links[%d].rate: rate "40": want a unit, as 40Gb/s`, i)
		if !strings.Contains(line, want) {
			t.Errorf("%s\nwant %s", line, want)
		}
	}
}

func TestEndpointText(t *testing.T) {
	var e Endpoint
	if err := e.UnmarshalText([]byte("h1:eth0")); err != nil || e != (Endpoint{"h1", "eth0"}) {
		t.Errorf("%v, %v", e, err)
	}
	for _, bad := range []string{"", "h1", "h1:", ":eth0", "h1:eth0:x", "../x:eth0"} {
		if err := e.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestPortsOfBothEndsMatch(t *testing.T) {
	top := Star("x", 3, unit.GbPerSecond, time.Microsecond)
	l := &Lab{Topology: top, slots: map[string]int{}}
	for i, port := range l.Topology.ports("sw0") {
		host := l.Topology.ports(top.Nodes[i+1].Name)[0]
		if *port.TxLink != *host.RxLink || *port.RxLink != *host.TxLink ||
			*port.TxLink == *port.RxLink {
			t.Errorf("link %d: switch %d/%d, host %d/%d", i, *port.TxLink, *port.RxLink,
				*host.TxLink, *host.RxLink)
		}
		if ip, _ := top.Address(top.Nodes[i+1].Name); port.FarEnd != loop.NIC ||
			*port.FarIPv4 != ip || host.FarEnd != loop.Switch || host.FarIPv4 != nil {
			t.Errorf("link %d is between a %s and a %s, %v", i, host.FarEnd, port.FarEnd,
				port.FarIPv4)
		}
	}
}

func TestLockIsExclusiveAndEndsWithItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	a, err := lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(path); !errors.Is(err, errLocked) {
		t.Errorf("a second lock: %v", err)
	}
	a.Close()
	b, err := lock(path)
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
}

func TestLastLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("a\nb\nc\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := lastLines(path, 2); got != "  b\n  c" {
		t.Errorf("%q", got)
	}
	if got := lastLines(path+"x", 2); !strings.Contains(got, "no such file") {
		t.Errorf("%q", got)
	}
}
