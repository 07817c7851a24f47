package scenarios

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/nicd/app"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/qp"
	"github.com/rocelab/rocelab/switchd"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// flowDepth is how many messages a flow has under way at a time.
const flowDepth = 4

// setup is what a star is built from. The last host receives from all others.
type setup struct {
	senders   int
	rates     []unit.Rate // of the links by host; 40 Gb/s for those not listed
	delay     time.Duration
	algorithm string
	preset    string // of it; empty: its default
	params    map[string]any
	classes   map[uint8]nicd.CCConfig // in place of the algorithm, by traffic class
	own       map[int]string          // likewise, the algorithm of single hosts
	dscp      []uint8                 // of the senders' data; the default if there are none
	message   int                     // bytes
	seed      uint64                  // of the marking decisions
	nicSeeds  uint64                  // added to those of the hosts
	pmax      float64                 // of marking, in percent; 0: the default
	timeout   uint8                   // of queue pairs, as in the verbs; 0: the default

	void    bool               // payload is of void regions
	span    int                // bytes that messages take in turn; 0: all take the same
	receive nicd.ReceiveConfig // of the receiver; zero: the default
}

// star is hosts around one switch. Host i is on the switch's port i.
type star struct {
	setup
	hosts []*app.Host
	sw    *pipeline.Switch
	pools []*frame.Pool // by node
	flows []app.Flow    // by sender, ready to be started
}

// receiver is the number of the receiving host, and of its port.
func (s *star) receiver() int { return s.senders }

// switchNode is the number of the switch among the nodes, behind the hosts.
func (s *star) switchNode() int { return len(s.hosts) }

func (s *setup) rate(host int) unit.Rate {
	if host < len(s.rates) {
		return s.rates[host]
	}
	return 40 * unit.GbPerSecond
}

// The pools. On loops all frames that the switch stores are its own, and its buffer is full with
// fewer than it has; in virtual time they are the senders'.
const (
	hostFrames   = 4096
	switchFrames = 16384
	frameSize    = 1792
)

// Addresses and seeds are those that a lab gives to the hosts of a star, whose first node is the
// switch: so the same packets have the same bytes there.
func hostMAC(i int) wire.MAC { return wire.MAC{2, 0x72, 0, 0, 0, byte(i)} }

func hostIP(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}) }

func hostSeed(i int) uint64 { return uint64(i) + 2 }

func newStar(t testing.TB, s setup) *star {
	t.Helper()
	st := &star{setup: s}
	for i := range s.senders + 1 {
		st.pools = append(st.pools, frame.NewPool(hostFrames, frameSize))
		st.hosts = append(st.hosts, newHost(t, &s, i, st.pools[i]))
	}
	st.pools = append(st.pools, frame.NewPool(switchFrames, frameSize))
	st.sw = newSwitch(t, &s, st.pools[s.senders+1])
	for i := range s.senders {
		st.flows = append(st.flows, st.connect(t, i))
	}
	return st
}

func newHost(t testing.TB, s *setup, i int, pool *frame.Pool) *app.Host {
	t.Helper()
	c := nicd.Default()
	c.MAC, c.IPv4 = hostMAC(i), hostIP(i)
	c.Port = daemon.PortConfig{Name: "eth0", Rate: s.rate(i), Delay: s.delay}
	c.CC = nicd.CCConfig{Algorithm: s.algorithm, Preset: s.preset, Params: s.params}
	c.Seed = hostSeed(i) + s.nicSeeds
	if s.classes != nil {
		c.TCToCCMap, c.PFCEnable = s.classes, []uint8{3, 4}
	}
	if own, ok := s.own[i]; ok {
		c.CC = nicd.CCConfig{Algorithm: own}
	}
	if s.timeout != 0 {
		c.QP.Timeout = s.timeout
	}
	if i == s.senders && s.receive != (nicd.ReceiveConfig{}) {
		c.Receive = s.receive
	}
	machine, err := c.Machine()
	if err != nil {
		t.Fatal(err)
	}
	n, err := nic.New(machine, pool)
	if err != nil {
		t.Fatal(err)
	}
	return app.NewHost(n)
}

