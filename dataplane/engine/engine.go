package engine

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// Engine runs nodes in time order. It is not safe for concurrent use.
type Engine struct {
	now    unit.Time
	rank   uint32 // of the latest event of now; past all ranks when Run has seen to all
	inside queue  // what happens in devices: arrivals, free wires, wakes, calls
	wires  queue  // frames on the wires, by the time they reach the far end
	events uint64
}

// Outlet is the far end of a port's wire. Deliver takes ownership of f at the time its last bit
// arrives.
type Outlet interface {
	Deliver(now unit.Time, f *frame.Frame)
}

// Launcher is an outlet that takes frames when they start, with their arrival, so that they can be
// on their way through the world outside meanwhile. start is when the first bit left, or, of a
// frame that is Watched already, when it was let go. It may refuse a frame, which is then delivered
// at its time. Frames are launched in the order of their arrival.
type Launcher interface {
	Launch(start, arrive unit.Time, f *frame.Frame) bool
}

// Node is a device in an engine.
type Node struct {
	dev    dataplane.Device
	eng    *Engine
	ports  []port
	wakeAt unit.Time // of the earliest evWake in the queue; Never if none
	watch  func(Sight)
	absent func(now unit.Time, p dataplane.PortID, down frame.Faults)
	call   func(unit.Time) // a scenario's own function, which has no device
}

// port begins with what every event looks at.
type port struct {
	free    unit.Time // since when the wire is free, or will be
	awaited bool      // an evFree will tell
	blocked bool      // nothing may leave: the link is down, or the port is frozen
	trouble           // nearly always empty
	far     Launcher  // Out, if it is one
	Port
}

// Port describes one port of a node.
type Port struct {
	Wire *link.Sender
	Out  Outlet
	Pool *frame.Pool // of the frames that faults make; may be nil without such faults
	MAC  wire.MAC    // source of the PFC frames of a storm
}

// Now is the time up to which events have run.
func (e *Engine) Now() unit.Time { return e.now }

// Events is how many events have run.
func (e *Engine) Events() uint64 { return e.events }

// Moves is how often an event was moved before it ran: what order costs, beyond the events.
func (e *Engine) Moves() uint64 { return e.inside.moved + e.wires.moved }

// Next is the time of the earliest event, or unit.Never.
func (e *Engine) Next() unit.Time { return min(e.inside.next(), e.wires.next()) }

// NextDelivery is when the earliest frame on a wire reaches its far end, or unit.Never. It is the
// next moment at which the outside sees anything, given no further arrivals.
func (e *Engine) NextDelivery() unit.Time { return e.wires.next() }

// Add puts a device with its ports into the engine. It is first asked for frames and its deadline
// by Settle, when what its ports lead to is there.
func (e *Engine) Add(dev dataplane.Device, ports []Port) *Node {
	if len(ports) > dataplane.MaxPorts {
		panic(fmt.Sprintf("engine: %d ports, at most %d", len(ports), dataplane.MaxPorts))
	}
	n := &Node{dev: dev, eng: e, wakeAt: unit.Never, watch: func(Sight) {}}
	for _, p := range ports {
		far, _ := p.Out.(Launcher)
		n.ports = append(n.ports, port{Port: p, far: far, free: -1})
	}
	return n
}

// Arrive schedules the arrival of f on a port of n and takes ownership of f. A time that has
// already passed is moved up to now: time never goes back.
func (e *Engine) Arrive(n *Node, p dataplane.PortID, at unit.Time, f *frame.Frame) {
	e.inside.push(event{at: max(at, e.now), rank: rank(evArrive, p), node: n, f: f})
}

// Absent schedules the arrival of a frame that the driver does not have, because its world made an
// end of it that the device would have made. In its place, and in its turn among the arrivals, what
// OnAbsent was given runs.
func (e *Engine) Absent(n *Node, p dataplane.PortID, at unit.Time) {
	e.inside.push(event{at: max(at, e.now), rank: rank(evArrive, p), node: n})
}

// OnAbsent sets who is told when an absent frame arrives. It may change the device. down is the
// faults, if any, that keep the port's link down: the device would not have heard the frame.
func (n *Node) OnAbsent(tell func(now unit.Time, p dataplane.PortID, down frame.Faults)) {
	n.absent = tell
}

// At schedules call, for scenarios and probes.
func (e *Engine) At(at unit.Time, call func(now unit.Time)) {
	e.inside.push(event{at: max(at, e.now), rank: rank(evCall, 0),
		node: &Node{call: call}})
}

