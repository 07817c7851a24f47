package twin_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/twin"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
)

// stormLab is three hosts on a switch. h3 has a receive side that may stop; nothing times out
// within the test, so that only pauses decide who sends.
const stormLab = `
name: storm
nodes:
  - {name: sw0, kind: switch}
  - {name: h1, kind: host, ipv4: 10.0.0.1/24}
  - {name: h2, kind: host, ipv4: 10.0.0.2/24}
  - {name: h3, kind: host, ipv4: 10.0.0.3/24}
links:
  - {endpoints: ["h1:eth0", "sw0:swp1"], rate: 1Gb/s, delay: 1us}
  - {endpoints: ["h2:eth0", "sw0:swp2"], rate: 1Gb/s, delay: 1us}
  - {endpoints: ["h3:eth0", "sw0:swp3"], rate: 1Gb/s, delay: 1us}
nic:
  cc: {algorithm: none}
  qp: {timeout: 22, max_outstanding: 512}
  receive: {buffer: 64KB, lossy_buffer: 64KB, xoff: 32KB, xon: 16KB%s}
switch: {buffer_pool: {size: 600KB}%s}
`

// storms are the ways to meet the storm, and what must come of it: the goodput of a flow that
// has nothing to do with h3, in percent of half the link, before the watchdogs can have acted and
// after; and the storms that NIC and switch found.
var storms = []struct {
	name, nic, sw     string
	early, late       int
	nicSaw            uint64
	detected, enabled uint64
}{
	{"no watchdog", "", "", 0, 0, 0, 0, 0},
	{"NIC", ", watchdog: 100ms", "", 0, 200, 1, 0, 0},
	{"switch", "", ", pfc_wd: {preset: sigcomm16}", 0, 200, 0, 1, 0},
	{"both", ", watchdog: 150ms", ", pfc_wd: {preset: sigcomm16}", 0, 200, 1, 1, 1},
}

// [RDMA at scale] 4.3: a NIC whose receive pipeline stops pauses its switch all the time, and with
// the switch everybody who sends through it. One watchdog is enough to end that, at the NIC or at
// the switch. With both, here with the switch's the faster, the NIC's silence lets the switch
// enable lossless mode again after 200 ms; what the switch then lets through is lost at the NIC,
// and the NIC's own pauses are not enabled again.
func TestBothWatchdogs(t *testing.T) {
	const stop, early, late, end = 20, 100, 200, 600 // ms
	for _, c := range storms {
		t.Run(c.name, func(t *testing.T) {
			top := lab.Default()
			text := fmt.Sprintf(stormLab, c.nic, c.sw)
			if err := daemon.Decode("storm", []byte(text), &top); err != nil {
				t.Fatal(err)
			}
			tw, err := twin.New(&top)
			if err != nil {
				t.Fatal(err)
			}
			lab := clos{tw, t}
			lab.stream("h1", "h3")
			victim := lab.stream("h1", "h2")
			sample := daemon.SampleRequest{IntervalNs: time.Millisecond.Nanoseconds(), Count: end}
			lab.call(http.MethodPost, "h2", "/v1/sample", sample, nil)
			lab.call(http.MethodPost, "h3", "/v1/sample", sample, nil)
			lab.call(http.MethodPost, "h3", "/v1/receive", nicd.ReceiveRequest{Stopped: true,
				AtNs: (stop * time.Millisecond).Nanoseconds()}, nil)
			lab.Run((end + 1) * unit.Time(time.Millisecond))

			at := lab.column("h2", fmt.Sprint(nicd.ColumnPlaced, uint32(victim.QPN)))
			percent := func(from, to int) int { // of half the link
				const half = 1e9 / 8 / 2 / 1000 // bytes a millisecond
				return int(100*(at[to-1]-at[from-1])/half) / (to - from)
			}
			if got := percent(1, stop); got < 90 || got > 110 {
				t.Errorf("the flow has %d %% of its share before the storm", got)
			}
			// It takes some milliseconds until the switch's buffer is full.
			if got := percent(stop+20, early); got > c.early+1 {
				t.Errorf("the flow has %d %% of its share in the storm", got)
			}
			if got := percent(late, end); got < c.late*9/10 || got > c.late*11/10 {
				t.Errorf("the flow has %d %% of its share after it, want %d", got, c.late)
			}
			var h3 nicd.State
			lab.call(http.MethodGet, "h3", "/v1/sampled", nil, &h3)
			var sw switchd.State
			lab.call(http.MethodGet, "sw0", "/v1/state", nil, &sw)
			if n := h3.Counters["tx_pause_storm_error_events"]; n != c.nicSaw {
				t.Errorf("the NIC found %d storms, want %d", n, c.nicSaw)
			}
			w := sw.Ports[2].Watchdog.Priorities[3]
			if w.Detected != c.detected || w.Restored != c.enabled {
				t.Errorf("the switch found %d storms and saw the end of %d, want %d and %d",
					w.Detected, w.Restored, c.detected, c.enabled)
			}
			checkTimes(lab, w, stop*time.Millisecond, h3.Counters["tx_pause_storm_error_events"])
			if err := tw.Net.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// checkTimes checks when the storms were found that were found: not before their detection time,
// which is no less than 100 ms here, and within twice of it, and restored 200 ms later.
func checkTimes(lab clos, w switchd.WatchedState, stop time.Duration, nicSaw uint64) {
	lab.t.Helper()
	var rx nicd.ReceiveStatus
	lab.call(http.MethodGet, "h3", "/v1/receive", nil, &rx)
	found := func(what string, times uint64, at int64, after time.Duration) {
		lab.t.Helper()
		late := time.Duration(at) - after
		if (at != 0) != (times > 0) || at != 0 && (late < 0 || late > after) {
			lab.t.Errorf("%s %d times, the latest at %v", what, times, time.Duration(at))
		}
	}
	found("the NIC found a storm", nicSaw, rx.PauseDisabledAtNs, stop+100*time.Millisecond)
	found("the switch found a storm", w.Detected, w.DetectedAtNs, stop+100*time.Millisecond)
	found("the switch saw its end", w.Restored, w.RestoredAtNs,
		time.Duration(w.DetectedAtNs)+200*time.Millisecond)
}

// stream connects two hosts, of which one writes to the other as fast as it may.
func (c clos) stream(from, to string) (sink nicd.Endpoint) {
	c.t.Helper()
	var a nicd.Endpoint
	open := nicd.OpenRequest{Bytes: 64 << 10}
	c.call(http.MethodPost, from, "/v1/open", open, &a)
	c.call(http.MethodPost, to, "/v1/open", open, &sink)
	c.call(http.MethodPost, from, "/v1/join", nicd.JoinRequest{QPN: a.QPN, Peer: sink}, nil)
	c.call(http.MethodPost, to, "/v1/join", nicd.JoinRequest{QPN: sink.QPN, Peer: a}, nil)
	c.call(http.MethodPost, from, "/v1/flow", nicd.FlowRequest{Name: from + " > " + to, QPN: a.QPN,
		Verb: "write", MessageBytes: 64 << 10, Depth: 128}, nil)
	return sink
}

// column is all values of a column of a node's samples.
func (c clos) column(node, name string) []float64 {
	c.t.Helper()
	var s daemon.Samples
	c.call(http.MethodGet, node, "/v1/sample", nil, &s)
	for i, column := range s.Columns {
		if strings.EqualFold(column, name) {
			return s.Values[i]
		}
	}
	c.t.Fatalf("%s has no column %s in %v", node, name, s.Columns)
	return nil
}
