package twin_test

import (
	"fmt"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/twin"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
)

// seen is everything that nodes tell of a run.
type seen struct {
	samples map[string]daemon.Samples
	sw      switchd.Sampled
	hosts   map[string]nicd.State
}

// incastOf runs four WRITE flows and one READ flow into a host of a star.
func incastOf(t *testing.T, payload nicd.Payload) seen {
	t.Helper()
	top := lab.Star("incast", 5, 40*unit.GbPerSecond, time.Microsecond)
	tw, err := twin.New(&top)
	if err != nil {
		t.Fatal(err)
	}
	c := clos{tw, t}
	open := nicd.OpenRequest{Bytes: 256 << 10, Payload: payload}
	flow := func(from, to, verb string) {
		var a, b nicd.Endpoint
		c.call(http.MethodPost, from, "/v1/open", open, &a)
		c.call(http.MethodPost, to, "/v1/open", open, &b)
		c.call(http.MethodPost, from, "/v1/join", nicd.JoinRequest{QPN: a.QPN, Peer: b}, nil)
		c.call(http.MethodPost, to, "/v1/join", nicd.JoinRequest{QPN: b.QPN, Peer: a}, nil)
		c.call(http.MethodPost, from, "/v1/flow", nicd.FlowRequest{Name: verb + from, QPN: a.QPN,
			Verb: verb, MessageBytes: 200_001, Depth: 4}, nil)
	}
	for i := 1; i <= 4; i++ {
		flow(fmt.Sprint("h", i), "h5", "write")
	}
	flow("h5", "h4", "read")
	flow("h1", "h5", "send") // nobody has posted a receive: it ends with an error
	once := daemon.SampleRequest{IntervalNs: 10_000, Count: 400}
	c.call(http.MethodPost, "sw0", "/v1/sample",
		switchd.SampleRequest{Port: "swp5", Queue: 3, SampleRequest: once}, nil)
	for i := 1; i <= 5; i++ {
		c.call(http.MethodPost, fmt.Sprint("h", i), "/v1/sample", once, nil)
	}
	c.Run(unit.Time(4 * time.Millisecond))
	out := seen{samples: map[string]daemon.Samples{}, hosts: map[string]nicd.State{}}
	for _, n := range top.Nodes {
		var s daemon.Samples
		c.call(http.MethodGet, n.Name, "/v1/sample", nil, &s)
		out.samples[n.Name] = s
		if n.Kind == lab.Host {
			var st nicd.State
			c.call(http.MethodGet, n.Name, "/v1/sampled", nil, &st)
			out.hosts[n.Name] = st
		}
	}
	c.call(http.MethodGet, "sw0", "/v1/sampled", nil, &out.sw)
	return out
}

// Virtual payload gives every sample and every counter of real payload.
func TestVirtualPayload(t *testing.T) {
	want, got := incastOf(t, nicd.Real), incastOf(t, nicd.Virtual)
	for node, s := range want.samples {
		if !reflect.DeepEqual(got.samples[node], s) {
			t.Errorf("%s: other samples", node)
		}
	}
	if !reflect.DeepEqual(got.sw, want.sw) {
		t.Errorf("the switch counted %+v, with real payload %+v", got.sw, want.sw)
	}
	for node, st := range want.hosts {
		if !reflect.DeepEqual(got.hosts[node], st) {
			t.Errorf("%s counted %+v, with real payload %+v", node, got.hosts[node], st)
		}
	}
	if acked := want.hosts["h2"].Flows[0].AckedBytes; acked < 500_000 {
		t.Errorf("%d bytes of a flow: the scenario shows little", acked)
	}
	if read := want.samples["h5"]; len(read.TimeNs) != 400 {
		t.Errorf("%d samples", len(read.TimeNs))
	}
}

// Atomics work on bytes, of which virtual payload has none.
func TestVirtualPayloadRefusesAtomics(t *testing.T) {
	top := lab.Star("atomics", 2, 40*unit.GbPerSecond, time.Microsecond)
	tw, err := twin.New(&top)
	if err != nil {
		t.Fatal(err)
	}
	var e nicd.Endpoint
	h1 := tw.Client("h1")
	if err := h1.Call(t.Context(), http.MethodPost, "/v1/open",
		nicd.OpenRequest{Bytes: 8, Payload: nicd.Virtual}, &e); err != nil {
		t.Fatal(err)
	}
	err = h1.Call(t.Context(), http.MethodPost, "/v1/flow",
		nicd.FlowRequest{QPN: e.QPN, Verb: "fetch_add", MessageBytes: 8, Depth: 1}, nil)
	const want = `h1: POST /v1/flow: verb "fetch_add": needs a region whose payload is real`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	err = h1.Call(t.Context(), http.MethodPost, "/v1/open",
		map[string]any{"bytes": 8, "payload": "none"}, &e)
	if err == nil {
		t.Error("payload none is accepted")
	}
}
