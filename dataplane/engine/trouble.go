package engine

import (
	"slices"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// trouble is what is wrong with a port. What is wrong with its wire is in the wire.
type trouble struct {
	state fault.State
	away  bool // the driver's device is away or down
	down  bool // what the node's device was told last
	storm *storm
	held  []held // frames that wait until others have passed, oldest first
}

// held is a frame held back on the wire.
type held struct {
	f      *frame.Frame
	behind int       // so many frames are still to pass
	until  unit.Time // it goes on its way then at the latest
}

func (t *trouble) disturbed() bool { return t.storm != nil || len(t.held) > 0 }

// Injury is what faults did to one frame. Its Meta.Faults says which faults.
type Injury struct {
	// At is when the frame's last bit left the port. Of a frame that was lost on arrival it is
	// when that arrived.
	At      unit.Time
	Port    dataplane.PortID
	Frame   *frame.Frame // of the engine's; good until the observer returns
	Lost    bool
	Arrival bool // the frame came in on a port whose link is down
}

// Observe sets who is told of every frame that faults did something to: of those that go on, just
// before they reach the far end of the wire; of lost ones, when they would.
func (n *Node) Observe(see func(Injury)) { n.observe = see }

// Target is a port of the node as faults act on it.
func (n *Node) Target(p dataplane.PortID) fault.Port { return target{n, p} }

type target struct {
	node *Node
	id   dataplane.PortID
}

func (t target) Link() *link.Sender { return t.node.ports[t.id].Wire }

// SetState changes what faults make of the port. A frozen port's device is not asked for frames and
// believes that its wire is busy.
func (t target) SetState(s fault.State) {
	port := &t.node.ports[t.id]
	port.setStorm(s)
	port.state = s
	t.node.relink(t.id)
}

// Deaf is by which faults the link of a port is down; frames that arrive there are lost.
func (n *Node) Deaf(p dataplane.PortID) frame.Faults { return n.ports[p].state.Down }

// disturb sends a frame over a wire that is not perfect: the last bit leaves at left and would
// arrive at arrive.
func (n *Node) disturb(p dataplane.PortID, f *frame.Frame, left, arrive unit.Time) {
	e, port := n.eng, &n.ports[p]
	if port.storm != nil && f.Meta.Class.Kind == frame.PFC {
		port.storm.drown(f)
	}
	var fate link.Fate
	if port.Wire.Faulty() {
		fate = port.Wire.Judge(left, f)
	}
	f.Meta.Left = left
	free, twinArrives := left, arrive
	var twin *frame.Frame
	if fate.Twin {
		if twin = port.copyOf(f, fate.TwinBy); twin != nil {
			free, twinArrives = port.Wire.Start(left, f.Len())
			twin.Meta.Left = free
		}
	}
	e.schedule(event{at: free, kind: evFree, node: n, port: uint16(p)})
	switch {
	case fate.Lost:
		e.schedule(event{at: arrive, kind: evLost, node: n, port: uint16(p), f: f})
	case fate.Behind > 0:
		until := left.Add(fate.Hold + fate.Within)
		port.held = append(port.held, held{f, fate.Behind, until})
		e.schedule(event{at: until, kind: evRelease, node: n, port: uint16(p)})
	default:
		n.pass(p, f, arrive.Add(fate.Hold))
	}
	if twin != nil {
		n.pass(p, twin, twinArrives.Add(fate.Hold))
	}
}

// copyOf makes the second of two equal frames; nil if there is no room for it.
func (p *port) copyOf(f *frame.Frame, by frame.Faults) *frame.Frame {
	twin := p.Pool.Get()
	if twin == nil {
		return nil
	}
	if !twin.Set(f.Bytes()) {
		twin.Release()
		return nil
	}
	twin.Meta = f.Meta
	twin.Meta.Faults = by
	return twin
}

// pass puts a frame on its way, to arrive at the given time, and after it those held back that have
// now waited for enough.
func (n *Node) pass(p dataplane.PortID, f *frame.Frame, arrive unit.Time) {
	e, port := n.eng, &n.ports[p]
	e.schedule(event{at: arrive, kind: evDeliver, node: n, port: uint16(p), f: f})
	for i := range port.held {
		if port.held[i].behind--; port.held[i].behind == 0 {
			e.schedule(event{at: arrive, kind: evDeliver, node: n, port: uint16(p),
				f: port.held[i].f})
		}
	}
	port.held = slices.DeleteFunc(port.held, func(h held) bool { return h.behind == 0 })
}

// release puts those on their way that were held back for as long as they may be.
func (n *Node) release(p dataplane.PortID) {
	e, port := n.eng, &n.ports[p]
	port.held = slices.DeleteFunc(port.held, func(h held) bool {
		if h.until > e.now {
			return false
		}
		arrive := e.now.Add(port.Wire.Config().Delay)
		e.schedule(event{at: arrive, kind: evDeliver, node: n, port: uint16(p), f: h.f})
		return true
	})
}

// survives reports whether a frame that faults have to do with reaches the far end of its wire.
func (n *Node) survives(ev *event) bool {
	port, f := &n.ports[ev.port], ev.f
	if port.state.Down != 0 {
		if f.Meta.Faults == 0 {
			f.Meta.Left = ev.at.Add(-port.Wire.Config().Delay)
		}
		f.Meta.Faults |= port.state.Down
		n.lose(ev)
		return false
	}
	n.observe(Injury{At: f.Meta.Left, Port: dataplane.PortID(ev.port), Frame: f})
	return true
}

// lose ends a frame on its way.
func (n *Node) lose(ev *event) {
	n.observe(Injury{At: ev.f.Meta.Left, Port: dataplane.PortID(ev.port), Frame: ev.f, Lost: true})
	ev.f.Release()
}

// unheard ends a frame that arrives on a port whose link is down.
func (n *Node) unheard(p dataplane.PortID, at unit.Time, f *frame.Frame) {
	f.Meta.Faults, f.Meta.Left = n.Deaf(p), at
	n.observe(Injury{At: at, Port: p, Frame: f, Lost: true, Arrival: true})
	f.Release()
}
