package nic

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// exchange moves frames both ways without delay until nobody has one.
func exchange(now unit.Time, a, b *peer) {
	for quiet := false; !quiet; {
		quiet = true
		for _, c := range []struct{ from, to *peer }{{a, b}, {b, a}} {
			if f := c.from.send(now); f != nil {
				c.to.give(now, f)
				quiet = false
			}
		}
		if next := min(a.NextWake(), b.NextWake()); quiet && next < now+1000*us {
			now, quiet = max(now, next), false
			for _, p := range []*peer{a, b} {
				if p.NextWake() <= now {
					p.Wake(now)
				}
			}
		}
	}
}

// A WRITE goes through both NICs, over IPv4 and IPv6, and both accounts balance.
func TestWriteThroughNICs(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		pool := frame.NewPool(16, 1400)
		a, b := newPeer(t, 1, pool, nil), newPeer(t, 2, pool, nil)
		a.connect(t, b, v6)
		b.connect(t, a, v6)
		for i := range a.region.Bytes {
			a.region.Bytes[i] = byte(i * 7)
		}
		a.write(t, 0, b, 5001)
		exchange(0, a, b)
		if !bytes.Equal(a.region.Bytes[:5001], b.region.Bytes[:5001]) {
			t.Error("memory differs")
		}
		var c [4]qp.Completion
		if q, ok := a.NextCompleted(); !ok || q != a.local.QPN || a.PollCQ(q, c[:]) != 1 ||
			c[0].Status != qp.Success || c[0].Bytes != 5001 {
			t.Errorf("completion %+v", c[0])
		}
		a.balanced(t)
		b.balanced(t)
		s := b.snapshot(0)
		if s.Traffic[3].Received.Frames != 5 || s.Transport.RxWriteRequests != 1 ||
			pool.InUse() != 0 {
			t.Errorf("v6 %v: %+v", v6, s.Traffic[3])
		}
	}
}

// DSCP 26 with ECT(0) makes TOS 106, as users set it; IP IDs count up and are never zero.
func TestPacketsOnTheWire(t *testing.T) {
	a, b, _ := newPeers(t, nil)
	a.packetID = 0xffff - 1
	a.write(t, 0, b, 2048+10)
	for i, id := range []byte{0xff, 1, 2} {
		f := a.send(unit.Time(i) * us)
		h := f.Bytes()
		if h[15] != 106 || h[19] != id || h[20] != 0x40 || h[22] != 64 {
			t.Errorf("packet %d: % x", i, h[14:34])
		}
		f.Release()
	}
}

// [DCQCN] 3.1: a marked packet makes a CNP at once, on its own priority, which halves the
// sender's rate; further marks make one each 50 us.
func TestMarkToRate(t *testing.T) {
	a, b, _ := newPeers(t, nil)
	a.write(t, 0, b, 100*1024)
	send := func(now unit.Time) {
		f := a.send(now)
		if f == nil {
			t.Fatalf("nothing to send at %v, next %v", now, a.NextWake())
		}
		markCE(f)
		b.give(now, f)
	}
	send(0)
	cnp := b.send(0)
	p := open(t, cnp)
	if p.BTH.Opcode() != ib.CongestionNotify || p.BTH.DestQP() != a.local.QPN || p.BTH.PSN() != 0 ||
		!p.BTH.BECN() || cnp.Bytes()[15] != 48<<2 {
		t.Errorf("CNP % x", cnp.Bytes())
	}
	a.give(0, cnp)
	if v := a.snapshot(0).QPs[0]; v.Rate != 20*unit.GbPerSecond || v.CC[0].Name != "alpha" ||
		v.CC[0].Value != 1 {
		t.Errorf("rate %v, %v", v.Rate, v.CC)
	}
	a.Wake(a.NextWake()) // the pacer's
	send(1 * us)
	if b.send(1*us) != nil || b.NextWake() != 50*us {
		t.Errorf("second CNP too early; wake %v", b.NextWake())
	}
	b.Wake(50 * us)
	a.give(50*us, b.send(50*us))
	s, r := a.snapshot(50*us), b.snapshot(50*us)
	if s.Counters.RPCNPHandled != 2 || r.Counters.NPCNPSent != 2 ||
		r.Counters.NPECNMarkedRoCEPackets != 2 || r.Traffic[6].Sent.Frames != 2 {
		t.Errorf("%+v, %+v", s.Counters, r.Counters)
	}
}

