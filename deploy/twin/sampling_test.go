package twin

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
)

// bench is a star of hosts in virtual time, and control calls that must succeed.
type bench struct {
	*Twin
	t *testing.T
}

func newStar(t *testing.T, hosts int, change func(*lab.Topology)) bench {
	t.Helper()
	top := lab.Star("star", hosts, 40*unit.GbPerSecond, time.Microsecond)
	if change != nil {
		change(&top)
	}
	tw, err := New(&top)
	if err != nil {
		t.Fatal(err)
	}
	return bench{tw, t}
}

func (b bench) post(node, path string, req, resp any) {
	b.t.Helper()
	if err := b.Client(node).Call(b.t.Context(), http.MethodPost, path, req, resp); err != nil {
		b.t.Fatal(err)
	}
}

func (b bench) get(node, path string, resp any) {
	b.t.Helper()
	if err := b.Client(node).Call(b.t.Context(), http.MethodGet, path, nil, resp); err != nil {
		b.t.Fatal(err)
	}
}

// connect joins a QP of one host with one of another, each with a region of so many bytes.
func (b bench) connect(from, to string, bytes int) (here, there nicd.Endpoint) {
	b.t.Helper()
	open := nicd.OpenRequest{Bytes: bytes}
	b.post(from, "/v1/open", open, &here)
	b.post(to, "/v1/open", open, &there)
	b.post(from, "/v1/join", nicd.JoinRequest{QPN: here.QPN, Peer: there}, nil)
	b.post(to, "/v1/join", nicd.JoinRequest{QPN: there.QPN, Peer: here}, nil)
	return here, there
}

// last is the latest sample of a column.
func (b bench) last(s *daemon.Samples, column string) float64 {
	b.t.Helper()
	values, ok := s.Column(column)
	if !ok || len(values) == 0 {
		b.t.Fatalf("no samples of %s among %v", column, s.Columns)
	}
	return values[len(values)-1]
}

// TestSamplesOfManyQueues: two hosts write 4 packets each to a third. Its queue carries 8 packets
// of 1,106 bytes on the line, two with 16 bytes of RETH more. A queue sampled by itself shows the
// same as one of several.
func TestSamplesOfManyQueues(t *testing.T) {
	b := newStar(t, 3, nil)
	for _, from := range []string{"h1", "h2"} {
		here, _ := b.connect(from, "h3", 4096)
		b.post(from, "/v1/flow", nicd.FlowRequest{Name: from, QPN: here.QPN, Verb: "write",
			Depth: 1, MessageBytes: 4096, Messages: 1}, nil)
	}
	queue, idle := switchd.QueueRef{Port: "swp3", Queue: 3},
		switchd.QueueRef{Port: "swp1", Queue: 5}
	sample := daemon.SampleRequest{IntervalNs: 100, Count: 100}
	b.post("sw0", "/v1/sample", switchd.SampleRequest{SampleRequest: sample, Port: "swp3",
		Queue: 3, Queues: []switchd.QueueRef{queue, idle}}, nil)
	b.Run(unit.Time(20 * time.Microsecond))
	var got daemon.Samples
	b.get("sw0", "/v1/sample", &got)
	const line = 8*1106 + 2*16
	if sent := b.last(&got, queue.Column(switchd.ColumnSentLineBytes)); sent != line {
		t.Errorf("%v bytes on the line, want %d", sent, line)
	}
	for _, name := range []string{switchd.ColumnQueueBytes, switchd.ColumnSentLineBytes,
		switchd.ColumnECNMarked} {
		one, ok := got.Column(name)
		same, found := got.Column(queue.Column(name))
		if !ok || !found || !slices.Equal(one, same) {
			t.Errorf("%s: %v, and among others %v", name, one, same)
		}
	}
	for _, name := range []string{switchd.ColumnPFCReceived, switchd.ColumnDropped,
		queue.Column(switchd.ColumnDropped), idle.Column(switchd.ColumnSentLineBytes)} {
		if n := b.last(&got, name); n != 0 {
			t.Errorf("%s %v, want none", name, n)
		}
	}
	var end switchd.Sampled
	b.get("sw0", "/v1/sampled", &end)
	if len(end.Queues) != 2 || end.Queues[0].MaxBytes != end.Queue.MaxBytes ||
		end.Queues[1].MaxBytes != 0 {
		t.Fatalf("%+v and %+v", end.Queue, end.Queues)
	}
	q := end.Queue.Quantiles
	if len(q) != 21 || !slices.IsSorted(q) || q[0] != 0 || q[20] != end.Queue.MaxBytes ||
		q[10] != end.Queue.P50Bytes || q[18] != end.Queue.P90Bytes || q[19] != end.Queue.P95Bytes ||
		end.Queue.MaxBytes == 0 {
		t.Errorf("distribution %+v", end.Queue)
	}
}

// TestSampleRefuses: queues that are not there.
func TestSampleRefuses(t *testing.T) {
	b := newStar(t, 2, nil)
	sample := daemon.SampleRequest{IntervalNs: 100, Count: 1}
	for name, r := range map[string]switchd.SampleRequest{
		"unknown port": {SampleRequest: sample, Queues: []switchd.QueueRef{{Port: "swp9"}}},
		"unknown queue": {SampleRequest: sample, Queues: []switchd.QueueRef{{Port: "swp1",
			Queue: 8}}},
	} {
		if err := b.Client("sw0").Call(t.Context(), http.MethodPost, "/v1/sample", r,
			nil); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	b.post("sw0", "/v1/sample", switchd.SampleRequest{SampleRequest: sample,
		Queues: []switchd.QueueRef{{Port: "swp1", Queue: 3}}}, nil)
}
