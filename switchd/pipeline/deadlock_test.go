package pipeline

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/sim"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
	"github.com/rocelab/rocelab/switchd/deadlock"
	"github.com/rocelab/rocelab/switchd/fib"
	"github.com/rocelab/rocelab/switchd/mmu"
)

// figure4 is [RDMA at scale] figure 4: two ToRs and two leaves, with the paper's ports. S2 and S3
// are dead: the ToRs know their MAC addresses, but not behind which port they are.
type figure4 struct {
	t        *testing.T
	net      *sim.Net
	switches map[string]*bench
	nodes    map[string]*sim.Node
	hosts    map[string]*blaster
	links    []deadlock.Link
}

// fabric is the switches in order.
var fabric = []string{"T0", "T1", "La", "Lb"}

// end is one end of a link: a host has only port p0.
type end struct {
	device string
	port   dataplane.PortID
}

// wiring is the figure's, and S6 to S8 on further ports of T1, "other sources" of the incast to S5.
var wiring = [][2]end{
	{{"S1", 0}, {"T0", 0}}, {{"S2", 0}, {"T0", 1}}, {{"S3", 0}, {"T1", 0}}, {{"S4", 0}, {"T1", 1}},
	{{"S5", 0}, {"T1", 2}}, {{"S6", 0}, {"T1", 5}}, {{"S7", 0}, {"T1", 6}}, {{"S8", 0}, {"T1", 7}},
	{{"T0", 2}, {"La", 0}}, {{"La", 1}, {"T1", 3}}, {{"T0", 3}, {"Lb", 0}}, {{"Lb", 1}, {"T1", 4}},
}

// routers have these MAC addresses by number.
var routers = map[string]wiretest.MACOrNumber{"T0": 100, "T1": 101, "La": 102, "Lb": 103}

// interfaces are the routers' addresses by port; the bridge of a ToR is -1.
var interfaces = map[string]map[int]string{
	"T0": {-1: "10.0.0.254/24", 2: "172.16.0.0/31", 3: "172.16.0.2/31"},
	"T1": {-1: "10.0.1.254/24", 3: "172.16.1.0/31", 4: "172.16.1.2/31"},
	"La": {0: "172.16.0.1/31", 1: "172.16.1.1/31"},
	"Lb": {0: "172.16.0.3/31", 1: "172.16.1.3/31"},
}

// routes send what goes to T1's servers through La and what goes to T0's through Lb.
var routes = map[string][2]string{
	"T0": {"10.0.1.0/24", "172.16.0.1"}, "La": {"10.0.1.0/24", "172.16.1.0"},
	"T1": {"10.0.0.0/24", "172.16.1.3"}, "Lb": {"10.0.0.0/24", "172.16.0.2"},
}

func newFigure4(t *testing.T, remedy fib.Remedy, dog pfc.WatchdogConfig) *figure4 {
	f := &figure4{t: t, switches: map[string]*bench{}, nodes: map[string]*sim.Node{},
		hosts: map[string]*blaster{}}
	f.net = sim.New(frame.NewPool(64, maxFrame))
	for i, name := range fabric {
		c := testConfig([]int{4, 8, 2, 2}[i])
		c.Router = &fib.RouterConfig{MAC: routers[name].MAC(), Class: 6, Incomplete: remedy,
			Routes: []fib.Route{{Prefix: netip.MustParsePrefix(routes[name][0]),
				NextHops: []netip.Addr{ip(routes[name][1])}}}}
		for port := -1; port < len(c.Ports); port++ {
			if addr, ok := interfaces[name][port]; ok {
				id := fib.VLAN
				if port >= 0 {
					id = dataplane.PortID(port)
				}
				c.Router.Interfaces = append(c.Router.Interfaces, fib.Interface{Name: addr,
					Port: id, Addresses: []netip.Prefix{netip.MustParsePrefix(addr)}})
			}
		}
		for i := range c.Ports {
			c.Ports[i].Name, c.Ports[i].Watchdog = fmt.Sprintf("p%d", i), dog
			// XON is so far below XOFF that the flooded packets alone keep a group in XOFF, as the
			// paper has it: "even if the black packets leave T1".
			g := &c.Ports[i].Groups[3]
			g.Limit, g.XONOffset = mmu.Limit{Static: 40 * unit.KB}, 30*unit.KB
		}
		b := newBench(t, c)
		f.switches[name] = b
		f.nodes[name] = f.net.Add(name, b.dev, len(c.Ports))
	}
	f.wire()
	f.introduce()
	return f
}

func (f *figure4) wire() {
	for _, w := range wiring {
		var at [2]*sim.Node
		var ports [2]deadlock.Port
		for i, e := range w {
			if f.nodes[e.device] == nil {
				h := &blaster{pool: frame.NewPool(256, maxFrame), rx: pfc.NewReceiver(
					pfc.ReceiverConfig{Rate: lineRate, Obeyed: pfc.SetOf(3)})}
				f.hosts[e.device], f.nodes[e.device] = h, f.net.Add(e.device, h, 1)
			}
			at[i] = f.nodes[e.device]
			ports[i] = deadlock.Port{Device: e.device, Name: fmt.Sprintf("p%d", e.port)}
		}
		f.net.Connect(at[0], w[0].port, at[1], w[1].port,
			link.Config{Rate: lineRate, Delay: time.Microsecond})
		f.links = append(f.links, deadlock.Link{A: ports[0], B: ports[1]})
	}
}

