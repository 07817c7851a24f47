// Package twin runs a lab in virtual time: the machines of its daemons, with the daemons'
// configurations, links and control calls, in one process and without a kernel.
//
// On real frames the same happens as here, to the nanosecond (package loop says why). So a scenario
// that is written in control calls runs on both, and the twin of a run on real frames is its
// proof.
package twin

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/sim"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/deploy/lab"
)

// Twin is a lab in virtual time. It is not safe for concurrent use.
type Twin struct {
	Net   *sim.Net
	pool  *frame.Pool
	nodes map[string]*node
}

type node struct {
	name   string
	twin   *Twin
	device dataplane.Device
	ports  []daemon.PortConfig
	mac    func(port int) wire.MAC
	sim    *sim.Node
	mux    *http.ServeMux
}

// extra is how many frames that a fault duplicated can be on their way. There are as many more as
// there are hosts, for their announcements.
const extra = 1024

// New builds the twin of a valid topology. Its time stands at zero until Run.
func New(t *lab.Topology) (*Twin, error) {
	pool := frame.NewPool(extra+len(t.Nodes), frameSize(t))
	tw := &Twin{Net: sim.New(pool), pool: pool, nodes: make(map[string]*node)}
	for _, n := range t.Nodes {
		v, err := machine(t, n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.Name, err)
		}
		one := &node{name: n.Name, twin: tw, device: v.Device, mux: http.NewServeMux(),
			mac: v.MAC, ports: v.Ports, sim: tw.Net.Add(n.Name, v.Device, len(v.Ports))}
		tw.nodes[n.Name] = one
		v.Handle(one, one.mux)
		daemon.FaultCalls(one.mux, one, tw.Net.Faults(), n.Name+":")
	}
	for _, l := range t.Links {
		tw.Net.Join(tw.wire(l.Endpoints[0]), tw.wire(l.Endpoints[1]),
			link.Config{Rate: l.Rate, Delay: l.Delay})
	}
	for _, f := range t.Faults {
		if err := tw.Net.AddFaults(fault.Plan{{Port: f.Port.String(), Fault: f.Fault, At: f.At,
			For: f.For}}); err != nil {
			return nil, err
		}
	}
	tw.announce(t)
	tw.Run(0) // in a lab they have arrived before anybody can ask for anything
	return tw, nil
}

// wire is the end of a link as faults of a lab see it: with the daemon's dice.
func (tw *Twin) wire(e lab.Endpoint) sim.End {
	n, port := tw.end(e)
	return sim.End{Node: n.sim, Port: port, Name: e.String(), MAC: n.mac(int(port)),
		Seed: n.ports[port].LinkSeed(n.name)}
}

// announce tells the switches where the hosts are, as a lab does before its time starts.
func (tw *Twin) announce(t *lab.Topology) {
	for _, l := range t.Links {
		for i, e := range l.Endpoints {
			if t.Node(e.Node).Kind != lab.Host {
				continue
			}
			ip, mac := t.Address(e.Node)
			far, port := tw.end(l.Endpoints[1-i])
			f := tw.pool.Get()
			if !f.Set(lab.GratuitousARP(wire.MAC(mac), ip)) {
				panic("twin: an announcement does not fit into a frame")
			}
			tw.Net.Inject(far.sim, port, f)
		}
	}
}

func machine(t *lab.Topology, n lab.Node) (*daemon.Virtual, error) {
	if n.Kind == lab.Switch {
		c := t.SwitchConfig(n)
		return c.Virtual()
	}
	c := t.NICConfig(n)
	return c.Virtual()
}

// frameSize is what a frame must hold for every link.
func frameSize(t *lab.Topology) int {
	ports := make([]daemon.PortConfig, len(t.Links))
	for i := range t.Links {
		ports[i].MTU = t.LinkMTU(&t.Links[i])
	}
	return daemon.FrameSize(ports)
}

func (tw *Twin) end(e lab.Endpoint) (*node, dataplane.PortID) {
	n := tw.nodes[e.Node]
	return n, dataplane.PortID(slices.IndexFunc(n.ports, func(p daemon.PortConfig) bool {
		return p.Name == e.Device
	}))
}

// Client makes control calls to a node.
func (tw *Twin) Client(name string) daemon.Caller {
	return daemon.Local{Name: name, Mux: tw.nodes[name].mux}
}

// Ledger is a node's account of its frames.
func (tw *Twin) Ledger(name string) dataplane.Ledger { return tw.nodes[name].device.Ledger() }

// Run lets time pass up to and including until.
func (tw *Twin) Run(until unit.Time) { tw.Net.Run(until) }

// Do runs fn at the present time.
func (n *node) Do(fn func(now unit.Time)) error {
	n.twin.Net.Do(n.sim, fn)
	return nil
}

// Every calls fn at multiples of interval.
func (n *node) Every(interval time.Duration, fn func(now unit.Time) bool) error {
	step := unit.Time(interval)
	var tick func(now unit.Time)
	tick = func(now unit.Time) {
		if fn(now) {
			n.twin.Net.At(now+step, n.sim, tick)
		}
	}
	n.twin.Net.At((n.twin.Net.Now()/step+1)*step, n.sim, tick)
	return nil
}
