package app

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/cm"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

const echo = ib.ServiceID(0x0000000001060007)

// program is an end that notes what it is told and accepts what it is asked, unless it refuses.
type program struct {
	t      tester
	host   *Host
	told   []cm.Event
	refuse *cm.Refusal
	qps    []ib.QPN
}

func (p *program) Connection(now unit.Time, e *cm.Event) {
	p.told = append(p.told, *e)
	switch {
	case e.Kind == cm.Requested && p.refuse != nil:
		if err := p.host.RejectCM(now, e.ID, *p.refuse); err != nil {
			p.t.Fatal(err)
		}
	case e.Kind == cm.Requested:
		qpn := p.create()
		r := cm.Reply{QP: cm.QP{QPN: qpn, Resources: 4, Depth: 4, RNRRetry: 7}}
		if err := p.host.AcceptCM(now, e.ID, r); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *program) create() ib.QPN {
	cfg := p.host.nic.QPConfig()
	cfg.SendQueue, cfg.ReceiveQueue = 4, 4
	l, err := p.host.nic.CreateQP(cfg)
	if err != nil {
		p.t.Fatal(err)
	}
	p.qps = append(p.qps, l.QPN)
	return l.QPN
}

// count is how often an event was told.
func (p *program) count(k cm.EventKind) (n int) {
	for i := range p.told {
		if p.told[i].Kind == k {
			n++
		}
	}
	return n
}

// of is the state of the program's i-th QP.
func (p *program) of(i int) qp.State { return p.host.nic.QP(p.qps[i]).State() }

// call is a lab with a program at each end, the second of which listens.
type call struct {
	*lab
	a, b *program
}

// quick makes the manager's deadlines fit a test: 1 ms for an answer and a little for the way.
func quick(c *nic.Config) {
	c.CM.ResponseTimeout, c.CM.PacketLifetime, c.CM.AckDelay = 8, 3, 3
	c.CM.ServiceTimeout = 12
}

func newCall(t tester, cfg link.Config, change func(*nic.Config)) *call {
	t.Helper()
	c := &call{lab: newLab(t, 1<<16, cfg, func(c *nic.Config) {
		quick(c)
		if change != nil {
			change(c)
		}
	})}
	c.a, c.b = &program{t: t, host: c.hosts[0]}, &program{t: t, host: c.hosts[1]}
	c.at(1, func(now unit.Time) {
		if err := c.hosts[1].ListenCM(now, echo, 2000, c.b); err != nil {
			t.Fatal(err)
		}
	})
	return c
}

func (c *call) at(side int, fn func(now unit.Time)) { c.net.Do(c.nodes[side], fn) }

func (c *call) path() cm.Path {
	from, to := c.hosts[0].nic.Config(), c.hosts[1].nic.Config()
	return cm.Path{Source: from.IPv4, Dest: to.IPv4, MAC: to.MAC}
}

// dial asks for a connection.
func (c *call) dial(t tester, s ib.ServiceID, private string) (id cm.ID) {
	t.Helper()
	c.at(0, func(now unit.Time) {
		r := cm.Request{Path: c.path(), Service: s, Retry: 7, Private: []byte(private),
			From: netip.AddrPortFrom(c.path().Source, 999),
			QP:   cm.QP{QPN: c.a.create(), Resources: 4, Depth: 4, RNRRetry: 7}}
		var err error
		if id, err = c.hosts[0].ConnectCM(now, r, c.a); err != nil {
			t.Fatal(err)
		}
	})
	return id
}

func (c *call) run(d time.Duration) { c.net.Run(c.net.Now().Add(d)) }

// write sends the region by the connection of the first program's i-th QP.
func (c *call) write(t tester, i int, size int) {
	t.Helper()
	f := c.flow(qp.Write, size, 1)
	f.QPN, f.Messages = c.a.qps[i], 1
	c.start(t, f)
}

var goodWire = link.Config{Rate: 10 * unit.GbPerSecond, Delay: time.Microsecond}

// A connection by the connection manager carries data and ends at both ends.
func TestConnectionCarriesDataAndEnds(t *testing.T) {
	c := newCall(t, goodWire, nil)
	id := c.dial(t, echo, "hello")
	c.run(time.Millisecond)
	if c.a.count(cm.Replied) != 1 || c.b.count(cm.Established) != 1 {
		t.Fatalf("told %v and %v", c.a.told, c.b.told)
	}
	asked := c.b.told[0]
	if string(bytes.TrimRight(asked.Private, "\x00")) != "hello" || asked.From.Port() != 999 ||
		asked.To != c.path().Dest {
		t.Errorf("asked %+v", asked)
	}
	fill(c.region(0), 3)
	c.write(t, 0, len(c.region(0)))
	c.run(time.Millisecond)
	if !bytes.Equal(c.region(0), c.region(1)) {
		t.Error("the bytes did not arrive")
	}
	c.at(0, func(now unit.Time) {
		if err := c.hosts[0].DisconnectCM(now, id, nil); err != nil {
			t.Fatal(err)
		}
	})
	c.run(10 * time.Millisecond)
	for i, p := range []*program{c.a, c.b} {
		if p.count(cm.Disconnected) != 1 || p.count(cm.TimewaitOver) != 1 ||
			p.of(0) != qp.StateErr || p.host.nic.CM().Len() != 0 ||
			len(p.host.connectors.connections) != 0 {
			t.Errorf("end %d: %v, QP %v", i, p.told, p.of(0))
		}
	}
	c.check(t)
}

// What was agreed is what the QPs run with, whatever they were made with.
func TestConnectionAgreesOnAttributes(t *testing.T) {
	c := newCall(t, goodWire, nil)
	c.dial(t, echo, "")
	c.run(time.Millisecond)
	a, b := c.hosts[0].nic.QP(c.a.qps[0]), c.hosts[1].nic.QP(c.b.qps[0])
	for i, q := range []*qp.QP{a, b} {
		cfg := q.Config()
		if q.State() != qp.StateRTS || cfg.Resources != 4 || cfg.ReadDepth != 4 ||
			cfg.RetryCount != 7 || cfg.RNRRetry != 7 || cfg.Timeout != ib.AckTimeout(3, 3) {
			t.Errorf("end %d: %v %+v", i, q.State(), cfg)
		}
	}
	if a.Remote() != b.QPN() || b.Remote() != a.QPN() {
		t.Error("the QPs are not each other's")
	}
}

// Nobody listens: reason 8. The program refuses: its reason and its data.
func TestConnectionRefused(t *testing.T) {
	c := newCall(t, goodWire, nil)
	c.dial(t, echo+1, "")
	c.b.refuse = &cm.Refusal{Reason: ib.RejConsumer, Private: []byte("full")}
	c.dial(t, echo, "")
	c.run(time.Millisecond)
	if c.a.count(cm.Rejected) != 2 || c.a.told[0].Reason != ib.RejInvalidServiceID ||
		c.a.told[1].Reason != ib.RejConsumer ||
		string(bytes.TrimRight(c.a.told[1].Private, "\x00")) != "full" {
		t.Errorf("told %+v", c.a.told)
	}
	if c.hosts[0].nic.CM().Len()+c.hosts[1].nic.CM().Len() != 0 {
		t.Error("something is known of refused connections")
	}
	c.check(t)
}

// A peer that is not there is unreachable after the last repetition.
func TestConnectionUnreachable(t *testing.T) {
	c := newCall(t, goodWire, func(n *nic.Config) { n.CM.MaxRetries = 3 })
	c.net.SetLink(c.nodes[1], 0, false)
	c.dial(t, echo, "")
	wait := ib.TimeOf(8) + 2*ib.TimeOf(3)
	c.run(4*wait - time.Microsecond)
	if len(c.a.told) != 0 {
		t.Fatalf("told %v before the last repetition", c.a.told)
	}
	c.run(time.Millisecond)
	if c.a.count(cm.Unreachable) != 1 {
		t.Errorf("told %v", c.a.told)
	}
	if n := c.hosts[0].nic.CM().Counters().Repeated.Of(ib.AttrREQ); n != 3 {
		t.Errorf("%d repetitions, want 3", n)
	}
}

// A thousand connections to one listener come about, each with its own QPs, and all go.
func TestThousandConnections(t *testing.T) {
	c := newCall(t, goodWire, nil)
	var ids []cm.ID
	for range 1000 {
		ids = append(ids, c.dial(t, echo, ""))
	}
	c.run(20 * time.Millisecond)
	if a, b := c.a.count(cm.Replied), c.b.count(cm.Established); a != 1000 || b != 1000 {
		t.Fatalf("%d and %d connections", a, b)
	}
	remotes := map[ib.QPN]bool{}
	for _, qpn := range c.a.qps {
		remotes[c.hosts[0].nic.QP(qpn).Remote()] = true
	}
	if len(remotes) != 1000 {
		t.Errorf("%d different peers", len(remotes))
	}
	for i, id := range ids {
		c.at(i%2, func(now unit.Time) {
			if i%2 == 1 { // from the other end
				a, _ := c.hosts[0].nic.CM().Attributes(id)
				id = c.told(a.Remote)
			}
			if err := c.hosts[i%2].DisconnectCM(now, id, nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	c.run(50 * time.Millisecond)
	if a, b := c.a.count(cm.TimewaitOver), c.b.count(cm.TimewaitOver); a != 1000 || b != 1000 {
		t.Errorf("%d and %d have ended", a, b)
	}
	if c.hosts[0].nic.CM().Len()+c.hosts[1].nic.CM().Len() != 0 {
		t.Error("something is known of connections that have ended")
	}
	c.check(t)
}

// told is the second end's id of the connection of one of its QPs.
func (c *call) told(qpn ib.QPN) cm.ID {
	for i, own := range c.b.qps {
		if own == qpn {
			return c.b.told[i].ID // it was asked for as many connections as it has QPs
		}
	}
	return 0
}

// On a wire that loses, doubles and swaps, connections come about, carry data and end.
func TestConnectionsOverABadWire(t *testing.T) {
	bad := goodWire
	bad.Seed = 4
	bad.Faults = link.Faults{Loss: 0.2, Corrupt: 0.1, Duplicate: 0.2, Reorder: 0.2,
		ReorderBy: 20 * time.Microsecond}
	c := newCall(t, bad, func(n *nic.Config) { n.QP.Timeout = 6 })
	var ids []cm.ID
	for range 60 {
		ids = append(ids, c.dial(t, echo, ""))
	}
	c.run(100 * time.Millisecond)
	if a, b := c.a.count(cm.Replied), c.b.count(cm.Established); a != 60 || b != 60 {
		t.Fatalf("%d and %d connections", a, b)
	}
	fill(c.region(0), 8)
	c.write(t, 7, 4000)
	c.run(50 * time.Millisecond)
	if !bytes.Equal(c.region(0)[:4000], c.region(1)[:4000]) {
		t.Error("the bytes did not arrive")
	}
	for _, id := range ids {
		c.at(0, func(now unit.Time) {
			if err := c.hosts[0].DisconnectCM(now, id, nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	c.run(time.Second)
	for i, h := range c.hosts {
		if h.nic.CM().Len() != 0 || len(h.connectors.connections) != 0 {
			t.Errorf("end %d knows of %d connections", i, h.nic.CM().Len())
		}
	}
	c.check(t)
}

// A QP that is destroyed takes its connection with it, in whatever state.
func TestDestroyedQPDisconnects(t *testing.T) {
	c := newCall(t, goodWire, nil)
	c.dial(t, echo, "")
	c.run(time.Millisecond)
	c.at(0, func(unit.Time) {
		if err := c.hosts[0].nic.DestroyQP(c.a.qps[0]); err != nil {
			t.Fatal(err)
		}
	})
	c.run(10 * time.Millisecond)
	if c.b.count(cm.Disconnected) != 1 || c.b.of(0) != qp.StateErr {
		t.Errorf("told %v, QP %v", c.b.told, c.b.of(0))
	}
	if c.a.count(cm.Disconnected) != 0 {
		t.Error("who destroyed the QP is told of its end")
	}
	c.check(t)
}
