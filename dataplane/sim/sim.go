// Package sim drives devices in virtual time: any number of them, wired by links, in one engine.
//
// Time jumps from event to event, so a 400 Gb/s fabric runs as fast as the machine can compute it,
// and two runs with the same seeds are the same to the nanosecond.
package sim

import (
	"fmt"
	"slices"

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
	Engine engine.Engine
	pool   *frame.Pool
	nodes  []*Node
	faults *fault.Executor
}

// Node is a device in a net.
type Node struct {
	Name  string
	dev   dataplane.Device
	ports []*hop
	node  *engine.Node
}

// hop is one direction of a link: the outlet of one port and the inlet of its peer.
type hop struct {
	net   *Net
	wire  *link.Sender
	to    *Node
	port  dataplane.PortID
	tap   func(unit.Time, *frame.Frame)
	local string   // the port's name
	mac   wire.MAC // source of PFC frames that faults send there
}

// New makes an empty net. Duplicated frames come from pool, which the devices may share.
func New(pool *frame.Pool) *Net {
	n := &Net{pool: pool}
	n.OnFault(nil)
	return n
}

// Add puts a device with the given number of ports into the net.
func (n *Net) Add(name string, dev dataplane.Device, ports int) *Node {
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

// Tap calls see for every frame when it arrives at the far end of the port's link. see must not
// keep the frame.
func (n *Node) Tap(p dataplane.PortID, see func(now unit.Time, f *frame.Frame)) {
	n.ports[p].tap = see
}

// Launch has the frame arrive at the far end without a stop at the end of the wire, where nobody
// but a tap has anything to do.
func (h *hop) Launch(_, arrive unit.Time, f *frame.Frame) bool {
	if h.tap != nil {
		return false
	}
	f.Meta = frame.Meta{}
	h.net.Engine.Arrive(h.to.node, h.port, arrive, f)
	return true
}

// Deliver shows the frame to the tap, and hands it to the device at the far end.
func (h *hop) Deliver(now unit.Time, f *frame.Frame) {
	h.tap(now, f)
	f.Meta = frame.Meta{}
	h.net.Engine.Arrive(h.to.node, h.port, now, f)
}

// start puts the devices into the engine; every port must be connected.
func (n *Net) start() {
	for _, node := range n.nodes {
		if node.node != nil {
			continue
		}
		ports := make([]engine.Port, len(node.ports))
		for i, h := range node.ports {
			if h == nil {
				panic(fmt.Sprintf("sim: %s:%d is not connected", node.Name, i))
			}
			ports[i] = engine.Port{Wire: h.wire, Out: h, Pool: n.pool, MAC: h.mac}
		}
		node.node = n.Engine.Add(node.dev, ports)
		node.node.Watch(func(s engine.Sight) { n.faults.Hit(s.At, s.Frame, s.Lost) })
	}
}

// Inject lets a frame arrive on a port now, as if the far end of its link had sent it before. It
// takes ownership of f.
func (n *Net) Inject(node *Node, p dataplane.PortID, f *frame.Frame) {
	n.start()
	n.Engine.Arrive(node.node, p, n.Engine.Now(), f)
}

// MAC is the source address of PFC frames that faults send out of a port of a node, by the number
// of the node: locally administered.
func MAC(node, port int) wire.MAC {
	return wire.MAC{0x02, 0x72, 0xfe, byte(node >> 8), byte(node), byte(port)}
}

// Run runs all events up to and including until.
func (n *Net) Run(until unit.Time) {
	n.start()
	n.Engine.Run(until)
}

// Do changes a device from outside at the current time, as an application on a host would.
func (n *Net) Do(node *Node, change func(now unit.Time)) {
	n.start()
	change(n.Engine.Now())
	node.node.Settle()
}

// At does the same at a later time.
func (n *Net) At(at unit.Time, node *Node, change func(now unit.Time)) {
	n.start()
	n.Engine.At(at, func(now unit.Time) {
		change(now)
		node.node.Settle()
	})
}

// SetLink takes the link at a port down or up, at both ends.
func (n *Net) SetLink(node *Node, p dataplane.PortID, up bool) {
	n.start()
	h := node.ports[p]
	node.node.SetLink(p, up)
	h.to.node.SetLink(h.port, up)
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
