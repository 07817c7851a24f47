package switchplan

import (
	"fmt"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/sim"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// node is one of the two devices of a bed.
type node int

const (
	theSwitch node = iota
	theTester
	nodes // how many
)

// bed runs the switch and the tester, port n wired to port n. Time stands still at 0 until run.
type bed interface {
	// do changes a device from outside, or looks at it.
	do(n node, fn func(now unit.Time))
	// at does the same when virtual time is at. It must be called before that.
	at(at unit.Time, n node, fn func(now unit.Time))
	// run lets time go by until both devices have reached until.
	run(until unit.Time)
	// enforce puts the watchdog's verdict on a port into force where frames arrive, as the daemon
	// does; the switch itself has it already. Call it in the switch's own time.
	enforce(port dataplane.PortID)
	// filtered is how many frames of a class were dropped there.
	filtered(port int, class uint8) uint64
	// fault makes something go wrong where frames leave a port of the switch, from now on.
	fault(port int, text string)
	// wasted is how many frames faults have lost on the wires, by the device that sent them.
	wasted(n node) uint64
	// lost is how many frames the emulator lost, which is a fault of the bed.
	lost() uint64
	// stop ends everything; then the test may look at both devices.
	stop()
}

// setup is what a bed is made of.
type setup struct {
	sw     *pipeline.Switch
	tester *tester
	cfg    *pipeline.Config
	delay  time.Duration // of every link
	pools  [nodes]*frame.Pool
}

func (s *setup) device(n node) dataplane.Device {
	if n == theSwitch {
		return s.sw
	}
	return s.tester
}

func (s *setup) link(port int) link.Config {
	return link.Config{Rate: s.cfg.Ports[port].Rate, Delay: s.delay}
}

// virtual is the bed in virtual time.
type virtual struct {
	t     *testing.T
	ports int
	net   *sim.Net
	nodes [nodes]*sim.Node
}

func newVirtual(t *testing.T, s *setup) bed {
	ports := len(s.cfg.Ports)
	v := &virtual{t: t, ports: ports, net: sim.New(s.pools[theSwitch])}
	v.nodes[theSwitch] = v.net.Add("switch", s.sw, ports)
	v.nodes[theTester] = v.net.Add("tester", s.tester, ports)
	for i := range ports {
		v.net.Connect(v.nodes[theSwitch], dataplane.PortID(i), v.nodes[theTester],
			dataplane.PortID(i), s.link(i))
	}
	return v
}

func (v *virtual) do(n node, fn func(unit.Time)) { v.net.Do(v.nodes[n], fn) }

func (v *virtual) at(at unit.Time, n node, fn func(unit.Time)) { v.net.At(at, v.nodes[n], fn) }

func (v *virtual) run(until unit.Time) { v.net.Run(until) }

func (v *virtual) enforce(dataplane.PortID) {}

func (v *virtual) filtered(int, uint8) uint64 { return 0 }

func (v *virtual) fault(port int, text string) {
	e, err := entry(fmt.Sprintf("switch:%d", port), text)
	if err == nil {
		err = v.net.AddFaults(fault.Plan{e})
	}
	if err != nil {
		v.t.Fatal(err)
	}
}

// entry is a fault that begins now and does not end.
func entry(port, text string) (e fault.Entry, err error) {
	e.Port = port
	e.Fault, err = fault.Parse(text)
	return e, err
}

func (v *virtual) wasted(n node) (sum uint64) {
	for i := range v.ports {
		sum += v.nodes[n].Link(dataplane.PortID(i)).Stats.Lost
	}
	return sum
}

func (v *virtual) lost() uint64 { return 0 }

func (v *virtual) stop() {}
