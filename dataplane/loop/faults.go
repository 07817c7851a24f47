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
// A link's extra delay only adds to the delay that the loop's slack and the clock's budget are
// made from; and a frame that is lost on the wire is not handed to the kernel, so its arrival is
// not told and the clock does not wait for it.
func (l *Loop) Faults() *fault.Executor { return l.faults }

// watch sees every frame on a wire that is not perfect.
func (l *Loop) watch(s engine.Sight) {
	if s.Frame.Meta.Faults != 0 {
		l.faults.Hit(s.At, s.Frame, s.Lost)
	}
	switch {
	case l.tap == nil, s.Late:
	case s.Arrival:
		l.tap(s.At, s.Port, In, s.Frame)
	default:
		l.tap(s.At, s.Port, Out, s.Frame)
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
