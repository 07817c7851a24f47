package loop

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/engine"
	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// Faults is what makes things go wrong at the loop's ports, by their names. For the loop's thread
// only.
//
// A link's extra delay only adds to the delay that the loop's slack and the clock's budget are made
// from; and a frame that is lost on the wire was never handed to the kernel, so the clock does not
// wait for it.
func (l *Loop) Faults() *fault.Executor { return l.faults }

// injured sees every frame that faults did something to. One that goes on meets the tap when it is
// delivered.
func (l *Loop) injured(i engine.Injury) {
	l.faults.Hit(i.At, i.Frame, i.Lost)
	if i.Lost && !i.Arrival && l.tap != nil {
		l.tap(i.At, i.Port, Out, i.Frame)
	}
}

// driver is the loop as its executor sees it.
type driver struct{ loop *Loop }

func (d driver) At(at unit.Time, call func(unit.Time)) { d.loop.engine.At(at, call) }

// Place finds a port. Its other end is another process's: a link that is to be down at both ends is
// told to both.
func (d driver) Place(name string) (fault.Place, error) {
	for i, p := range d.loop.ports {
		if p.Name == name {
			return fault.Place{Near: d.loop.node.Target(dataplane.PortID(i))}, nil
		}
	}
	return fault.Place{}, fmt.Errorf("no port %s", name)
}
