package sim

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// Faults is what makes things go wrong in the net. Ports are named as they were joined, or by node
// and number, as in "sw0:3".
func (n *Net) Faults() *fault.Executor { return n.faults }

// OnFault sets who is told of faults and of the frames they hit. Call it before there are any.
func (n *Net) OnFault(tell func(fault.Happening)) {
	n.faults = fault.NewExecutor(driver{n}, tell)
}

// AddFaults takes up a plan at the current time.
func (n *Net) AddFaults(plan fault.Plan) error {
	for _, e := range plan {
		if _, err := n.faults.Add(n.now, e); err != nil {
			return err
		}
	}
	return nil
}

// driver is the net as its executor sees it.
type driver struct{ net *Net }

func (d driver) At(at unit.Time, call func(unit.Time)) { d.net.calls.At(at, call) }

func (d driver) Place(port string) (place fault.Place, err error) {
	d.net.start()
	for _, node := range d.net.nodes {
		for i, h := range node.ports {
			if h.local == port {
				return fault.Place{Near: node.target(dataplane.PortID(i)),
					Far: h.to.target(h.port)}, nil
			}
		}
	}
	return place, fmt.Errorf("no port %s", port)
}

// target is a port as faults act on it.
type target struct {
	fault.Port
	region *region
}

func (n *Node) target(p dataplane.PortID) fault.Port { return target{n.node.Target(p), n.region} }

// SetState changes the port now.
func (t target) SetState(s fault.State) {
	t.region.enter()
	t.Port.SetState(s)
	t.region.plan()
}
