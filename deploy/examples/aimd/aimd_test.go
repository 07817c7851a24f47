package aimd

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/twin"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/roce/cc"
)

const us = unit.Time(time.Microsecond)

// By hand: 10 Gb/s, halved by a CNP; 100 Mb/s more 55 us later and 110 us later.
func TestReaction(t *testing.T) {
	r := newParams("textbook").New(cc.Setup{Line: 10 * unit.GbPerSecond})
	want := func(rate unit.Rate, next unit.Time) {
		t.Helper()
		if r.Limit().Rate != rate || r.NextWake() != next {
			t.Errorf("%v, next %v; want %v, %v", r.Limit().Rate, r.NextWake(), rate, next)
		}
	}
	want(10*unit.GbPerSecond, unit.Never)
	r.CNP(0, cc.CNP{})
	want(5*unit.GbPerSecond, 55*us)
	r.Wake(120 * us)
	want(5200*unit.MbPerSecond, 165*us)
	for range 20 {
		r.CNP(121*us, cc.CNP{})
	}
	want(10*unit.MbPerSecond, 176*us)
	r.Wake(unit.Time(time.Second))
	want(10*unit.GbPerSecond, unit.Never)
}

// The lab of an incast of two with aimd, as a program of one's own makes it. The same by commands:
// lab.yaml and incast.yaml.
const (
	message  = 1 << 20
	interval = 20 * time.Microsecond
	samples  = 100
)

func topology() lab.Topology {
	top := lab.Star("aimd", 3, 10*unit.GbPerSecond, time.Microsecond)
	top.NIC.CC = nicd.CCConfig{Algorithm: "aimd", Preset: "textbook",
		Params: map[string]any{"interval": "30us"}}
	return top
}

// begin makes both flows and has all hosts record what happens.
func begin(t *testing.T, client func(node string) daemon.Caller) {
	t.Helper()
	post := func(node, path string, req, resp any) {
		t.Helper()
		if err := client(node).Call(t.Context(), http.MethodPost, path, req, resp); err != nil {
			t.Fatal(err)
		}
	}
	for _, host := range []string{"h1", "h2"} {
		var a, b nicd.Endpoint
		post(host, "/v1/open", nicd.OpenRequest{Bytes: message}, &a)
		post("h3", "/v1/open", nicd.OpenRequest{Bytes: message}, &b)
		post(host, "/v1/join", nicd.JoinRequest{QPN: a.QPN, Peer: b}, nil)
		post("h3", "/v1/join", nicd.JoinRequest{QPN: b.QPN, Peer: a}, nil)
		post(host, "/v1/flow", nicd.FlowRequest{Name: "f", QPN: a.QPN, Verb: "write", Depth: 4,
			MessageBytes: message}, nil)
	}
	for _, host := range []string{"h1", "h2", "h3"} {
		post(host, "/v1/sample", daemon.SampleRequest{IntervalNs: interval.Nanoseconds(),
			Count: samples}, nil)
	}
}

// recorded is what a host sampled.
func recorded(ctx context.Context, client daemon.Caller) (s daemon.Samples, err error) {
	err = client.Call(ctx, http.MethodGet, "/v1/sample", nil, &s)
	return s, err
}

// In virtual time CNPs hold both flows to half of the link at most, and to the same.
func TestVirtualTime(t *testing.T) {
	top := topology()
	tw, err := twin.New(&top)
	if err != nil {
		t.Fatal(err)
	}
	begin(t, tw.Client)
	tw.Run(unit.Time(interval * (samples + 1)))
	var means [2]float64
	for i, host := range []string{"h1", "h2"} {
		s, err := recorded(t.Context(), tw.Client(host))
		if err != nil {
			t.Fatal(err)
		}
		rates, ok := s.Column(nicd.ColumnRate + "f")
		if !ok || len(rates) != samples {
			t.Fatalf("%v: %d samples", s.Columns, len(rates))
		}
		for _, r := range rates[samples/2:] {
			means[i] += r / (samples / 2)
		}
	}
	a, b := means[0], means[1]
	if a > 5.5e9 || b > 5.5e9 || a < 0.9*b || b < 0.9*a {
		t.Errorf("%.3g and %.3g b/s at the end", a, b)
	}
	if err := tw.Net.Check(); err != nil {
		t.Error(err)
	}
}
