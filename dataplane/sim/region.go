package sim

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/engine"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// region is a device with an engine of its own, or several that are so near to each other that
// they share one.
//
// A frame takes a link's delay at least, so what regions do within that time after the earliest
// event of all, the window, they do without hearing of each other. They do it one after the other,
// each all of it at once: what a device needs is in the processor's cache for all of its events of
// the window. It makes no difference to what happens, because what is simultaneous on different
// devices has no order (package engine has that of one device), and a lab on real frames, where
// each device is a process, hangs on the same.
type region struct {
	net    *Net
	number int // in the agenda
	engine engine.Engine
}

// near is how long a link must be to lie between two regions. In less time there are hardly any
// events of a device: at 100 Gb/s a packet of 1 KB takes 90 ns.
const near = 200 * time.Nanosecond

// plan has the region run when its next event is due.
func (r *region) plan() { r.net.agenda.add(r.number, r.engine.Next()) }

// enter brings the region to the net's time, so that what happens to its devices happens now.
func (r *region) enter() { r.engine.Pass(r.net.now) }

// start divides the net into regions and puts the devices into their engines. Every port must be
// connected.
func (n *Net) start() {
	if n.agenda != nil {
		return
	}
	for _, node := range n.nodes {
		for p, h := range node.ports {
			if h == nil {
				panic(fmt.Sprintf("sim: %s:%d is not connected", node.Name, p))
			}
			if h.wire.Config().Delay < n.near {
				node.join(h.to)
			}
		}
	}
	for _, node := range n.nodes {
		first := node.first()
		if first.region == nil {
			first.region = &region{net: n, number: len(n.regions)}
			n.regions = append(n.regions, first.region)
		}
		node.region = first.region
		node.start()
	}
	n.agenda, n.window = newAgenda(len(n.regions)), unit.Never
	for _, node := range n.nodes {
		for _, h := range node.ports {
			h.region, h.far = h.to.region, h.to.node
			if h.region != node.region {
				n.window = min(n.window, unit.Time(h.wire.Config().Delay))
			}
		}
	}
	for _, node := range n.nodes {
		node.node.Settle()
		node.region.plan()
	}
}

// join has two devices share a region.
func (n *Node) join(other *Node) {
	if a, b := n.first(), other.first(); a != b {
		a.same = b
	}
}

// first is the device that stands for all of a region.
func (n *Node) first() *Node {
	for n.same != nil {
		n = n.same
	}
	return n
}

// Run runs all events up to and including until, which must not be unit.Never.
//
// What a scenario calls happens when the devices have done what is due at the same moment.
func (n *Net) Run(until unit.Time) {
	n.start()
	for {
		due, call := n.agenda.next(), n.calls.Next()
		switch {
		case min(due, call) > until:
			n.now = max(n.now, until)
			return
		case due <= call:
			n.now = max(n.now, due)
			n.advance(min(until, due.Add(time.Duration(n.window))-1, call))
		default:
			n.now = max(n.now, call)
			n.calls.Step()
		}
	}
}

// advance runs every region up to and including end.
func (n *Net) advance(end unit.Time) {
	n.agenda.run(end, func(number int) unit.Time {
		r := n.regions[number]
		r.engine.Run(end)
		return r.engine.Next()
	})
}

// Events is how many events have run.
func (n *Net) Events() uint64 { return n.sum((*engine.Engine).Events) }

// Moves is how often an event was moved before it ran: what order costs, beyond the events.
func (n *Net) Moves() uint64 { return n.sum((*engine.Engine).Moves) }

func (n *Net) sum(count func(*engine.Engine) uint64) uint64 {
	total := count(&n.calls)
	for _, r := range n.regions {
		total += count(&r.engine)
	}
	return total
}
