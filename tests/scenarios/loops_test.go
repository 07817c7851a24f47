package scenarios

import (
	"context"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/clock"
	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/loop/looptest"
	"github.com/rocelab/rocelab/dataplane/sim"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// patience is how long a test waits for virtual time to get anywhere.
const patience = 60 * time.Second

// loops is the bed of real loops: a thread for each node, wires in memory, one clock page that
// waits for every loop and for every frame on a wire, as in a lab of daemons.
type loops struct {
	t        testing.TB
	page     *clock.Page
	governor *clock.Governor
	dilation float64
	loops    []*loop.Loop
	cancel   context.CancelFunc
	ended    chan error
}

func newLoops(t testing.TB, s *star, dilation float64) *loops {
	t.Helper()
	// Of a link's delay half is what a loop may sleep past an inner deadline; the budget is less.
	l := &loops{t: t, page: clock.Private(unit.Time(s.delay * 2 / 5)), dilation: dilation,
		ended: make(chan error, len(s.hosts)+1)}
	var err error
	if l.governor, err = clock.NewGovernor(l.page, dilation, dilation); err != nil {
		t.Fatal(err)
	}
	ends := make([][]loop.Port, len(s.hosts)+1)
	for i := range s.hosts {
		near, far, err := looptest.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		p := loop.Port{Name: "0", MAC: sim.MAC(i, 0),
			Link: link.Config{Rate: s.rate(i), Delay: s.delay}}
		p.Wire, p.TxLink, p.RxLink = near, 2*i, 2*i+1
		ends[i] = []loop.Port{p}
		p.Wire, p.TxLink, p.RxLink, p.Name = far, 2*i+1, 2*i, strconv.Itoa(i)
		p.MAC = sim.MAC(s.switchNode(), i)
		ends[s.switchNode()] = append(ends[s.switchNode()], p)
	}
	links, err := clock.NewLinks(l.page, 2*len(s.hosts))
	if err != nil {
		t.Fatal(err)
	}
	for i, dev := range s.nodes() {
		c, err := clock.NewClock(l.page, i, len(ends))
		if err != nil {
			t.Fatal(err)
		}
		one, err := loop.New(loop.Config{Device: dev, Pool: s.pools[i], Clock: c, Links: links,
			Ports: ends[i], Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		l.loops = append(l.loops, one)
	}
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(t.Context())
	for _, one := range l.loops {
		go func() { l.ended <- one.Run(ctx) }()
	}
	return l
}

func (l *loops) do(node int, fn func(unit.Time)) {
	if err := l.loops[node].Do(fn); err != nil {
		l.t.Fatal(err)
	}
}

// at reads a node at the first multiple of at that is to come, which is at itself.
func (l *loops) at(at unit.Time, node int, read func(unit.Time)) {
	if err := l.loops[node].Every(time.Duration(at), func(now unit.Time) bool {
		read(now)
		return false
	}); err != nil {
		l.t.Fatal(err)
	}
}

func (l *loops) run(until unit.Time) {
	l.t.Helper()
	there := make(chan struct{}, len(l.loops))
	for i := range l.loops {
		l.at(until, i, func(unit.Time) { there <- struct{}{} })
	}
	l.governor.Start(l.dilation)
	late := time.NewTimer(patience)
	defer late.Stop()
	for range l.loops {
		select {
		case <-there:
		case <-late.C:
			l.t.Fatalf("virtual time stands at %v, wanted %v", l.page.Status().Virtual, until)
		}
	}
	l.governor.Stop()
}

func (l *loops) tap(host int, see func(loop.Direction, *frame.Frame)) {
	err := l.loops[host].SetTap(func(_ unit.Time, _ dataplane.PortID, dir loop.Direction,
		f *frame.Frame) {
		see(dir, f)
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *loops) fault(node, port int, e fault.Entry) {
	l.add(node, port, e)
	if e.Fault.Kind != fault.Down {
		return
	}
	if sw := len(l.loops) - 1; node == sw {
		l.add(port, 0, e)
	} else {
		l.add(sw, node, e)
	}
}

func (l *loops) add(node, port int, e fault.Entry) {
	e.Port = strconv.Itoa(port)
	l.do(node, func(now unit.Time) {
		if _, err := l.loops[node].Faults().Add(now, e); err != nil {
			panic(err)
		}
	})
}

func (l *loops) hits() map[string]uint64 {
	var all []*fault.Executor
	for _, one := range l.loops {
		all = append(all, one.Faults())
	}
	return count(all...)
}

func (l *loops) stop() {
	l.cancel()
	for range l.loops {
		if err := <-l.ended; err != nil {
			l.t.Error(err)
		}
	}
}
