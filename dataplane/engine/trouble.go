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
	due   int    // frames on the wire that are still to be launched
	held  []held // frames that wait until others have passed, oldest first
}

// held is a frame held back on the wire.
type held struct {
	f      *frame.Frame
	behind int       // so many frames are still to pass
	until  unit.Time // it goes on its way then at the latest
}

// disturbed reports whether frames cannot be launched as they start, because others that are on the
// wire may arrive before them.
func (t *trouble) disturbed() bool { return t.storm != nil || t.due > 0 || len(t.held) > 0 }

// Sight is a frame on a wire that is not perfect, as a watcher sees it. Its Meta.Faults says what
// did something to it.
type Sight struct {
	At      unit.Time // when its first bit leaves; of an arrival, when the last one arrives
	Port    dataplane.PortID
	Frame   *frame.Frame // of the engine's; good until the watcher returns
	Lost    bool
	Arrival bool // the frame came in on a port whose link is down
	Late    bool // seen before, when it left, and lost since
}

// Watch sets who sees the frames that leave by wires that are not perfect, and those that are lost
// because a link is down.
func (n *Node) Watch(see func(Sight)) { n.watch = see }

// Target is a port of the node as faults act on it.
func (n *Node) Target(p dataplane.PortID) fault.Port { return target{n, p} }

type target struct {
	node *Node
	id   dataplane.PortID
}

func (t target) Link() *link.Sender { return t.node.ports[t.id].Wire }

// SetState changes what faults make of the port. A frozen port's device is not asked for frames and
// believes that its wire is busy. While the link is down, what arrives is lost, and so what is on
// the wire: the link is down at both ends.
func (t target) SetState(s fault.State) {
	port := &t.node.ports[t.id]
	port.setStorm(s)
	port.state = s
	t.node.relink(t.id)
}

// disturb sends a frame over a wire that is not perfect: its last bit leaves at left and would
// arrive at arrive.
func (n *Node) disturb(p dataplane.PortID, f *frame.Frame, left, arrive unit.Time) {
	e, port := n.eng, &n.ports[p]
	f.Meta.Watched = true
	if port.storm != nil && f.Meta.Class.Kind == frame.PFC {
		port.storm.drown(f)
	}
	var fate link.Fate
	if port.Wire.Faulty() {
		fate = port.Wire.Judge(left, f)
	}
	twinArrives := arrive
	var twin *frame.Frame
	if fate.Twin {
		if twin = port.copyOf(f, fate.TwinBy); twin != nil {
			port.free, twinArrives = port.Wire.Start(left, f.Len())
		}
	}
	n.watch(Sight{At: e.now, Port: p, Frame: f, Lost: fate.Lost})
	switch {
	case fate.Lost:
		f.Release()
	case fate.Behind > 0:
		until := left.Add(fate.Hold + fate.Within)
		port.held = append(port.held, held{f, fate.Behind, until})
		e.inside.push(event{at: until, rank: rank(evRelease, p), node: n})
	default:
		n.pass(p, f, arrive.Add(fate.Hold))
	}
	if twin != nil {
		n.watch(Sight{At: left, Port: p, Frame: twin})
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
	port := &n.ports[p]
	n.later(p, f, arrive)
	for i := range port.held {
		if port.held[i].behind--; port.held[i].behind == 0 {
			n.later(p, port.held[i].f, arrive)
		}
	}
	port.held = slices.DeleteFunc(port.held, func(h held) bool { return h.behind == 0 })
}

// later launches a frame a propagation delay before it arrives. So frames are launched in the
// order of their arrival, whatever held them back, and early enough: a driver counts on the delay.
func (n *Node) later(p dataplane.PortID, f *frame.Frame, arrive unit.Time) {
	port := &n.ports[p]
	port.due++
	f.Meta.Arrived = arrive
	at := arrive.Add(-port.Wire.Config().Delay)
	n.eng.inside.push(event{at: at, rank: rank(evLaunch, p), node: n, f: f})
}

// enter launches a frame whose time has come, unless the link has gone down meanwhile.
func (n *Node) enter(p dataplane.PortID, f *frame.Frame) {
	port := &n.ports[p]
	port.due--
	if down := port.state.Down; down != 0 {
		f.Meta.Faults = down
		n.watch(Sight{At: n.eng.now, Port: p, Frame: f, Lost: true, Late: true})
		f.Release()
		return
	}
	n.launch(p, f.Meta.Arrived, f)
}

// release puts those on their way that were held back for as long as they may be.
func (n *Node) release(p dataplane.PortID) {
	e, port := n.eng, &n.ports[p]
	port.held = slices.DeleteFunc(port.held, func(h held) bool {
		if h.until > e.now {
			return false
		}
		n.later(p, h.f, e.now.Add(port.Wire.Config().Delay))
		return true
	})
}

// unheard ends a frame that arrives on a port whose link is down.
func (n *Node) unheard(p dataplane.PortID, f *frame.Frame) {
	f.Meta.Faults = n.ports[p].state.Down
	n.watch(Sight{At: n.eng.now, Port: p, Frame: f, Lost: true, Arrival: true})
	f.Release()
}
