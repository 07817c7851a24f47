package pipeline

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
	"github.com/rocelab/rocelab/switchd/fib"
	"github.com/rocelab/rocelab/switchd/qos"
	"github.com/rocelab/rocelab/tests/tshark"
)

// qcnBench has the congestion point of [QCN] without jitter at queue 3 of port 1, behind which
// station 2 is, and class 6 for CNMs that pass through.
func qcnBench(t *testing.T, change func(*Config)) *bench {
	t.Helper()
	c := testConfig(2)
	c.Ports[1].Queues[3].QCN = qos.NetFPGA()
	c.Ports[1].Queues[3].QCN.Jitter = 0
	c.Ports[1].Queues[3].WRED = qos.WREDConfig{}
	for i := range c.Ports {
		c.Ports[i].Classify.PCP[6] = 6
	}
	if change != nil {
		change(&c)
	}
	b := newBench(t, c)
	for n := range 2 {
		station := wiretest.MACOrNumber(1 + n).MAC()
		if err := b.sw.MACs().AddStatic(station, dataplane.PortID(n)); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// cnmOf returns the message in a frame, which must be a CNM for station 1.
func cnmOf(t *testing.T, f []byte) (m *wire.CNM, at int) {
	t.Helper()
	eth, ok := wire.AsEthernet(f)
	if !ok {
		t.Fatal("no frame")
	}
	at = wire.EthernetLen
	for next := eth.Type(); next != wire.TypeCNM; at += wire.TagLen {
		tag, ok := wire.AsTag(f[at:])
		if !ok || (next != wire.TypeVLAN && next != wire.TypeCNTag) {
			t.Fatalf("not a CNM: % x", f)
		}
		next = tag.Type()
	}
	if m, ok = wire.AsCNM(f[at:]); !ok {
		t.Fatalf("no message: % x", f[at:])
	}
	if eth.Dst() != wiretest.MACOrNumber(1).MAC() || eth.Src() != wiretest.MACOrNumber(101).MAC() {
		t.Errorf("from %v to %v", eth.Src(), eth.Dst())
	}
	return m, at
}

// TestCNMGoesToTheSource: a queue that fills from nothing is sampled first at 150 KB, as in [QCN]
// table 1, and the source of that frame hears of it: Qoff is 117 KB, Qdelta 150 KB, and -Fb =
// 117 + 300 = 417 KB is more than the 165 KB that 63 stands for. The next sample comes after
// 18.5 KB.
func TestCNMGoesToTheSource(t *testing.T) {
	b := qcnBench(t, func(c *Config) { c.Ports[1].Queues[3].QCN.Headers = 64 })
	b.fill(3, 1000, 149)
	if f := b.tx(0); f != nil {
		t.Fatalf("too early: % x", f)
	}
	b.fill(3, 1000, 1)
	f := b.tx(0)
	m, at := cnmOf(t, f)
	if len(f) != wire.EthernetLen+wire.CNMLen+64 || m.Feedback() != 63 ||
		m.QOffset() != -117_000/64 || m.QDelta() != 150_000/64 || m.Priority() != 3 ||
		m.Dst() != wiretest.MACOrNumber(2).MAC() || m.MSDULen() != 64 ||
		m.CPID() != wire.NewCPID(wiretest.MACOrNumber(101).MAC(), 3) {
		t.Errorf("% x", f)
	}
	msdu := f[at+wire.CNMLen:]
	if ip, ok := wire.AsIPv4(msdu[2:]); !ok || msdu[0] != 8 || ip.TotalLen() != 986 {
		t.Errorf("MSDU % x", msdu)
	}
	b.fill(3, 1000, 18)
	if f := b.tx(0); f != nil {
		t.Errorf("too early: % x", f)
	}
	b.fill(3, 1000, 1)
	if m, _ := cnmOf(t, b.tx(0)); m.QDelta() != 19_000/64 {
		t.Errorf("Qdelta %d, want 19 KB in units of 64 bytes", m.QDelta())
	}
	var s Snapshot
	b.sw.Snapshot(b.now, &s)
	got := s.Ports[1].Queues[3].QCN
	if got.Samples != 2 || got.Congested != 2 || got.CNMs.Frames != 2 || got.Lost != 0 ||
		s.Ports[0].CNMsSent != got.CNMs {
		t.Errorf("%+v, sent %+v", got, s.Ports[0].CNMsSent)
	}
	b.check()
}

// TestCNMOverData: a CNM waits for the PFC frame, and data waits for it.
func TestCNMOverData(t *testing.T) {
	b := qcnBench(t, func(c *Config) {
		c.Pools[0].Size = 130 * unit.KB
		c.Ports[1].Queues[3].QCN.Qeq, c.Ports[1].Queues[3].QCN.Base = 1000, 30*unit.KB
	})
	b.rx(1, data(2, 1, 500)) // data for port 0
	b.fill(3, 1000, 31)      // one sample, and beyond the limit of the group: XOFF
	for i, want := range []wire.EtherType{wire.TypeMACControl, wire.TypeCNM, wire.TypeIPv4} {
		f := b.tx(0)
		if eth, ok := wire.AsEthernet(f); !ok || eth.Type() != want {
			t.Errorf("frame %d: % x, want type %v", i, f, want)
		}
	}
	b.check()
}

// TestCNMHasTheTags: those of the sampled frame, with the priority of CNMs and the flow that the
// source wants to hear of.
func TestCNMHasTheTags(t *testing.T) {
	b := qcnBench(t, func(c *Config) {
		c.Ports[1].Queues[3].QCN.Base = 1
		c.Ports[0].Classify.Trust = classify.TrustPCP
		c.Ports[0].Classify.PCP[3] = 3
	})
	packet := wiretest.Packet{Src: 1, Dst: 2, Payload: 1400, DSCP: 26,
		Tags: []wiretest.Tag{{Type: wire.TypeVLAN, PCP: 3, VID: 0x123}}}
	tagged := packet.Bytes()
	cn := append([]byte{}, tagged[:16]...) // A CN-TAG goes behind the VLAN tag.
	cn = append(append(cn, 0x22, 0xe9, 0xab, 0xcd), tagged[16:]...)
	for _, c := range []struct {
		name  string
		frame []byte
		tags  string
	}{
		{"vlan", tagged, "\x81\x00\xc1\x23"},
		{"vlan and flow", cn, "\x81\x00\xc1\x23\x22\xe9\xab\xcd"},
	} {
		for range 100 {
			b.rx(0, c.frame)
		}
		f := b.tx(0)
		if m, _ := cnmOf(t, f); m.Priority() != 3 {
			t.Errorf("%s: priority %d", c.name, m.Priority())
		}
		if got := string(f[12 : 12+len(c.tags)]); got != c.tags {
			t.Errorf("%s: tags % x, want % x", c.name, got, c.tags)
		}
		for b.tx(0) != nil {
		}
	}
	b.check()
}

// TestCNMsAreBounded: no more wait for a port than it has room for, priority 6 paused holds them,
// the others are counted, and a port that goes down drops what waited.
func TestCNMsAreBounded(t *testing.T) {
	b := qcnBench(t, func(c *Config) {
		c.Ports[1].Queues[3].QCN.Base = 1
		c.Ports[0].PFCObey = c.Ports[0].PFCObey.With(6)
	})
	b.rx(0, wiretest.PFC(9, map[uint8]uint16{6: 65535}))
	b.wait(10 * us)
	b.fill(3, 1000, 100)
	for f := b.tx(0); f != nil; f = b.tx(0) {
		if eth, _ := wire.AsEthernet(f); eth.Type() == wire.TypeCNM {
			t.Fatal("a CNM was sent though its priority is paused")
		}
	}
	q := &b.sw.ports[1].queues[3]
	if got := q.qcn.stats(); got.CNMs.Frames != cnmsPerPort ||
		got.Lost != got.Congested-cnmsPerPort {
		t.Errorf("%+v", got)
	}
	b.check()
	b.dev.SetLink(b.now, 0, false)
	l := b.sw.Ledger()
	if n := l.Dropped[frame.DropLinkDown].Frames; n != cnmsPerPort {
		t.Errorf("dropped %d", n)
	}
	b.check()
}

// TestNoCNMForARoutedFrame: its source MAC is the router's own.
func TestNoCNMForARoutedFrame(t *testing.T) {
	b := qcnBench(t, func(c *Config) { c.Ports[1].Queues[3].QCN.Base = 1 })
	b.sw.cfg.Router = &fib.RouterConfig{MAC: wiretest.MACOrNumber(1).MAC()}
	in, out := &b.sw.ports[0], &b.sw.ports[1]
	for range 100 {
		f := b.pool.Get()
		f.Set(data(1, 2, 1000))
		f.Meta.Class = in.classify.Classify(f.Bytes())
		b.sw.ledger.Received.Add(f.Len())
		b.sw.enqueue(b.now, in, out, f)
	}
	if got := out.queues[3].qcn.stats(); got.CNMs.Frames != 0 || got.Lost != got.Congested ||
		got.Lost == 0 {
		t.Errorf("%+v", got)
	}
	b.check()
}

// TestCNMPassesThrough: a CNM of another switch is forwarded at its priority, tagged or not, and
// is not itself sampled.
func TestCNMPassesThrough(t *testing.T) {
	b := qcnBench(t, func(c *Config) {
		for q := range c.Ports[1].Queues {
			c.Ports[1].Queues[q].QCN = qos.QCNConfig{Qeq: 1, W: 2, Base: 1}
		}
	})
	f := make([]byte, wire.MinFrame)
	eth := (*wire.Ethernet)(f)
	eth.SetDst(wiretest.MACOrNumber(2).MAC())
	eth.SetSrc(wiretest.MACOrNumber(77).MAC())
	eth.SetType(wire.TypeCNM)
	b.rx(0, f)
	var s Snapshot
	b.sw.Snapshot(b.now, &s)
	if q := &s.Ports[1].Queues[6]; q.Occupancy != 60 || q.QCN.Samples != 0 {
		t.Errorf("queue 6 stores %v, %+v", q.Occupancy, q.QCN)
	}
	if got := b.tx(1); string(got) != string(f) {
		t.Errorf("sent % x", got)
	}
	b.check()
}

// TestTsharkReadsOurCNM: the frame as it leaves; tshark sees its type, and nothing wrong with it.
func TestTsharkReadsOurCNM(t *testing.T) {
	b := qcnBench(t, nil)
	b.fill(3, 1000, 150)
	got := tshark.Fields(t, b.tx(0), "eth.type", "eth.dst", "_ws.expert.message", "_ws.malformed")
	if want := "0x22e7 02:00:00:00:00:01"; got != want {
		t.Errorf("tshark reads %q, want %q", got, want)
	}
}
