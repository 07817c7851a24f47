package switchplan

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/clock"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// patience is how long a test waits for virtual time to get anywhere.
const patience = 60 * time.Second

// The dilation that the governor chooses between. It starts slow, because a case is over before
// the governor has found the right speed.
const (
	minDilation   = 5
	startDilation = 60
	maxDilation   = 2000
	adjustEvery   = 20 * time.Millisecond
)

// realFrames is the bed of real frames: a loop for the switch and one for the tester, each on a
// thread of its own, AF_XDP sockets on both ends of veth pairs, one clock page that waits for
// both and for every frame on the way.
type realFrames struct {
	t        *testing.T
	sw       *pipeline.Switch
	page     *clock.Page
	governor *clock.Governor
	loops    [nodes]*loop.Loop
	wires    [nodes][]*kept
	// brake is a place in the page of one who does nothing and has to be waited for: the clock
	// shows no more than its budget past the time until which a case runs.
	brake  *clock.Clock
	cancel context.CancelFunc
	ended  chan error
}

func newRealFrames(t *testing.T, s *setup) bed {
	t.Helper()
	r := &realFrames{t: t, sw: s.sw, ended: make(chan error, nodes)}
	// Of a link's delay half is what a loop may sleep past an inner deadline; the budget is less.
	r.page = clock.Private(unit.Time(s.delay * 2 / 5))
	var err error
	if r.governor, err = clock.NewGovernor(r.page, minDilation, maxDilation); err != nil {
		t.Fatal(err)
	}
	ports := len(s.cfg.Ports)
	links, err := clock.NewLinks(r.page, int(nodes)*ports)
	if err != nil {
		t.Fatal(err)
	}
	cables := theLab(t)
	for n := range nodes {
		clk, err := clock.NewClock(r.page, int(n), int(nodes)+1)
		if err != nil {
			t.Fatal(err)
		}
		cfg := loop.Config{Device: s.device(n), Pool: s.pools[n], Clock: clk, Links: links,
			Log: slog.New(slog.DiscardHandler)}
		if n == theSwitch {
			cfg.Filtered = s.sw.Filtered
		}
		for i := range ports {
			wire := cables.take(t, i, n, s.cfg.Ports[i].Classify)
			r.wires[n] = append(r.wires[n], wire)
			cfg.Ports = append(cfg.Ports, loop.Port{Name: portName(i), Wire: wire,
				Link: s.link(i), TxLink: int(nodes)*i + int(n),
				RxLink: int(nodes)*i + 1 - int(n), Far: loop.Switch})
		}
		if r.loops[n], err = loop.New(cfg); err != nil {
			t.Fatal(err)
		}
	}
	if r.brake, err = clock.NewClock(r.page, int(nodes), int(nodes)+1); err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(t.Context())
	for _, l := range r.loops {
		go func() { r.ended <- l.Run(ctx) }()
	}
	return r
}

func (r *realFrames) do(n node, fn func(unit.Time)) {
	if err := r.loops[n].Do(fn); err != nil {
		r.t.Fatal(err)
	}
}

func (r *realFrames) at(at unit.Time, n node, fn func(unit.Time)) {
	r.t.Helper()
	// The first multiple of at that is to come is at itself.
	if now := r.page.Status().Virtual; now >= at {
		r.t.Fatalf("it is %v, too late for %v", now, at)
	}
	err := r.loops[n].Every(time.Duration(at), func(now unit.Time) bool {
		fn(now)
		return false
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *realFrames) run(until unit.Time) {
	r.t.Helper()
	there := make(chan struct{}, nodes)
	for n := range nodes {
		r.at(until, n, func(unit.Time) { there <- struct{}{} })
	}
	r.brake.Publish(until)
	r.governor.Start(startDilation)
	defer r.governor.Stop()
	for n := range nodes {
		r.do(n, func(unit.Time) {}) // wakes a loop that sleeps because time stood still
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	adjust := time.NewTicker(adjustEvery)
	defer adjust.Stop()
	for left := nodes; left > 0; {
		select {
		case <-there:
			left--
		case <-adjust.C:
			r.governor.Adjust()
		case <-late.C:
			r.t.Fatalf("virtual time stands at %v, wanted %v", r.page.Status().Virtual, until)
		}
	}
}

func (r *realFrames) enforce(port dataplane.PortID) {
	if err := r.loops[theSwitch].SetFilter(port, uint8(r.sw.Verdict(port))); err != nil {
		r.t.Error(err)
	}
}

func (r *realFrames) filtered(port int, class uint8) (n uint64) {
	var err error
	r.do(theSwitch, func(unit.Time) { n, err = r.wires[theSwitch][port].watchdog(class) })
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

func (r *realFrames) fault(port int, text string) {
	e, err := entry(portName(port), text)
	if err == nil {
		r.do(theSwitch, func(now unit.Time) { _, err = r.loops[theSwitch].Faults().Add(now, e) })
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *realFrames) wasted(n node) (sum uint64) {
	r.do(n, func(unit.Time) {
		for i := range r.wires[n] {
			sum += r.loops[n].Link(dataplane.PortID(i)).Stats.Lost
		}
	})
	return sum
}

func (r *realFrames) lost() (sum uint64) {
	for n, l := range r.loops {
		st, err := l.Stats()
		if err != nil {
			r.t.Fatal(err)
		}
		sum += st.Forgotten
		for i := range st.Ports {
			sum += st.Ports[i].Lost() - r.wires[n][i].before.Lost()
		}
	}
	return sum
}

func (r *realFrames) stop() {
	r.cancel()
	for range r.loops {
		if err := <-r.ended; err != nil {
			r.t.Error(err)
		}
	}
}