// Run handles all events up to and including t, then sets the time to t.
func (e *Engine) Run(t unit.Time) {
	for q := e.first(); q.next() <= t && q.filled != 0; q = e.first() {
		e.step(q)
	}
	e.rank = afterAll
	if t != unit.Never && t > e.now {
		e.now = t
	}
}

// Pass lets the time up to t pass, before which no event may be due.
func (e *Engine) Pass(t unit.Time) {
	if t > e.now {
		e.now, e.rank = t, afterAll
	}
}

// Step handles the earliest event and reports whether there was one.
func (e *Engine) Step() bool {
	q := e.first()
	if q.filled == 0 {
		return false
	}
	e.step(q)
	return true
}

// first is the queue with the earliest event. What is on the wires has the lowest rank, so of the
// same moment it comes first.
func (e *Engine) first() *queue {
	if e.wires.filled != 0 && e.wires.next() <= e.inside.next() {
		return &e.wires
	}
	return &e.inside
}

func (e *Engine) step(q *queue) {
	ev := q.pop()
	e.now, e.rank = ev.at, ev.rank
	e.events++
	e.handle(ev)
}

func (e *Engine) handle(ev event) {
	n, p := ev.node, ev.port()
	switch ev.kind() {
	case evArrive:
		if ev.f == nil {
			n.absent(e.now, p, n.ports[p].state.Down)
			break
		}
		if n.ports[p].state.Down != 0 {
			n.unheard(p, ev.f)
			return
		}
		ev.f.Meta.Arrived, ev.f.Meta.Port = e.now, p
		n.dev.Receive(e.now, p, ev.f)
	case evFree:
		n.ports[p].awaited = false
		n.dev.Ready().Add(p)
	case evWake:
		n.wake(ev.at)
	case evDeliver:
		n.ports[p].Out.Deliver(e.now, ev.f)
		return // nothing about n has changed
	case evCall:
		n.call(e.now)
		return
	case evLaunch:
		n.enter(p, ev.f)
		return
	case evRelease:
		n.release(p)
		return
	case evStorm:
		n.announce(p)
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
		ready.Remove(p)
		if n.ports[p].blocked || n.busy(p) {
			continue // the link's coming up, or the wire's becoming free, puts it back
		}
		var f *frame.Frame
		if n.ports[p].storm != nil {
			if f = n.stormFrame(p); f != nil {
				ready.Add(p) // the device has not been asked
			}
		}
		if f == nil {
			f = n.dev.Transmit(n.eng.now, p)
		}
		if f != nil {
			n.send(p, f)
		}
	}
	if at := n.dev.NextWake(); at < n.wakeAt {
		n.wakeAt = max(at, n.eng.now)
		n.eng.inside.push(event{at: n.wakeAt, rank: rank(evWake, 0), node: n})
	}
}

// busy reports whether the wire of a port is in use at this point of the moment's events, and sees
// to it that its becoming free is told if so. Nobody waits for most wires: those cost no event.
func (n *Node) busy(p dataplane.PortID) bool {
	e, port := n.eng, &n.ports[p]
	at := rank(evFree, p)
	if port.free < e.now || port.free == e.now && at <= e.rank {
		return false
	}
	if !port.awaited {
		port.awaited = true
		e.inside.push(event{at: port.free, rank: at, node: n})
	}
	return true
}

func (n *Node) send(p dataplane.PortID, f *frame.Frame) {
	e, port := n.eng, &n.ports[p]
	free, arrive := port.Wire.Start(e.now, f.Len())
	port.free = free
	if port.Wire.Faulty() || port.disturbed() {
		n.disturb(p, f, free, arrive)
		return
	}
	n.launch(p, arrive, f)
}

// launch puts a frame on its way that arrives at the given time.
func (n *Node) launch(p dataplane.PortID, arrive unit.Time, f *frame.Frame) {
	far := n.ports[p].far
	if far != nil && far.Launch(n.eng.now, arrive, f) {
		return
	}
	n.eng.wires.push(event{at: arrive, rank: rank(evDeliver, p), node: n, f: f})
}

// SetLink takes a port's link down or up. Frames already on the wire still arrive.
func (n *Node) SetLink(p dataplane.PortID, up bool) {
	n.ports[p].away = !up
	n.relink(p)
}

// relink tells the device if the state of a port's link has changed, and lets go what may leave.
func (n *Node) relink(p dataplane.PortID) {
	port := &n.ports[p]
	down := port.away || port.state.Down != 0
	port.blocked = down || port.state.Frozen
	if down != port.down {
		port.down = down
		n.dev.SetLink(n.eng.now, p, !down)
	}
	if !port.blocked {
		n.dev.Ready().Add(p)
	}
	n.settle()
}
