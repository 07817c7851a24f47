package twin

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
)

// search is a distribution of message sizes: many short, few long.
var search = []nicd.SizePoint{{Bytes: 64, P: 0}, {Bytes: 1000, P: 0.6}, {Bytes: 60_000, P: 1}}

// drawn runs an open loop of two senders into one host and returns all that can be seen of it.
func drawn(t *testing.T) (list [2][]nicd.Message, ends [2]nicd.State, series [2]daemon.Samples) {
	t.Helper()
	b := newStar(t, 3, func(top *lab.Topology) { top.NIC.CC.Algorithm = "dctcp" })
	names := [2]string{"h1", "h2"}
	for i, from := range names {
		here, _ := b.connect(from, "h3", 60_000)
		b.post(from, "/v1/flow", nicd.FlowRequest{Name: "web", QPN: here.QPN, Verb: "write",
			Depth: 4, Sizes: search, Seed: uint64(i), IntervalNs: 8000, Arrivals: "poisson",
			StopNs: 1_500_000, Log: 1000}, nil)
		b.post(from, "/v1/sample", daemon.SampleRequest{IntervalNs: 100_000, Count: 20}, nil)
	}
	b.Run(unit.Time(2 * time.Millisecond))
	for i, from := range names {
		b.get(from, "/v1/messages?flow=web", &list[i])
		b.get(from, "/v1/sampled", &ends[i])
		b.get(from, "/v1/sample", &series[i])
	}
	if err := b.Net.Check(); err != nil {
		t.Error(err)
	}
	return list, ends, series
}

// TestOpenLoop: what the status, the log and the samples of a flow say is the same, and says the
// same when it is run again.
func TestOpenLoop(t *testing.T) {
	list, ends, series := drawn(t)
	for i := range list {
		f, log := &ends[i].Flows[0], list[i]
		var bytes uint64
		var sum, longest int64
		for _, m := range log {
			took := m.CompletedNs - m.ArrivedNs
			if m.PostedNs < m.ArrivedNs || m.CompletedNs < m.PostedNs || m.Bytes < 64 {
				t.Fatalf("%+v", m)
			}
			bytes, sum, longest = bytes+uint64(m.Bytes), sum+took, max(longest, took)
		}
		n := uint64(len(log))
		last := &log[len(log)-1]
		if n < 100 || f.Messages != n || f.Posted != n || f.MCT.Count != n || f.Missed != 0 ||
			f.AckedBytes != bytes || f.MCT.MaxNs != longest || f.MCT.MeanNs != sum/int64(n) ||
			f.LastNs != last.CompletedNs || f.FirstNs != log[0].PostedNs {
			t.Errorf("%d messages of %d bytes in all, mean %d, longest %d: %+v", n, bytes,
				sum/int64(n), longest, f)
		}
		acked, _ := series[i].Column(nicd.ColumnAcked + "web")
		window, _ := series[i].Column(nicd.ColumnWindow + "web")
		if len(acked) != 20 || acked[19] != float64(bytes) || len(window) != 20 || window[0] <= 0 {
			t.Errorf("acknowledged %v, window %v", acked, window)
		}
	}
	if reflect.DeepEqual(list[0], list[1]) {
		t.Error("two seeds, the same messages")
	}
	again, endsAgain, seriesAgain := drawn(t)
	if !reflect.DeepEqual(list, again) || !reflect.DeepEqual(ends, endsAgain) ||
		!reflect.DeepEqual(series, seriesAgain) {
		t.Error("the second run differs")
	}
}

