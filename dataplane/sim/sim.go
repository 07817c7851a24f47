// Package sim drives devices in virtual time: any number of them, wired by links.
//
// Time jumps from event to event, so a 400 Gb/s fabric runs as fast as the machine can compute it,
// and two runs with the same seeds are the same to the nanosecond.
package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/engine"
	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// Net is a network in virtual time. Build it with Add and Connect, then Run it.
type Net struct {
	pool    *frame.Pool
	nodes   []*Node
	faults  *fault.Executor
	now     unit.Time     // while devices run, a lower bound
	calls   engine.Engine // of scenarios and faults; it has no devices
	regions []*region
	agenda  agenda    // nil before start
	window  unit.Time // the shortest link between two regions
	near    time.Duration
}

// Node is a device in a net.
type Node struct {
	Name   string
	dev    dataplane.Device
	ports  []*hop
	node   *engine.Node
	region *region
	same   *Node // a device that shares the region; nil for the one that stands for all
}

// hop is one direction of a link: the outlet of one port and the inlet of its peer.
type hop struct {
	net  *Net
	wire *link.Sender
	to   *Node
	port dataplane.PortID

	// Of to, from start on.
	region *region
	far    *engine.Node

	tap   func(unit.Time, *frame.Frame)
	local string   // the port's name
	mac   wire.MAC // source of PFC frames that faults send there
}

// New makes an empty net. Duplicated frames come from pool, which the devices may share.
func New(pool *frame.Pool) *Net {
	n := &Net{pool: pool, near: near}
	n.OnFault(nil)
	return n
}

// Add puts a device with the given number of ports into the net, before anything happens in it.
func (n *Net) Add(name string, dev dataplane.Device, ports int) *Node {
	if n.agenda != nil {
		panic("sim: " + name + " comes late: the net has started")
	}
	node := &Node{Name: name, dev: dev, ports: make([]*hop, ports)}
	n.nodes = append(n.nodes, node)
	return node
}

// Connect wires port ap of a to port bp of b, both directions alike but for their dice.
func (n *Net) Connect(a *Node, ap dataplane.PortID, b *Node, bp dataplane.PortID, cfg link.Config) {
	end := func(node *Node, p dataplane.PortID, seed uint64) End {
		number := slices.Index(n.nodes, node)
		return End{Node: node, Port: p, Name: fmt.Sprintf("%s:%d", node.Name, p), Seed: seed,
			MAC: MAC(number, int(p))}
	}
	n.Join(end(a, ap, cfg.Seed), end(b, bp, cfg.Seed+1), cfg)
}

// End is a port that is wired.
type End struct {
	Node *Node
	Port dataplane.PortID
	Name string   // of the port, for faults
	MAC  wire.MAC // source of PFC frames that faults send
	Seed uint64   // of the direction that begins here
}

// Join wires two ends to each other.
func (n *Net) Join(a, b End, cfg link.Config) {
	n.half(a, b, cfg)
	n.half(b, a, cfg)
}

func (n *Net) half(a, b End, cfg link.Config) {
	if a.Node.ports[a.Port] != nil {
		panic("sim: " + a.Name + " is connected twice")
	}
	cfg.Seed = a.Seed
	a.Node.ports[a.Port] = &hop{net: n, wire: link.NewSender(cfg), to: b.Node, port: b.Port,
		local: a.Name, mac: a.MAC}
}

// Link is the sending side of a port, to change its faults or rate.
func (n *Node) Link(p dataplane.PortID) *link.Sender { return n.ports[p].wire }

// Tap calls see for every frame that leaves by a port, with the time at which it arrives at the far
// end of the link. see may change the frame and must not keep it.
func (n *Node) Tap(p dataplane.PortID, see func(arrives unit.Time, f *frame.Frame)) {
	n.ports[p].tap = see
}

// Launch has the frame arrive at the far end without a stop at the end of the wire, where nobody
// has anything to do.
func (h *hop) Launch(_, arrive unit.Time, f *frame.Frame) bool {
	if h.tap != nil {
		h.tap(arrive, f)
	}
	f.Meta = frame.Meta{}
	h.region.engine.Arrive(h.far, h.port, arrive, f)
	h.net.agenda.add(h.region.number, arrive)
	return true
}

// Deliver does the same for a frame that Launch refused: there is none.
func (h *hop) Deliver(now unit.Time, f *frame.Frame) { h.Launch(now, now, f) }

// start puts the device into its region's engine.
func (n *Node) start() {
	net := n.region.net
	ports := make([]engine.Port, len(n.ports))
	for i, h := range n.ports {
		ports[i] = engine.Port{Wire: h.wire, Out: h, Pool: net.pool, MAC: h.mac}
	}
	n.node = n.region.engine.Add(n.dev, ports)
	n.node.Watch(func(s engine.Sight) { net.faults.Hit(s.At, s.Frame, s.Lost) })
}

// Inject lets a frame arrive on a port now, as if the far end of its link had sent it before. It
// takes ownership of f.
func (n *Net) Inject(node *Node, p dataplane.PortID, f *frame.Frame) {
	n.start()
	node.region.engine.Arrive(node.node, p, n.now, f)
	node.region.plan()
}

// MAC is the source address of PFC frames that faults send out of a port of a node, by the number
// of the node: locally administered.
func MAC(node, port int) wire.MAC {
	return wire.MAC{0x02, 0x72, 0xfe, byte(node >> 8), byte(node), byte(port)}
}

// Now is the present time. It stands still while devices run, and is of use between two calls of
// Run and to what At calls.
func (n *Net) Now() unit.Time { return n.now }

// Do changes a device from outside at the current time, as an application on a host would.
func (n *Net) Do(node *Node, change func(now unit.Time)) {
	n.start()
	node.region.enter()
	change(n.now)
	node.node.Settle()
	node.region.plan()
}

// At does the same at a later time.
func (n *Net) At(at unit.Time, node *Node, change func(now unit.Time)) {
	n.calls.At(at, func(unit.Time) { n.Do(node, change) })
}

// SetLink takes the link at a port down or up, at both ends.
func (n *Net) SetLink(node *Node, p dataplane.PortID, up bool) {
	h := node.ports[p]
	n.Do(node, func(unit.Time) { node.node.SetLink(p, up) })
	n.Do(h.to, func(unit.Time) { h.to.node.SetLink(h.port, up) })
}

// Check returns the first device whose ledger does not balance.
func (n *Net) Check() error {
	for _, node := range n.nodes {
		l := node.dev.Ledger()
		if err := l.Check(); err != nil {
			return fmt.Errorf("%s: %w", node.Name, err)
		}
	}
	return nil
}
