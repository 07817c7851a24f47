package engine

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// Engine runs nodes in time order. It is not safe for concurrent use.
type Engine struct {
	now    unit.Time
	inside queue // what happens in devices: arrivals, free wires, wakes, calls
	wires  queue // frames on the wires, by the time they reach the far end
	seq    uint64
	events uint64
}

// Outlet is the far end of a port's wire. Deliver takes ownership of f at the time its last bit
// arrives.
type Outlet interface {
	Deliver(now unit.Time, f *frame.Frame)
}

// Launcher is an outlet that takes frames when they start, with their arrival, so that they can be
// on their way through the world outside meanwhile. start is when the first bit left. It may
// refuse a frame, which is then delivered at its time.
type Launcher interface {
	Launch(start, arrive unit.Time, f *frame.Frame) bool
}

// Node is a device in an engine.
type Node struct {
	dev    dataplane.Device
	eng    *Engine
	ports  []port
	wakeAt unit.Time // of the earliest evWake in the queue; Never if none
}

type port struct {
	wire *link.Sender
	out  Outlet
	far  Launcher    // out, if it is one
	pool *frame.Pool // for duplicates made by faults
	busy bool
	down bool
}

// Port describes one port of a node.
type Port struct {
	Wire *link.Sender
	Out  Outlet
	Pool *frame.Pool // where a duplicated frame comes from; may be nil without that fault
}

// Now is the time up to which events have run.
func (e *Engine) Now() unit.Time { return e.now }

// Events is how many events have run.
func (e *Engine) Events() uint64 { return e.events }

// Next is the time of the earliest event, or unit.Never.
func (e *Engine) Next() unit.Time { return min(e.inside.next(), e.wires.next()) }

// NextDelivery is when the earliest frame on a wire reaches its far end, or unit.Never. It is the
// next moment at which the outside sees anything, given no further arrivals.
func (e *Engine) NextDelivery() unit.Time { return e.wires.next() }

func (e *Engine) schedule(ev event) {
	ev.seq = e.seq
	e.seq++
	if ev.kind() == evDeliver {
		e.wires.push(ev)
		return
	}
	e.inside.push(ev)
}

// Add puts a device with its ports into the engine.
func (e *Engine) Add(dev dataplane.Device, ports []Port) *Node {
	if len(ports) > dataplane.MaxPorts {
		panic(fmt.Sprintf("engine: %d ports, at most %d", len(ports), dataplane.MaxPorts))
	}
	n := &Node{dev: dev, eng: e, wakeAt: unit.Never}
	for _, p := range ports {
		far, _ := p.Out.(Launcher)
		n.ports = append(n.ports, port{wire: p.Wire, out: p.Out, far: far, pool: p.Pool})
	}
	n.settle()
	return n
}

// Arrive schedules the arrival of f on a port of n and takes ownership of f. A time that has
// already passed is moved up to now: time never goes back.
func (e *Engine) Arrive(n *Node, p dataplane.PortID, at unit.Time, f *frame.Frame) {
	e.schedule(event{at: max(at, e.now), rank: rank(evArrive, p), node: n, f: f})
}

// At schedules call, for scenarios and probes.
func (e *Engine) At(at unit.Time, call func(now unit.Time)) {
	e.schedule(event{at: max(at, e.now), rank: rank(evCall, 0), call: call})
}

// Run handles all events up to and including t, then sets the time to t.
func (e *Engine) Run(t unit.Time) {
	for e.Next() <= t && e.Step() {
	}
	if t != unit.Never && t > e.now {
		e.now = t
	}
}

// Step handles the earliest event and reports whether there was one.
func (e *Engine) Step() bool {
	inside, wire := e.inside.first(), e.wires.first()
	if inside == nil && wire == nil {
		return false
	}
	q := &e.inside
	if inside == nil || (wire != nil && wire.before(inside)) {
		q = &e.wires
	}
	ev := q.pop()
	e.now = ev.at
	e.events++
	e.handle(&ev)
	return true
}