// [DCQCN+] section 4: the receiver's CNP interval is in its CNPs, and grows with the congested
// flows. With 60 us between two CNPs of the receiver one flow has 60 us, two have 120.
func TestIntervalInCNP(t *testing.T) {
	a, b, _ := newPeers(t, func(c *Config) {
		params, err := cc.NewParams("dcqcn_plus", "")
		if err != nil {
			t.Fatal(err)
		}
		plus := params.(*cc.DCQCNPlusParams)
		plus.Spacing, plus.Memory = 60*time.Microsecond, 1
		c.CC = plus
	})
	notify := func(now unit.Time, intervalNs uint32, flows uint16) {
		t.Helper()
		a.write(t, now, b, 10)
		for a.NextWake() <= now { // the pacer's
			a.Wake(now)
		}
		f := a.send(now)
		markCE(f)
		b.give(now, f)
		cnp := b.send(now)
		p := open(t, cnp)
		if p.Receiver.IntervalNs() != intervalNs || p.Receiver.Flows() != flows {
			t.Errorf("CNP says %d ns, %d flows, want %d, %d", p.Receiver.IntervalNs(),
				p.Receiver.Flows(), intervalNs, flows)
		}
		a.give(now, cnp)
	}
	notify(0, 60_000, 1)
	want := cc.Value{Name: "cnp_interval_seconds", Value: 60e-6}
	if v := a.snapshot(0).QPs[0]; v.CC[5] != want {
		t.Errorf("tau %v, want 60 us", v.CC[5])
	}
	other := b.incast(b.cfg.CC).Point()
	other.Marked(us)
	for now := b.NextWake(); now <= 100*us; now = b.NextWake() {
		b.Wake(now) // the interval of 60 us is over: one flow is left
	}
	if b.incast(b.cfg.CC).Flows() != 1 {
		t.Errorf("%d flows congested, want the other", b.incast(b.cfg.CC).Flows())
	}
	notify(100*us, 120_000, 2)
}

// Without congestion control CNPs count as ignored and change nothing.
func TestCNPIgnored(t *testing.T) {
	a, b, _ := newPeers(t, func(c *Config) { c.CC = &cc.NoneParams{} })
	a.write(t, 0, b, 10)
	f := a.send(0)
	markCE(f)
	b.give(0, f)
	a.give(0, b.send(0))
	s := a.snapshot(0)
	if s.Counters.RPCNPIgnored != 1 || s.QPs[0].Rate != 40*unit.GbPerSecond {
		t.Errorf("%+v, rate %v", s.Counters, s.QPs[0].Rate)
	}
}

// After a CNP the flow is paced at its rate, measured on the line over a rate timer's period.
func TestPacing(t *testing.T) {
	a, b, pool := newPeers(t, nil)
	a.write(t, 0, b, 1<<20)
	now := unit.Time(0)
	a.conns[0].cc.CNP(0, cc.CNP{})
	a.limit(0, a.conns[0])
	sent := unit.Bytes(0)
	for now < 54*us { // the rate stays at 20 Gb/s until 55 us
		if f := a.send(now); f != nil {
			sent += wire.OnLine(f.Len())
			f.Release()
			continue
		}
		now = a.NextWake()
		a.Wake(now)
	}
	if got := sent.Over(now.Sub(0)); got < 19_900*unit.MbPerSecond || got > 21*unit.GbPerSecond {
		t.Errorf("sent at %v, want 20 Gb/s and a burst", got)
	}
	if pool.InUse() != 0 {
		t.Error("leak")
	}
}

