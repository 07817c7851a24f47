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
		if _, err := n.faults.Add(n.Engine.Now(), e); err != nil {
			return err
		}
	}
	return nil
}

// driver is the net as its executor sees it.
type driver struct{ net *Net }

func (d driver) At(at unit.Time, call func(unit.Time)) { d.net.Engine.At(at, call) }

func (d driver) Place(port string) (place fault.Place, err error) {
	d.net.start()
	for _, node := range d.net.nodes {
		for i, h := range node.ports {
			if h.local == port {
				return fault.Place{Near: node.node.Target(dataplane.PortID(i)),
					Far: h.to.node.Target(h.port)}, nil
			}
		}
	}
	return place, fmt.Errorf("no port %s", port)
}
