package scenarios

import (
	"fmt"
	"testing"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/sim"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// bed runs the nodes of a star. Time stands still at 0 until run.
type bed interface {
	// do changes a node from outside, or looks at it.
	do(node int, fn func(now unit.Time))
	// run lets time go by until all nodes have reached until.
	run(until unit.Time)
	// at reads a node at a time that is to come, when everything of that moment has happened. It is
	// called on a goroutine of its own, but done before run(at) returns.
	at(at unit.Time, node int, read func(now unit.Time))
	// tap sees every frame that arrives at a host (In) or has left it (Out). It may be called from
	// another goroutine than the test's, one call at a time, and not any more after stop.
	tap(host int, see func(dir loop.Direction, f *frame.Frame))
	// fault lets something go wrong at a port. A link that goes down does so at both ends.
	fault(node, port int, e fault.Entry)
	// stop ends everything; then the test may look at all nodes.
	stop()
	// hits is how many frames each fault did something to, by its text; for when all is stopped.
	hits() map[string]uint64
}

// virtual is the bed in virtual time.
type virtual struct {
	net   *sim.Net
	nodes []*sim.Node
}

func newVirtual(t testing.TB, s *star) bed {
	t.Helper()
	v := &virtual{net: sim.New(s.pools[s.switchNode()])}
	for i, dev := range s.nodes() {
		ports := 1
		if i == s.switchNode() {
			ports = len(s.hosts)
		}
		v.nodes = append(v.nodes, v.net.Add(nodeName(s, i), dev, ports))
	}
	for i := range s.hosts {
		v.net.Connect(v.nodes[i], 0, v.nodes[s.switchNode()], dataplane.PortID(i),
			link.Config{Rate: s.rate(i), Delay: s.delay})
	}
	return v
}

func (v *virtual) do(node int, fn func(unit.Time)) { v.net.Do(v.nodes[node], fn) }

func (v *virtual) at(at unit.Time, node int, read func(unit.Time)) {
	v.net.At(at, v.nodes[node], read)
}

func (v *virtual) run(until unit.Time) { v.net.Run(until) }

func (v *virtual) tap(host int, see func(loop.Direction, *frame.Frame)) {
	sw := v.nodes[len(v.nodes)-1]
	v.nodes[host].Tap(0, func(_ unit.Time, f *frame.Frame) { see(loop.Out, f) })
	sw.Tap(dataplane.PortID(host), func(_ unit.Time, f *frame.Frame) { see(loop.In, f) })
}

func (v *virtual) fault(node, port int, e fault.Entry) {
	e.Port = fmt.Sprintf("%s:%d", v.nodes[node].Name, port)
	if err := v.net.AddFaults(fault.Plan{e}); err != nil {
		panic(err)
	}
}

func (v *virtual) stop() {}

func (v *virtual) hits() map[string]uint64 { return count(v.net.Faults()) }

func count(executors ...*fault.Executor) map[string]uint64 {
	hits := make(map[string]uint64)
	for _, x := range executors {
		for _, f := range x.List() {
			hits[f.Entry.Fault.String()] += f.Hits
		}
	}
	return hits
}

// nodeName names the nodes as the lab does.
func nodeName(s *star, i int) string {
	if i == s.switchNode() {
		return "sw0"
	}
	return host(i)
}