// IEEE 802.1Q 36: a pause of priority 3 stops data and acknowledgements, which go there, but not
// CNPs on priority 6; it ends by XON or by itself.
func TestPause(t *testing.T) {
	a, b, pool := newPeers(t, nil)
	a.write(t, 0, b, 4096)
	f := a.send(0)
	markCE(f)
	b.give(0, f)
	b.write(t, 0, a, 10)
	b.give(1, pfcFrame(pool, pfc.SetOf(3), 0xffff))
	p := b.send(2)
	if got := open(t, p); got.BTH.Opcode() != ib.CongestionNotify {
		t.Errorf("priority 3 is paused, sent %v", got.BTH.Opcode())
	}
	p.Release()
	if b.send(3) != nil {
		t.Error("sent on a paused priority")
	}
	b.give(1000, pfcFrame(pool, pfc.SetOf(3), 0))
	if p = b.send(1000); p == nil {
		t.Fatal("not sending after XON")
	}
	p.Release()
	a.give(2000, pfcFrame(pool, pfc.SetOf(3), 100)) // 100 x 512 bits at 40 Gb/s: 1280 ns
	if a.send(2000) != nil || a.NextWake() != 3280 {
		t.Errorf("next wake %v, want the end of the pause", a.NextWake())
	}
	a.Wake(3280)
	if p = a.send(3280); p == nil {
		t.Fatal("not sending after the pause")
	}
	p.Release()
	s := b.snapshot(2000).Pause[3]
	if s.RxPause != 2 || s.RxPauseDuration != 999*time.Nanosecond || s.RxPauseTransition != 1 {
		t.Errorf("%+v", s)
	}
}

// Every kind of frame that is of no use is dropped by its name.
func TestDropReasons(t *testing.T) {
	request := func(a, b *peer) *frame.Frame {
		a.write(t, 0, b, 100)
		return a.send(0)
	}
	for _, c := range []struct {
		why    frame.Reason
		change func(f *frame.Frame, b *peer)
	}{
		{frame.DropMalformed, func(f *frame.Frame, _ *peer) { f.Resize(40) }},
		{frame.DropMalformed, func(f *frame.Frame, _ *peer) { f.Bytes()[42] = 0x1f }},
		{frame.DropICRC, func(f *frame.Frame, _ *peer) { f.Bytes()[80]++ }},
		{frame.DropNotForUs, func(f *frame.Frame, _ *peer) { f.Bytes()[5]++ }},
		{frame.DropNotForUs, func(f *frame.Frame, b *peer) {
			b.SetAddresses(0, []Address{{IP: b.cfg.IPv4.Next()}})
		}},
		{frame.DropUnknownQP, func(_ *frame.Frame, b *peer) { _ = b.DestroyQP(b.local.QPN) }},
		{frame.DropUnexpected, func(_ *frame.Frame, b *peer) {
			b.conns[0].remote.IP = b.conns[0].remote.IP.Next()
		}},
		{frame.DropNotRoCE, func(f *frame.Frame, _ *peer) { f.Bytes()[12], f.Bytes()[13] = 8, 6 }},
		{frame.DropMACControl, func(f *frame.Frame, _ *peer) {
			var b wire.ControlFrame
			b.Init(wire.MAC{2}, wire.OpPause)
			f.Set(b[:])
		}},
	} {
		a, b, pool := newPeers(t, nil)
		f := request(a, b)
		c.change(f, b)
		b.give(0, f)
		l := b.Ledger()
		if l.Dropped[c.why].Frames != 1 || l.DroppedTotal().Frames != 1 || b.send(0) != nil {
			t.Errorf("%v: %+v", c.why, l.Dropped)
		}
		b.balanced(t)
		if pool.InUse() != 0 {
			t.Errorf("%v: leak", c.why)
		}
	}
}

// With the pool empty nothing is sent and nothing lost; the NIC tries again by itself.
func TestPoolEmpty(t *testing.T) {
	a, b, pool := newPeers(t, nil)
	var held []*frame.Frame
	for f := pool.Get(); f != nil; f = pool.Get() {
		held = append(held, f)
	}
	a.write(t, 0, b, 10)
	if a.send(0) != nil || a.counters.TxNoFrame != 1 {
		t.Fatal("sent without a frame")
	}
	held[0].Release()
	a.Wake(a.NextWake())
	if f := a.send(us); f == nil {
		t.Error("did not try again")
	}
}

func TestLinkDown(t *testing.T) {
	a, b, _ := newPeers(t, nil)
	a.SetLink(0, Port, false)
	a.write(t, 0, b, 10)
	if a.send(0) != nil {
		t.Error("sent on a link that is down")
	}
	a.SetLink(5, Port, true)
	if a.send(5) == nil {
		t.Error("link is up again, nothing sent")
	}
}

