package conformance

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/clock"
	"github.com/rocelab/rocelab/dataplane/conform"
	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/loop/looptest"
	"github.com/rocelab/rocelab/dataplane/sim"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// trial is one device with its traffic under one driver.
type trial struct {
	*conform.Monitor
	ports  int
	pool   *frame.Pool // of the device
	events []event
	faults []mishap
	end    unit.Time // when all pauses and retries are over
}

// mishap is a fault at one of the device's ports.
type mishap struct {
	port int
	fault.Entry
}

// driver is a way to run a device. It reports what the far ends received when run returns.
type driver struct {
	name string
	run  func(t *testing.T, c *trial) (received uint64)
}

var drivers = []driver{
	{"sim", runSim},
	{"loop", runLoop},
}

// wires are the same for both drivers: they lose, damage, double and reorder frames.
func (c *trial) wire(port int) link.Config {
	const often = 0.01
	return link.Config{Rate: lineRate, Delay: time.Microsecond, Seed: uint64(port),
		Faults: link.Faults{Loss: often, Corrupt: often, Duplicate: often, Reorder: often,
			ReorderBy: 5 * time.Microsecond}}
}

// rest reports whether nothing is left of the traffic.
func (c *trial) rest() bool {
	return c.Ledger().Buffered.Frames == 0 && c.pool.InUse() == 0
}

// peers is the device at the other ends of all links in virtual time.
type peers struct {
	queues []frame.FIFO
	ready  dataplane.PortSet
	ledger dataplane.Ledger
}

func (p *peers) Receive(_ unit.Time, _ dataplane.PortID, f *frame.Frame) {
	p.ledger.Received.Add(f.Len())
	p.ledger.Consume(f)
}

func (p *peers) originate(port dataplane.PortID, f *frame.Frame) {
	p.ledger.Generated.Add(f.Len())
	p.ledger.Buffered.Add(f.Len())
	p.queues[port].Push(f)
	p.ready.Add(port)
}

func (p *peers) Transmit(_ unit.Time, port dataplane.PortID) *frame.Frame {
	f := p.queues[port].Pop()
	if f != nil {
		p.ledger.Buffered.Sub(f.Len())
		p.ledger.Sent.Add(f.Len())
		p.ready.Add(port)
	}
	return f
}

func (p *peers) Ready() *dataplane.PortSet                       { return &p.ready }
func (p *peers) NextWake() unit.Time                             { return unit.Never }
func (p *peers) Wake(unit.Time)                                  {}
func (p *peers) SetLink(_ unit.Time, _ dataplane.PortID, _ bool) {}
func (p *peers) Ledger() dataplane.Ledger                        { return p.ledger }

// flap is for how long a link is down in virtual time.
const flap = 300 * time.Microsecond

func runSim(t *testing.T, c *trial) uint64 {
	far := &peers{queues: make([]frame.FIFO, c.ports)}
	watch := conform.Watch(far, c.ports)
	pool := frame.NewPool(events*2, 2048)
	net := sim.New(pool)
	dev, other := net.Add("device", c, c.ports), net.Add("peers", watch, c.ports)
	for i := range c.ports {
		net.Connect(dev, dataplane.PortID(i), other, dataplane.PortID(i), c.wire(i))
	}
	for _, e := range c.events {
		net.At(e.at, other, func(now unit.Time) {
			if e.frame == nil {
				net.SetLink(dev, e.port, false)
				net.At(now.Add(flap), other, func(unit.Time) { net.SetLink(dev, e.port, true) })
				return
			}
			f := pool.Get()
			f.Set(e.frame)
			far.originate(e.port, f)
		})
	}
	for _, m := range c.faults {
		m.Port = fmt.Sprintf("device:%d", m.port)
		if err := net.AddFaults(fault.Plan{m.Entry}); err != nil {
			t.Fatal(err)
		}
	}
	net.Run(c.end)
	if !c.rest() || pool.InUse() != 0 {
		t.Errorf("%d frames of the device's and %d of the peers' are left", c.pool.InUse(),
			pool.InUse())
	}
	for _, f := range watch.Faults {
		t.Errorf("peers: %s", f)
	}
	return far.ledger.Received.Frames
}

// dilation gives a busy machine time for everything. Nothing here depends on it.
const dilation = 100

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// rig is a loop whose wires end at the test.
type rig struct {
	*trial
	loop *loop.Loop
	far  []atomic.Pointer[looptest.Wire] // nil while the link is down
	next int                             // the event to come
	down chan dataplane.PortID           // links to take down
	done chan struct{}
}

func (r *rig) open(port int) (loop.Wire, error) {
	near, far, err := looptest.Pipe()
	if err != nil {
		return nil, err
	}
	r.far[port].Store(far)
	return near, nil
}

// play sends what is due; it runs on the loop's thread.
func (r *rig) play(now unit.Time) bool {
	for ; r.next < len(r.events) && r.events[r.next].at <= now; r.next++ {
		e := &r.events[r.next]
		wire := r.far[e.port].Load()
		switch {
		case wire == nil:
		case e.frame == nil:
			r.far[e.port].Store(nil)
			r.down <- e.port
		default:
			wire.Push(e.frame)
		}
	}
	if now < r.end {
		return true
	}
	close(r.done)
	return false
}

func runLoop(t *testing.T, c *trial) uint64 {
	r := &rig{trial: c, far: make([]atomic.Pointer[looptest.Wire], c.ports),
		down: make(chan dataplane.PortID, flaps), done: make(chan struct{})}
	page := clock.Private(unit.Never)
	governor, err := clock.NewGovernor(page, dilation, dilation)
	if err != nil {
		t.Fatal(err)
	}
	clk, err := clock.NewClock(page, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	cfg := loop.Config{Device: c, Pool: c.pool, Clock: clk, Log: slog.New(slog.DiscardHandler)}
	for i := range c.ports {
		near, err := r.open(i)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Ports = append(cfg.Ports, loop.Port{Name: name(i), Wire: near, Link: c.wire(i),
			TxLink: loop.NoLink, RxLink: loop.NoLink,
			Open: func() (loop.Wire, error) { return r.open(i) }})
	}
	if r.loop, err = loop.New(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- r.loop.Run(ctx) }()
	if err := r.loop.Every(gap, r.play); err != nil {
		t.Fatal(err)
	}
	if err := r.loop.Do(func(now unit.Time) {
		for _, m := range c.faults {
			m.Port = name(m.port)
			if _, e := r.loop.Faults().Add(now, m.Entry); err == nil {
				err = e
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	governor.Start(dilation)
	r.follow(ctx, t)
	st, err := r.loop.Stats()
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for i := range r.far {
		if far := r.far[i].Load(); far != nil {
			far.Close()
		}
	}
	var sent uint64
	for _, p := range st.Ports {
		sent += p.Sent
	}
	return sent
}

func name(port int) string { return string(rune('a' + port)) }

// follow takes links down when the traffic says so, until all is over and at rest.
func (r *rig) follow(ctx context.Context, t *testing.T) {
	for playing := true; playing; {
		select {
		case port := <-r.down:
			if err := r.loop.PortDown(name(int(port)), context.Canceled); err != nil {
				t.Fatal(err)
			}
		case <-r.done:
			playing = false
		case <-ctx.Done():
			t.Fatal("virtual time did not get to the end")
		}
	}
	for rest := false; !rest; {
		if err := r.loop.Do(func(unit.Time) { rest = r.rest() }); err != nil {
			t.Fatalf("%v with %d frames left", err, r.pool.InUse())
		}
	}
}
