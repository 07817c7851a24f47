package twin_test

import (
	"bytes"
	"flag"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/show"
	"github.com/rocelab/rocelab/deploy/twin"
	"github.com/rocelab/rocelab/nicd"
)

var update = flag.Bool("update", false, "rewrite the golden matrices")

// meshLab is two switches with two hosts each, and a link of a quarter of the hosts' rate between
// them.
const meshLab = `
name: mesh
nodes:
  - {name: sw0, kind: switch}
  - {name: sw1, kind: switch}
  - {name: h1, kind: host, ipv4: 10.0.0.1/24}
  - {name: h2, kind: host, ipv4: 10.0.0.2/24}
  - {name: h3, kind: host, ipv4: 10.0.0.3/24}
  - {name: h4, kind: host, ipv4: 10.0.0.4/24}
links:
  - {endpoints: ["h1:eth0", "sw0:swp1"], rate: 40Gb/s, delay: 1us}
  - {endpoints: ["h2:eth0", "sw0:swp2"], rate: 40Gb/s, delay: 1us}
  - {endpoints: ["h3:eth0", "sw1:swp1"], rate: 40Gb/s, delay: 1us}
  - {endpoints: ["h4:eth0", "sw1:swp2"], rate: 40Gb/s, delay: 1us}
  - {endpoints: ["sw0:swp9", "sw1:swp9"], rate: 10Gb/s, delay: 1us}
pingmesh: {interval: 100us, timeout: 100us}
`

// mesh runs the lab of meshLab for 20 ms, with more of a topology, and after it was prepared.
func mesh(t *testing.T, more string, prepare func(clos)) *show.Pingmesh {
	t.Helper()
	top := lab.Default()
	if err := daemon.Decode("mesh", []byte(meshLab+more), &top); err != nil {
		t.Fatal(err)
	}
	tw, err := twin.New(&top)
	if err != nil {
		t.Fatal(err)
	}
	c := clos{tw, t}
	if prepare != nil {
		prepare(c)
	}
	c.Run(unit.Time(20 * time.Millisecond))
	p := &show.Pingmesh{Lab: top.Name, Quantile: show.P99, Hosts: []string{"h1", "h2", "h3", "h4"},
		Status: map[string]nicd.PingmeshStatus{}}
	for _, h := range p.Hosts {
		var st nicd.PingmeshStatus
		c.call(http.MethodGet, h, "/v1/pingmesh", nil, &st)
		if len(st.Peers) != 3 || st.RefusedProbes != 0 {
			t.Errorf("%s: %+v", h, st)
		}
		var ok, counted uint64
		for _, to := range st.Peers {
			ok += to.Probes["ok"]
		}
		for _, r := range st.RTTs {
			counted += r.Count
		}
		if counted != ok {
			t.Errorf("%s: %d round trips of %d probes", h, counted, ok)
		}
		p.Status[h] = st
	}
	if err := tw.Net.Check(); err != nil {
		t.Error(err)
	}
	return p
}

// each calls see for every pair of hosts.
func each(p *show.Pingmesh, see func(from string, peer *nicd.PeerStatus)) {
	for _, from := range p.Hosts {
		for i := range p.Status[from].Peers {
			see(from, &p.Status[from].Peers[i])
		}
	}
}

// crosses reports whether a pair is on different switches.
func crosses(from, to string) bool { return (from <= "h2") != (to <= "h2") }

// In a network at rest the round trip time is what links and rates come to: a probe of 512 bytes is
// a frame of 578, 602 with preamble and gap, and crosses two or three links, there and back.
func TestPingmesh(t *testing.T) {
	const near, far = 4482, 4482 + 2*(1000+482) // ns
	each(mesh(t, "", nil), func(from string, p *nicd.PeerStatus) {
		want := int64(near)
		if crosses(from, p.Peer) {
			want = far
		}
		if p.Last != "ok" || p.Probes["ok"] < 190 || p.Probes["timeout"] != 0 ||
			p.RTT.MaxNs < want-4 || p.RTT.MaxNs > want+4 || p.RTT.MeanNs < want-4 {
			t.Errorf("%s to %s: %+v, want %d ns", from, p.Peer, p, want)
		}
	})
}

// A broken link shows its error code for exactly the pairs that cross it. Where it is a host's own,
// that host knows better than to wait.
func TestPingmeshFindsTheBrokenLink(t *testing.T) {
	for _, c := range []struct {
		port string
		want func(from, to string) string
	}{
		{"sw0:swp9", func(from, to string) string {
			if crosses(from, to) {
				return "timeout"
			}
			return "ok"
		}},
		{"h3:eth0", func(from, to string) string {
			switch "h3" {
			case from:
				return "link_down"
			case to:
				return "timeout"
			}
			return "ok"
		}},
	} {
		p := mesh(t, `faults: [{at: 10ms, port: "`+c.port+`", fault: "down"}]`, nil)
		each(p, func(from string, peer *nicd.PeerStatus) {
			want := c.want(from, peer.Peer)
			if peer.Last != want || want != "ok" && peer.Probes[want] < 90 ||
				peer.Probes["ok"] < 90 {
				t.Errorf("%s is down: %s to %s: %+v, want %s", c.port, from, peer.Peer, peer, want)
			}
		})
		golden(t, "testdata/pingmesh_"+strings.ReplaceAll(c.port, ":", "_")+".txt", p)
	}
}

// Congestion shows in the 99th percentile of the pairs that cross it, and of no other.
func TestPingmeshShowsCongestion(t *testing.T) {
	idle := map[bool]int64{false: 4482, true: 4482 + 2*(1000+482)}
	p := mesh(t, "", func(c clos) {
		c.stream("h1", "h3")
		c.stream("h2", "h4")
	})
	each(p, func(from string, peer *nicd.PeerStatus) {
		// At first the senders have the line's rate, and the queue is longer than the timeout.
		if peer.Last != "ok" || peer.Probes["ok"] < 130 {
			t.Errorf("%s to %s: %+v", from, peer.Peer, peer)
		}
		rest := idle[crosses(from, peer.Peer)]
		if crosses(from, peer.Peer) {
			if peer.RTT.P99Ns < 3*rest {
				t.Errorf("%s to %s: %+v, %d ns at rest", from, peer.Peer, peer.RTT, rest)
			}
		} else if peer.RTT.P99Ns > 2*rest {
			t.Errorf("%s to %s: %+v, %d ns at rest", from, peer.Peer, peer.RTT, rest)
		}
	})
	golden(t, "testdata/pingmesh_congestion.txt", p)
}

// golden compares the matrix with a file.
func golden(t *testing.T, file string, p *show.Pingmesh) {
	t.Helper()
	var b bytes.Buffer
	if err := p.Text(&b); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s differs; got:\n%s", file, b.String())
	}
}