// TestSampleWithoutFlows: the columns of single flows and QPs are left out if they are not wanted,
// and there is none of a window with an algorithm that has none.
func TestSampleWithoutFlows(t *testing.T) {
	b := newStar(t, 2, nil)
	here, there := b.connect("h1", "h2", 1000)
	b.post("h1", "/v1/flow", nicd.FlowRequest{Name: "f", QPN: here.QPN, Verb: "write", Depth: 1,
		MessageBytes: 1000, Messages: 1}, nil)
	b.post("h2", "/v1/flow", nicd.FlowRequest{Name: "f", QPN: there.QPN, Verb: "write", Depth: 1,
		MessageBytes: 1000, Messages: 1}, nil)
	once := daemon.SampleRequest{IntervalNs: 1000, Count: 1}
	no := false
	b.post("h1", "/v1/sample", nicd.SampleRequest{SampleRequest: once, Flows: &no}, nil)
	b.post("h2", "/v1/sample", nicd.SampleRequest{SampleRequest: once}, nil)
	for node, want := range map[string]string{"h1": "paused_ns cnps_sent",
		"h2": "paused_ns cnps_sent rate:f acked:f placed:17"} {
		var s daemon.Samples
		b.get(node, "/v1/sample", &s)
		if got := strings.Join(s.Columns, " "); got != want {
			t.Errorf("%s: %s, want %s", node, got, want)
		}
	}
}

// TestDSCPOfAFlow: a QP with the codepoint of another class is in the queue of that class, by its
// creation or by its connection.
func TestDSCPOfAFlow(t *testing.T) {
	const dscp, queue = 46, 5
	for name, ask := range map[string]struct {
		open nicd.OpenRequest
		join nicd.JoinRequest
	}{"open": {open: nicd.OpenRequest{DSCP: new(uint8)}},
		"join": {join: nicd.JoinRequest{DSCP: new(uint8)}}} {
		b := newStar(t, 2, func(top *lab.Topology) {
			top.Switch.DSCPToTC[dscp], top.NIC.DSCPToTCMap[dscp] = queue, queue
		})
		for _, p := range []*uint8{ask.open.DSCP, ask.join.DSCP} {
			if p != nil {
				*p = dscp
			}
		}
		var here, there nicd.Endpoint
		ask.open.Bytes = 1000
		b.post("h1", "/v1/open", ask.open, &here)
		b.post("h2", "/v1/open", nicd.OpenRequest{Bytes: 1000}, &there)
		ask.join.QPN, ask.join.Peer = here.QPN, there
		b.post("h1", "/v1/join", ask.join, nil)
		b.post("h2", "/v1/join", nicd.JoinRequest{QPN: there.QPN, Peer: here}, nil)
		b.post("h1", "/v1/flow", nicd.FlowRequest{Name: "f", QPN: here.QPN, Verb: "send", Depth: 1,
			MessageBytes: 1000, Messages: 3}, nil)
		ref := switchd.QueueRef{Port: "swp2", Queue: queue}
		b.post("sw0", "/v1/sample", switchd.SampleRequest{SampleRequest: daemon.SampleRequest{
			IntervalNs: 50_000, Count: 1}, Queues: []switchd.QueueRef{ref}}, nil)
		b.Run(50_000)
		var s daemon.Samples
		b.get("sw0", "/v1/sample", &s)
		sent := b.last(&s, ref.Column(switchd.ColumnSentLineBytes))
		if sent != 3*1082 {
			t.Errorf("%s: %v bytes in queue %d, want 3 packets of 1,082", name, sent, queue)
		}
	}
}

// TestFlowRefuses: what a flow cannot be is said.
func TestFlowRefuses(t *testing.T) {
	b := newStar(t, 2, nil)
	here, _ := b.connect("h1", "h2", 1000)
	for want, change := range map[string]func(*nicd.FlowRequest){
		`arrivals "now"`: func(r *nicd.FlowRequest) { r.Arrivals = "now" },
		"neither":        func(r *nicd.FlowRequest) { r.Arrivals = "poisson" },
		"lead":           func(r *nicd.FlowRequest) { r.Lead = -1 },
		"region":         func(r *nicd.FlowRequest) { r.Sizes = search },
		"sizes":          func(r *nicd.FlowRequest) { r.Sizes = search[:2] },
		"after":          func(r *nicd.FlowRequest) { r.After = 99 },
	} {
		r := nicd.FlowRequest{Name: "f", QPN: here.QPN, Verb: "write", Depth: 1, MessageBytes: 1}
		change(&r)
		err := b.Client("h1").Call(t.Context(), http.MethodPost, "/v1/flow", r, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	err := b.Client("h1").Call(t.Context(), http.MethodGet, "/v1/messages?flow=g", nil, nil)
	if err == nil || !strings.Contains(err.Error(), `no flow "g"`) {
		t.Errorf("messages of no flow: %v", err)
	}
}
