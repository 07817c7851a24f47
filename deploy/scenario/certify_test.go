package scenario

import (
	"math"
	"slices"
	"testing"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/nicd"
)

func TestDifferences(t *testing.T) {
	if got := Differences([]float64{3, 3, 10, 11}); !slices.Equal(got, []float64{3, 0, 7, 1}) {
		t.Errorf("%v", got)
	}
	if got := Differences(nil); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// faithful is a run of two hosts in which nothing went wrong.
func faithful() *Run {
	s := &Scenario{Topology: lab.Star("faithful", 2, 1, 1)}
	r := &Run{Scenario: s, nodes: map[string]*node{}}
	status := func(name string, ports ...daemon.PortStatus) {
		r.nodes[name] = &node{status: daemon.Status{Name: name, Ports: ports,
			Ledger: daemon.LedgerStatus{Dropped: map[string]dataplane.Count{}}}}
	}
	status("sw0", daemon.PortStatus{Name: "swp1", Sent: 10, OnDevice: 20},
		daemon.PortStatus{Name: "swp2", Sent: 20, OnDevice: 10})
	status("h1", daemon.PortStatus{Name: "eth0", Sent: 20, OnDevice: 10})
	status("h2", daemon.PortStatus{Name: "eth0", Sent: 10, OnDevice: 20})
	return r
}

func TestEveryFaultMakesTheRunInvalid(t *testing.T) {
	const differ = "values that differ from virtual time"
	for name, spoil := range map[string]func(*Run){
		"":     func(*Run) {},
		differ: func(*Run) {},
		"arrivals behind a decision": func(r *Run) {
			r.nodes["h1"].status.Loop.Slips.Count = 1
		},
		"frames lost in sockets and rings": func(r *Run) {
			r.nodes["sw0"].status.Ports[1].Lost = 1
		},
		"frames sent but never received": func(r *Run) {
			r.nodes["h2"].status.Ports[0].OnDevice = 19
		},
		"conservation ledgers": func(r *Run) {
			r.nodes["h1"].status.Ledger.Fault = "1 != 2"
		},
		"drops in the lossless class": func(r *Run) {
			r.nodes["sw0"].status.Ledger.Dropped["headroom"] = dataplane.Count{Frames: 1}
		},
	} {
		r, d := faithful(), difference{compared: 1}
		if name == differ {
			d.differ = 1
		}
		spoil(r)
		r.certify(d)
		if r.Certificate.Valid != (name == "") {
			t.Errorf("with a fault in %q the run is valid: %v", name, r.Certificate.Valid)
		}
		for _, c := range r.Certificate.Checks {
			if c.OK == (c.Name == name) {
				t.Errorf("with a fault in %q: %+v", name, c)
			}
		}
	}
}

// What an injected fault does to the lossless class is no fault of the run.
func TestInjectedFaultsMayOverrunHeadroom(t *testing.T) {
	r := faithful()
	r.Scenario.Topology.Faults = []lab.Fault{{}}
	r.nodes["sw0"].status.Ledger.Dropped["headroom"] = dataplane.Count{Frames: 1}
	if r.certify(difference{}); !r.Certificate.Valid {
		t.Errorf("%+v", r.Certificate)
	}
}

func TestKernelTrafficIsNotALoss(t *testing.T) {
	r := faithful()
	r.nodes["sw0"].status.Ports[0].OnDevice += 7 // ARP and TCP of the host's kernel
	if n := r.unexplained(); n != 0 {
		t.Errorf("%d unexplained", n)
	}
}

func TestComparisonFindsTheFirstDifference(t *testing.T) {
	series := func(last float64) *daemon.Samples {
		return &daemon.Samples{IntervalNs: 5, TimeNs: []int64{5, 10, 15},
			Columns: []string{"queue", "marks"}, Values: [][]float64{{1, 2, 3}, {0, last, last}}}
	}
	d := difference{earliest: math.MaxInt64}
	d.samples("sw0", series(4), series(4))
	if got := d.String(); got != "0 of 6" {
		t.Errorf("of equal samples it says %q", got)
	}
	d.samples("h1", series(4), series(7))
	want := "2 of 12, first h1 marks at 10ns: 4, in virtual time 7"
	if got := d.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	short := series(4)
	short.TimeNs = short.TimeNs[:2]
	if d.samples("h2", short, series(4)); d.differ != 3 {
		t.Errorf("a row that is missing: %v", d)
	}
	d = difference{}
	d.counters("h3", nicd.State{PausedNs: 1, Counters: map[string]uint64{"a": 1}},
		nicd.State{PausedNs: 1, Counters: map[string]uint64{"a": 2}})
	want = "1 of 2, first h3.counters.a at the end: 1, in virtual time 2"
	if got := d.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