// A pause does not outlive its link, and one that comes too late is not obeyed.
func TestLinkDownEndsPauses(t *testing.T) {
	a, b, pool := newPeers(t, nil)
	a.write(t, 0, b, 10)
	a.give(0, pfcFrame(pool, pfc.SetOf(3), 0xffff))
	if a.send(0) != nil {
		t.Fatal("sent on a paused priority")
	}
	a.SetLink(1000, Port, false)
	if a.NextWake() < us {
		t.Errorf("next wake %v, for a pause that is over", a.NextWake())
	}
	a.give(1000, pfcFrame(pool, pfc.SetOf(3), 0xffff))
	a.SetLink(2000, Port, true)
	f := a.send(2000)
	if f == nil {
		t.Fatal("still paused after the link came back")
	}
	f.Release()
	s := a.snapshot(2000)
	if p := s.Pause[3]; p.RxPause != 1 || p.RxPauseDuration != time.Microsecond {
		t.Errorf("%d pauses, %v: want one of 1us", p.RxPause, p.RxPauseDuration)
	}
	if s.Ledger.Dropped[frame.DropLinkDown].Frames != 1 {
		t.Error("the late frame is not counted")
	}
	a.balanced(t)
}

func TestVerbsRefuse(t *testing.T) {
	a, b, pool := newPeers(t, nil)
	for i := range 8 {
		if _, err := a.CreateQP(a.QPConfig()); (err == nil) != (i < 7) {
			t.Errorf("QP %d of 8: %v", i+2, err)
		}
	}
	if err := a.DestroyQP(a.local.QPN); err != nil {
		t.Error(err)
	}
	if _, err := a.CreateQP(a.QPConfig()); err != nil {
		t.Errorf("the freed place is not given out: %v", err)
	}
	if err := a.Connect(500, Remote{}); !errors.Is(err, ErrNoQP) {
		t.Error(err)
	}
	if err := a.Post(0, 3, qp.WR{}); !errors.Is(err, ErrNoQP) {
		t.Error(err)
	}
	big := b.QPConfig()
	big.MTU = 4096
	if _, err := b.CreateQP(big); err == nil {
		t.Error("a path MTU above the NIC's is accepted")
	}
	if _, err := New(Config{}, pool); err == nil {
		t.Error("an empty configuration is accepted")
	}
	if _, err := New(testConfig(1), frame.NewPool(1, 1000)); err == nil {
		t.Error("frames too small for the MTU are accepted")
	}
}

func TestNoAllocation(t *testing.T) {
	// CNPs are received but do not slow the flow down, so that each message completes.
	a, b, _ := newPeers(t, func(c *Config) { c.CC = &cc.NoneParams{} })
	now := unit.Time(0)
	var cs [8]qp.Completion
	var s Snapshot
	if n := testing.AllocsPerRun(200, func() {
		a.write(t, now, b, 3000)
		for f := a.send(now); f != nil; f = a.send(now) {
			markCE(f)
			b.give(now, f)
		}
		for f := b.send(now); f != nil; f = b.send(now) {
			a.give(now, f)
		}
		now += 60 * us
		a.Wake(now)
		b.Wake(now)
		if q, ok := a.NextCompleted(); ok {
			a.PollCQ(q, cs[:])
		}
		a.Snapshot(now, &s)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// One operation is a full packet from memory to memory: build, ICRC, classify, check, place.
func BenchmarkWrite1024(b *testing.B) {
	x, y, _ := newPeers(b, nil)
	var cs [8]qp.Completion
	now := unit.Time(0)
	b.SetBytes(1024)
	b.ReportAllocs()
	for b.Loop() {
		now += 300
		for x.conns[0].qp.Pending(0) == false {
			x.write(b, now, y, 1<<20)
			if q, ok := x.NextCompleted(); ok {
				x.PollCQ(q, cs[:])
			}
		}
		if f := x.send(now); f != nil {
			y.give(now, f)
		}
		if f := y.send(now); f != nil {
			x.give(now, f)
		}
	}
}