func newSwitch(t testing.TB, s *setup, pool *frame.Pool) *pipeline.Switch {
	t.Helper()
	c := switchd.Default()
	c.Seed = s.seed
	if s.pmax > 0 {
		c.WRED.DropProbability = s.pmax
	}
	if s.algorithm == "none" || s.algorithm == "qcn" {
		c.WRED.ECN = "ecn_none" // nobody would listen
	}
	if s.algorithm == "hpcc" {
		c.Telemetry.Queues = []uint8{dataClass}
	}
	if s.algorithm == "qcn" {
		c.QCN.Queues = []uint8{dataClass}
	}
	for i := range s.senders + 1 {
		c.Ports = append(c.Ports, daemon.PortConfig{Name: fmt.Sprintf("swp%d", i+1),
			Rate: s.rate(i), Delay: s.delay})
	}
	machine, err := c.Machine()
	if err != nil {
		t.Fatal(err)
	}
	sw, err := pipeline.New(machine, pool)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.senders + 1 {
		if err := sw.MACs().AddStatic(hostMAC(i), dataplane.PortID(i)); err != nil {
			t.Fatal(err)
		}
	}
	return sw
}

// connect makes a queue pair from sender i to the receiver, and the flow that uses it.
func (s *star) connect(t testing.TB, i int) app.Flow {
	t.Helper()
	ends := [2]*nic.NIC{s.hosts[i].NIC(), s.hosts[s.receiver()].NIC()}
	var locals [2]nic.Local
	var regions [2]*qp.Region
	var service nic.Service
	if len(s.dscp) > 0 {
		service.DSCP = &s.dscp[i]
	}
	for e, n := range ends {
		var err error
		access := qp.Access{LocalWrite: true, RemoteWrite: true}
		register := n.RegisterMR
		if s.void {
			register = n.RegisterVoid
		}
		if regions[e], err = register(max(s.message, s.span), access); err != nil {
			t.Fatal(err)
		}
		if locals[e], err = n.CreateRC(n.QPConfig(), service); err != nil {
			t.Fatal(err)
		}
	}
	for e, n := range ends {
		peer, cfg := locals[1-e], ends[1-e].Config()
		if err := n.Connect(locals[e].QPN, nic.Remote{QPN: peer.QPN, PSN: peer.PSN,
			IP: cfg.IPv4, MAC: cfg.MAC, Feedback: true}); err != nil {
			t.Fatal(err)
		}
	}
	return app.Flow{Name: fmt.Sprintf("h%d > h%d", i+1, s.receiver()+1), QPN: locals[0].QPN,
		Op: qp.Write, Depth: flowDepth, Span: s.span,
		Local:  qp.Local{Key: regions[0].Key, VA: regions[0].VA, Length: s.message},
		Remote: qp.Remote{VA: regions[1].VA, RKey: regions[1].Key}}
}

// nodes are the devices by their numbers.
func (s *star) nodes() (list []dataplane.Device) {
	for _, h := range s.hosts {
		list = append(list, h)
	}
	return append(list, s.sw)
}

// start gives every sender its flow, changed by the caller.
func (s *star) start(t testing.TB, b bed, change func(i int, f *app.Flow)) {
	t.Helper()
	for i, f := range s.flows {
		change(i, &f)
		var err error
		b.do(i, func(now unit.Time) { _, err = s.hosts[i].Start(now, f) })
		if err != nil {
			t.Fatal(err)
		}
	}
}

// check looks at every ledger and for frames that are left anywhere. Call it when the bed stands
// still and all is over.
func (s *star) check(t testing.TB) {
	t.Helper()
	for i, n := range s.nodes() {
		l := n.Ledger()
		if err := l.Check(); err != nil {
			t.Errorf("node %d: %v", i, err)
		}
		if d := l.DroppedTotal().Frames; d != 0 {
			t.Errorf("node %d dropped %d frames: %v", i, d, l.Dropped)
		}
		if n := s.pools[i].InUse(); n != 0 {
			t.Errorf("node %d: %d of its frames are still in use", i, n)
		}
	}
}