func (e *Engine) handle(ev *event) {
	n, p := ev.node, ev.port()
	switch ev.kind() {
	case evArrive:
		ev.f.Meta.Arrived, ev.f.Meta.Port = e.now, p
		n.dev.Receive(e.now, p, ev.f)
	case evFree:
		n.ports[p].busy = false
		n.dev.Ready().Add(p)
	case evWake:
		n.wake(ev.at)
	case evLaunch:
		n.launch(p, ev.f.Meta.Arrived, ev.f)
		return
	case evDeliver:
		n.ports[p].out.Deliver(e.now, ev.f)
		return // nothing about n has changed
	case evCall:
		ev.call(e.now)
		return
	}
	n.settle()
}

func (n *Node) wake(at unit.Time) {
	if at != n.wakeAt {
		return // an earlier deadline replaced this one
	}
	n.wakeAt = unit.Never
	if n.dev.NextWake() <= n.eng.now {
		n.dev.Wake(n.eng.now)
	}
}

// Settle tells the engine that the node's device was changed from outside (a flow was started, a
// queue pair posted to): ready ports are asked again and the deadline is looked up.
func (n *Node) Settle() { n.settle() }

// settle asks every idle, ready port for frames and arms the next deadline.
func (n *Node) settle() {
	ready := n.dev.Ready()
	// A transmission can make a lower port ready (a PFC frame for another ingress), so each look
	// starts from the lowest again; every turn removes the port it looked at.
	for p, ok := ready.Next(0); ok; p, ok = ready.Next(0) {
		if n.ports[p].busy || n.ports[p].down {
			// The wire's becoming free, or the link's coming up, puts it back.
			ready.Remove(p)
			continue
		}
		f := n.dev.Transmit(n.eng.now, p)
		ready.Remove(p)
		if f != nil {
			n.send(p, f)
		}
	}
	if at := n.dev.NextWake(); at < n.wakeAt {
		n.wakeAt = max(at, n.eng.now)
		n.eng.schedule(event{at: n.wakeAt, rank: rank(evWake, 0), node: n})
	}
}

func (n *Node) send(p dataplane.PortID, f *frame.Frame) {
	e, port := n.eng, &n.ports[p]
	free, arrive := port.wire.Start(e.now, f.Len())
	port.busy = true
	e.schedule(event{at: free, rank: rank(evFree, p), node: n})
	fate := port.wire.Judge(f.Len())
	if fate.Lost {
		f.Release()
		return
	}
	if fate.FlipBit >= 0 {
		f.Bytes()[fate.FlipBit/8] ^= 1 << (fate.FlipBit % 8)
		f.Meta.Class = frame.Class{Kind: frame.Malformed} // what it was it may not be any more
	}
	if fate.Duplicate {
		if twin := port.pool.Get(); twin != nil && twin.Set(f.Bytes()) {
			twin.Meta = f.Meta
			n.launch(p, arrive, twin)
		}
	}
	if fate.Hold > 0 {
		f.Meta.Arrived = arrive.Add(fate.Hold)
		e.schedule(event{at: e.now.Add(fate.Hold), rank: rank(evLaunch, p), node: n, f: f})
		return
	}
	n.launch(p, arrive, f)
}

// launch puts a frame on its way that starts now.
func (n *Node) launch(p dataplane.PortID, arrive unit.Time, f *frame.Frame) {
	far := n.ports[p].far
	if far != nil && far.Launch(n.eng.now, arrive, f) {
		return
	}
	n.eng.schedule(event{at: arrive, rank: rank(evDeliver, p), node: n, f: f})
}

// SetLink takes a port's link down or up. Frames already on the wire still arrive.
func (n *Node) SetLink(p dataplane.PortID, up bool) {
	if n.ports[p].down != up {
		return
	}
	n.ports[p].down = !up
	n.dev.SetLink(n.eng.now, p, up)
	if up {
		n.dev.Ready().Add(p)
	}
	n.settle()
}
