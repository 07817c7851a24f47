package experiment

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/result"
	"github.com/rocelab/rocelab/nicd"
)

func TestDifferences(t *testing.T) {
	if got := differences([]float64{3, 3, 10, 11}); !slices.Equal(got, []float64{3, 0, 7, 1}) {
		t.Errorf("%v", got)
	}
	if got := differences(nil); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestSamplesAreBounded(t *testing.T) {
	for _, d := range []time.Duration{time.Millisecond, 60 * time.Millisecond, time.Hour} {
		in := Incast{Duration: d}
		if n := in.sample().Count; n < 1 || n > mostSamples {
			t.Errorf("%v: %d samples", d, n)
		}
	}
}

// faithful is a run of two hosts in which nothing went wrong.
func faithful() (*session, *gathered) {
	in := DefaultIncast()
	in.Senders = 1
	status := func(name string, ports ...daemon.PortStatus) daemon.Status {
		return daemon.Status{Name: name, Ports: ports,
			Ledger: daemon.LedgerStatus{Dropped: map[string]dataplane.Count{}}}
	}
	g := &gathered{nics: make([]nicd.Status, 2)}
	g.sw.Status = status("sw0", daemon.PortStatus{Name: "swp1", Sent: 10, OnDevice: 20},
		daemon.PortStatus{Name: "swp2", Sent: 20, OnDevice: 10})
	g.nics[0].Status = status("h1", daemon.PortStatus{Name: "eth0", Sent: 20, OnDevice: 10})
	g.nics[1].Status = status("h2", daemon.PortStatus{Name: "eth0", Sent: 10, OnDevice: 20})
	return &session{Incast: &in}, g
}

func TestEveryFaultMakesTheRunInvalid(t *testing.T) {
	const differ = "values that differ from virtual time"
	for name, spoil := range map[string]func(*gathered){
		"":     func(*gathered) {},
		differ: func(*gathered) {},
		"arrivals behind a decision": func(g *gathered) {
			g.nics[0].Loop.Slips.Count = 1
		},
		"frames lost in sockets and rings": func(g *gathered) {
			g.sw.Ports[1].Lost = 1
		},
		"frames sent but never received": func(g *gathered) {
			g.nics[1].Ports[0].OnDevice = 19
		},
		"conservation ledgers": func(g *gathered) {
			g.nics[0].Ledger.Fault = "1 != 2"
		},
		"drops in the lossless class": func(g *gathered) {
			g.sw.Ledger.Dropped["headroom"] = dataplane.Count{Frames: 1}
		},
	} {
		s, g := faithful()
		d := difference{compared: 1}
		if name == differ {
			d.differ = 1
		}
		spoil(g)
		var run result.Run
		s.certify(&run, g, d)
		if run.Certificate.Valid != (name == "") {
			t.Errorf("with a fault in %q the run is valid: %v", name, run.Certificate.Valid)
		}
		for _, c := range run.Certificate.Checks {
			if c.OK == (c.Name == name) {
				t.Errorf("with a fault in %q: %+v", name, c)
			}
		}
	}
}

// What an injected fault does to the lossless class is no fault of the run.
func TestInjectedFaultsMayOverrunHeadroom(t *testing.T) {
	s, g := faithful()
	s.Faults = []lab.Fault{{}}
	g.sw.Ledger.Dropped["headroom"] = dataplane.Count{Frames: 1}
	var run result.Run
	s.certify(&run, g, difference{})
	if !run.Certificate.Valid {
		t.Errorf("%+v", run.Certificate)
	}
}

func TestKernelTrafficIsNotALoss(t *testing.T) {
	s, g := faithful()
	g.sw.Ports[0].OnDevice += 7 // ARP and TCP of the host's kernel
	if lost, unexplained := s.losses(g); lost != 0 || unexplained != 0 {
		t.Errorf("%d lost, %d unexplained", lost, unexplained)
	}
}

func TestComparisonFindsTheFirstDifference(t *testing.T) {
	series := func(last float64) *daemon.Samples {
		return &daemon.Samples{IntervalNs: 5, TimeNs: []int64{5, 10, 15},
			Columns: []string{"queue", "marks"}, Values: [][]float64{{1, 2, 3}, {0, last, last}}}
	}
	earliest := int64(math.MaxInt64)
	var d difference
	d.samples("sw0", series(4), series(4), &earliest)
	if got := d.String(); got != "0 of 6" {
		t.Errorf("of equal samples it says %q", got)
	}
	d.samples("h1", series(4), series(7), &earliest)
	want := "2 of 12, first h1 marks at 10ns: 4, in virtual time 7"
	if got := d.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	short := series(4)
	short.TimeNs = short.TimeNs[:2]
	if d.samples("h2", short, series(4), &earliest); d.differ != 3 {
		t.Errorf("a row that is missing: %v", d)
	}
	d = difference{}
	d.counters("h3", nicd.State{PausedNs: 1, Counters: map[string]uint64{"a": 1}},
		nicd.State{PausedNs: 1, Counters: map[string]uint64{"a": 2}})
	want = "1 of 3, first h3.counters.a at the end: 1, in virtual time 2"
	if got := d.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
