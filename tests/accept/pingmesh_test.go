package accept

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/deploy/show"
	"github.com/rocelab/rocelab/nicd"
)

// meshAnswer is what `show pingmesh --json` prints.
type meshAnswer struct {
	SchemaVersion int    `json:"schema_version"`
	Command       string `json:"command"`
	Hosts         []struct {
		Host string `json:"host"`
		nicd.PingmeshStatus
	} `json:"hosts"`
}

// codes is the latest code of each pair, with the number of its probes, once every pair has some.
func (m *meshAnswer) codes(least uint64) (codes map[string]string, enough bool) {
	codes = map[string]string{}
	enough = true
	for _, h := range m.Hosts {
		for _, p := range h.Peers {
			codes[h.Host+" "+p.Peer] = p.Last
			enough = enough && p.Probes[p.Last] >= least
		}
	}
	return codes, enough
}

// mesh asks for the pingmesh of a lab until every pair's latest code has been seen so often and the
// codes are as wanted.
func mesh(t *testing.T, lab string, least uint64, want func(from, to string) string) meshAnswer {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(limit)
	defer late.Stop()
	for {
		var m meshAnswer
		ok(t, &m, "show", "pingmesh", "--json", "--lab", lab)
		codes, enough := m.codes(least)
		for pair, code := range codes {
			from, to, _ := strings.Cut(pair, " ")
			enough = enough && code == want(from, to)
		}
		if enough && len(codes) == 12 {
			return m
		}
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("not within %v: %v", limit, codes)
		}
	}
}

// The pingmesh on real frames: the same round trips as in virtual time, to the nanosecond, and a
// link that is down is seen by exactly the pairs that cross it.
func TestPingmesh(t *testing.T) {
	lab, _ := upStarWith(t, "\npingmesh: {interval: 200us}\n")
	healthy := func(string, string) string { return "ok" }
	m := mesh(t, lab, 10, healthy)
	if m.SchemaVersion != show.SchemaVersion || m.Command != "show pingmesh" {
		t.Errorf("%+v", m)
	}
	for _, h := range m.Hosts {
		for _, p := range h.Peers {
			// 602 bytes with preamble and gap at 40 Gb/s and 1 us, on four links.
			if p.RTT.MaxNs < 4480 || p.RTT.MaxNs > 4486 {
				t.Errorf("%s to %s: %+v", h.Host, p.Peer, p.RTT)
			}
		}
	}
	text := ok(t, nil, "show", "pingmesh", "--lab", lab)
	if strings.Count(text, "4.48") != 12 || strings.Count(text, "\n") != 6 {
		t.Errorf("show pingmesh prints\n%s", text)
	}
	ok(t, nil, "fault", "add", "h2:eth0", "down", "--lab", lab)
	mesh(t, lab, 3, func(from, to string) string {
		switch "h2" {
		case from:
			return "link_down"
		case to:
			return "timeout"
		}
		return "ok"
	})
	ok(t, nil, "fault", "clear", "--lab", lab)
	mesh(t, lab, 13, healthy)
}

// Both kinds of storms at a NIC's port on real frames: a receive pipeline that stops, which the
// NIC's own watchdog ends, with an event and mlx5's counter, until an operator enables pauses;
// and the fault, which is in the port, so that only the switch's watchdog sees it.
func TestStormsOfANIC(t *testing.T) {
	lab, _ := upStarWith(t, `
nic:
  receive: {buffer: 256KB, lossy_buffer: 128KB, xoff: 8KB, xon: 4KB, watchdog: 1ms}
switch:
  pfc_wd: {preset: sigcomm16, detection_time: 1ms, poll_interval: 100us, restoration_time: 1ms}
`)
	stream := func(from, to string) {
		t.Helper()
		open := nicd.OpenRequest{Bytes: 64 << 10}
		var a, b nicd.Endpoint
		node(t, lab, from, http.MethodPost, "/v1/open", open, &a)
		node(t, lab, to, http.MethodPost, "/v1/open", open, &b)
		join := "/v1/join"
		node(t, lab, from, http.MethodPost, join, nicd.JoinRequest{QPN: a.QPN, Peer: b}, nil)
		node(t, lab, to, http.MethodPost, join, nicd.JoinRequest{QPN: b.QPN, Peer: a}, nil)
		node(t, lab, from, http.MethodPost, "/v1/flow", nicd.FlowRequest{Name: from + " > " + to,
			QPN: a.QPN, Verb: "write", MessageBytes: 64 << 10, Depth: 8}, nil)
	}
	node(t, lab, "h1", http.MethodPost, "/v1/receive", nicd.ReceiveRequest{Stopped: true}, nil)
	stream("h2", "h1")
	until(t, lab, "the NIC's watchdog acts", func(st *nicd.Status) bool {
		return st.Counters["tx_pause_storm_error_events"] == 1
	})
	events := ok(t, nil, "events", "--lab", lab)
	if !strings.Contains(events, "pause_storm_warning") ||
		!strings.Contains(events, "pause_storm ") {
		t.Errorf("events:\n%s", events)
	}
	ok(t, nil, "nic", "restore-pause", "h1", "--lab", lab)
	until(t, lab, "a pipeline that still stands brings it back", func(st *nicd.Status) bool {
		return st.Counters["tx_pause_storm_error_events"] == 2
	})

	ok(t, nil, "fault", "add", "h3:eth0", "storm", "3", "--lab", lab)
	stream("h4", "h3")
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); !strings.Contains(ok(t, nil, "show", "pfcwd", "stats", "--lab", lab),
		"stormed"); <-tick.C {
		if time.Since(began) > limit {
			t.Fatal("the switch's watchdog does not find the storm")
		}
	}
	var st nicd.Status
	node(t, lab, "h3", http.MethodGet, "/v1/status", nil, &st)
	if n := st.Counters["tx_pause_storm_error_events"]; n != 0 {
		t.Errorf("the NIC's own watchdog has %d storms of a port that it does not see", n)
	}
}