// introduce tells the routers of their neighbours, and lets the MAC addresses of the dead age out.
func (f *figure4) introduce() {
	for _, w := range wiring {
		if server, tor := w[0], w[1]; server.device[0] == 'S' {
			n := int(server.device[1] - '0')
			f.switches[tor.device].announce(tor.port, wiretest.MACOrNumber(n),
				fmt.Sprintf("10.0.%c.%d", tor.device[1], n))
		}
	}
	f.switches["T0"].announce(2, routers["La"], "172.16.0.1")
	f.switches["La"].announce(1, routers["T1"], "172.16.1.0")
	f.switches["T1"].announce(4, routers["Lb"], "172.16.1.3")
	f.switches["Lb"].announce(0, routers["T0"], "172.16.0.2")
	f.switches["T0"].sw.MACs().FlushPort(1)
	f.switches["T1"].sw.MACs().FlushPort(0)
}

// sends has a host send packets to these servers by turns, from now on; none: it stops.
func (f *figure4) sends(host string, router string, servers ...string) {
	h, number := f.hosts[host], wiretest.MACOrNumber(host[1]-'0')
	h.frames = nil
	for _, s := range servers {
		p := ipPacket{Src: "10.9.9.9", Dst: s, MAC: number, DSCP: 26, Payload: make([]byte, 1000)}
		b := p.bytes()
		(*wire.Ethernet)(b).SetDst(routers[router].MAC())
		h.frames = append(h.frames, b)
	}
	f.net.Do(f.nodes[host], func(unit.Time) { h.ready.Add(0) })
}

// traffic is what the figure's servers send: purple to S3 and black to S5 from S1, the incast to
// S5, blue to S2 from S4.
func (f *figure4) traffic() {
	f.sends("S1", "T0", "10.0.1.3", "10.0.1.5")
	for _, host := range []string{"S6", "S7", "S8"} {
		f.sends(host, "T1", "10.0.1.5")
	}
	f.sends("S4", "T1", "10.0.0.2")
}

func (f *figure4) silence() {
	for _, host := range []string{"S1", "S4", "S6", "S7", "S8"} {
		f.sends(host, "T0")
	}
}

func (f *figure4) report() deadlock.Report {
	var parts []deadlock.Part
	for _, name := range fabric {
		part, sw := deadlock.Part{Device: name}, f.switches[name].sw
		for _, w := range sw.Waits(f.net.Now()) {
			part.Waits = append(part.Waits, w.Named(sw.PortName))
		}
		parts = append(parts, part)
	}
	return deadlock.Find(parts, f.links)
}

// stored is how much the switches hold.
func (f *figure4) stored() (n uint64) {
	for _, b := range f.switches {
		l := b.sw.Ledger()
		if err := l.Check(); err != nil {
			f.t.Fatal(err)
		}
		n += l.Buffered.Bytes
	}
	return n
}

// TestFigure4Deadlock: the paper's deadlock. Flooding closes a cycle of pauses through all four
// switches; it "does not go away even if we restart all the servers": nothing moves for ten
// seconds after the last packet was sent.
func TestFigure4Deadlock(t *testing.T) {
	f := newFigure4(t, fib.Flood, pfc.WatchdogConfig{})
	f.traffic()
	f.net.Run(20_000 * us)
	f.silence()
	f.net.Run(30_000 * us)
	r, before := f.report(), f.stored()
	if len(r.Cycles) != 1 || len(r.Cycles[0].Ports) != 4 || before == 0 {
		t.Fatalf("%d bytes stored; %v", before, r)
	}
	t.Log("\n" + r.String())
	want := map[string]bool{"La:p1 prio 3": true, "T0:p2 prio 3": true, "Lb:p0 prio 3": true,
		"T1:p4 prio 3": true}
	for _, p := range r.Cycles[0].Ports {
		delete(want, p.Node.String())
	}
	if len(want) != 0 {
		t.Errorf("the paper's cycle also has %v", want)
	}
	if n := len(r.Cycles[0].Escapes); n != 0 {
		t.Errorf("%d ways out of a deadlock", n)
	}
	f.net.Run(10_030_000 * us)
	if after := f.stored(); after != before || f.report().String() != r.String() {
		t.Errorf("ten seconds later %d of %d bytes are left; %v", after, before, f.report())
	}
}

// TestFigure4Cured: with the paper's remedy there is no cycle, also under traffic; with a watchdog
// on the ports the one that flooding makes is broken up within its times.
func TestFigure4Cured(t *testing.T) {
	f := newFigure4(t, fib.DropLossless, pfc.WatchdogConfig{})
	f.traffic()
	for now := 1000 * us; now <= 20_000*us; now += 1000 * us {
		f.net.Run(now)
		if r := f.report(); len(r.Cycles) != 0 {
			t.Fatalf("with the remedy, at %v: %v", now, r)
		}
	}
	f.silence()
	f.net.Run(30_000 * us)
	if n := f.stored(); n != 0 {
		t.Errorf("with the remedy, %d bytes do not drain", n)
	}

	f = newFigure4(t, fib.Flood, pfc.SONiCWatchdog())
	f.traffic()
	f.net.Run(20_000 * us)
	f.silence()
	f.net.Run(30_000 * us)
	if r := f.report(); len(r.Cycles) != 1 {
		t.Fatalf("no deadlock to cure: %v", r)
	}
	f.net.Run(1000_000 * us)
	if r, n := f.report(), f.stored(); len(r.Cycles) != 0 || n != 0 {
		t.Errorf("one second later %d bytes are left: %v", n, r)
	}
	var s Snapshot
	storms := uint64(0)
	for _, b := range f.switches {
		b.sw.Snapshot(f.net.Now(), &s)
		for i := range s.Ports {
			w := &s.Ports[i].Watchdog[3]
			storms += w.Detected
			if w.Detected != w.Restored {
				t.Errorf("%s: %d storms, %d restored", s.Ports[i].Name, w.Detected, w.Restored)
			}
		}
	}
	if storms == 0 {
		t.Error("no watchdog found a storm")
	}
	t.Logf("%d storms", storms)
}
