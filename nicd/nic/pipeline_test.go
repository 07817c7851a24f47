package nic

import (
	"errors"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	wires "github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/sim"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/cc"
)

// packet is the size of a full middle packet of a WRITE with path MTU 1024: Ethernet 14, IPv4 20,
// UDP 8, BTH 12, ICRC 4. The first has a RETH of 16 more.
const (
	packet      unit.Bytes = 1024 + 58
	firstPacket            = packet + 16
)

// slow models a receive side of one packet a microsecond, with room for eight: pause above four,
// resume at two.
func slow(c *Config) {
	c.Receive = ReceiveConfig{Buffer: 8 * firstPacket, Lossy: 200, XOFF: 4 * firstPacket,
		XON: 2 * firstPacket, PacketTime: time.Microsecond}
	c.CC, _ = cc.NewParams("none", "")
}

// burst takes packets of a long WRITE from a without regard to its wire.
func (p *peer) burst(t testing.TB, to *peer, n int) (out []*frame.Frame) {
	t.Helper()
	p.write(t, p.now, to, n*1024)
	now := p.now
	for len(out) < n {
		if f := p.send(now); f != nil {
			out = append(out, f)
			continue
		}
		if now = p.NextWake(); now == unit.Never {
			t.Fatalf("only %d packets of %d", len(out), n)
		}
		p.Wake(now)
	}
	return out
}

// askedFor takes the PFC frame that p sends now.
func askedFor(t testing.TB, p *peer, now unit.Time) wire.PFC {
	t.Helper()
	f := p.send(now)
	if f == nil {
		t.Fatalf("at %v: no frame to send", now)
	}
	body, ok := wire.AsPFC(f.Bytes()[wire.EthernetLen:])
	if !ok {
		t.Fatalf("at %v: not PFC: % x", now, f.Bytes())
	}
	out := *body
	f.Release()
	return out
}

// [RDMA at scale] 2: XOFF when the buffer is above its threshold, XON when it has drained. The
// pipeline takes a microsecond for each packet, so all that happens is known to the nanosecond.
func TestThresholds(t *testing.T) {
	a, b, pool := newPeers(t, slow)
	for i, f := range a.burst(t, b, 6) {
		b.give(0, f)
		if pending := b.asking.Wanted() != 0; pending != (i >= 4) {
			t.Errorf("%d packets wait, of %d bytes; wanted %v", i+1, b.receiving.bytes[lossless],
				b.asking.Wanted())
		}
	}
	xoff := askedFor(t, b, 0)
	if xoff.Enabled() != 1<<3 || xoff.Quanta(3) != wire.MaxQuanta {
		t.Errorf("XOFF enables %b with %d quanta", xoff.Enabled(), xoff.Quanta(3))
	}
	if f := b.send(0); f != nil {
		t.Errorf("and then % x", f.Bytes())
	}
	for served := uint64(1); served <= 6; served++ {
		at := unit.Time(served) * us
		if b.NextWake() != at {
			t.Fatalf("packet %d is served at %v, want %v", served, b.NextWake(), at)
		}
		b.Wake(at)
		v := b.Receiving()
		if v.Served != served || v.Waiting != int(6-served) {
			t.Errorf("at %v: %+v", at, v)
		}
		b.balanced(t)
		if served == 4 { // two packets left
			if xon := askedFor(t, b, at); xon.Enabled() != 1<<3 || xon.Quanta(3) != 0 {
				t.Errorf("XON enables %b with %d quanta", xon.Enabled(), xon.Quanta(3))
			}
		} else if b.asking.Pending(at) {
			t.Errorf("at %v a PFC frame is pending", at)
		}
	}
	s := b.snapshot(6 * us)
	if p := s.Pause[3]; p.TxPause != 2 || p.TxPauseDuration != 4*time.Microsecond {
		t.Errorf("%+v", p)
	}
	if s.Receive.LosslessMost != 5*packet+firstPacket || pool.InUse() != 0 {
		t.Errorf("watermark %v, %d frames in use", s.Receive.LosslessMost, pool.InUse())
	}
}

// Both parts of the service time add up, and a late driver does not make the pipeline slower.
func TestServiceTime(t *testing.T) {
	a, b, _ := newPeers(t, func(c *Config) {
		slow(c)
		c.Receive.Rate = 8 * unit.GbPerSecond // a byte a nanosecond
	})
	for _, f := range a.burst(t, b, 3) {
		b.give(0, f)
	}
	first := 1*us + unit.Time(firstPacket)
	if b.NextWake() != first {
		t.Errorf("the first is served at %v, want %v", b.NextWake(), first)
	}
	b.Wake(first + 500)
	if want := first + 1*us + unit.Time(packet); b.NextWake() != want {
		t.Errorf("the second is served at %v, want %v", b.NextWake(), want)
	}
	b.Wake(1000 * us)
	if v := b.Receiving(); v.Served != 3 || v.Waiting != 0 {
		t.Errorf("%+v", v)
	}
}

// What finds no room is dropped by a name: the headroom of the lossless buffer was too small, the
// lossy one is small. Neither takes room of the other.
func TestNoRoom(t *testing.T) {
	a, b, pool := newPeers(t, slow)
	for _, f := range a.burst(t, b, 10) {
		b.give(0, f)
	}
	for range 4 {
		f := pool.Get()
		f.Resize(90) // neither RoCE nor control: a kernel's, of class 0
		b.give(0, f)
	}
	l := b.Ledger()
	if h, low := l.Dropped[frame.DropHeadroom], l.Dropped[frame.DropBuffer]; h.Frames != 2 ||
		low.Frames != 2 || l.Buffered.Frames != 10 {
		t.Errorf("dropped %v and %v, buffered %v", h, low, l.Buffered)
	}
	s := b.snapshot(0)
	if s.Receive.DiscardedTotal != 4 || s.Receive.Discarded[3].Frames != 2 ||
		s.Receive.Discarded[0] != (dataplane.Count{Frames: 2, Bytes: 180}) {
		t.Errorf("%+v", s.Receive)
	}
	b.balanced(t)
}

// A pause frame from the other end does not wait behind the data, and holds no PFC frame back.
func TestControlDoesNotWait(t *testing.T) {
	a, b, pool := newPeers(t, slow)
	for _, f := range a.burst(t, b, 6) {
		b.give(0, f)
	}
	b.give(0, pfcFrame(pool, 0xff, wire.MaxQuanta))
	if b.pause.Paused(0) != pfc.SetOf(3) || b.Receiving().Waiting != 6 {
		t.Errorf("paused %v, %d wait", b.pause.Paused(0), b.Receiving().Waiting)
	}
	askedFor(t, b, 0)
}

// [RDMA at scale] 4.3: a receive pipeline that stops fills the buffer, and the NIC pauses its
// switch without a gap until it goes on. Then everything is there.
func TestStoppedPipeline(t *testing.T) {
	a, b, _ := newPeers(t, slow)
	if err := b.StopReceiving(0); err != nil {
		t.Fatal(err)
	}
	for _, f := range a.burst(t, b, 6) {
		b.give(0, f)
	}
	longest := pfc.Duration(wire.MaxQuanta, b.cfg.Rate)
	last := unit.Time(0)
	for now := unit.Time(0); now < 10_000*us; now = b.NextWake() {
		if b.NextWake() <= now {
			b.Wake(now)
		}
		if gap := now.Sub(last); gap > longest {
			t.Fatalf("no pause frame for %v, and one lasts %v", gap, longest)
		}
		if xoff := askedFor(t, b, now); xoff.Quanta(3) != wire.MaxQuanta {
			t.Fatalf("at %v: %d quanta", now, xoff.Quanta(3))
		}
		last = now
	}
	if v := b.Receiving(); !v.Stopped || v.Served != 0 || v.Waiting != 6 {
		t.Errorf("%+v", v)
	}
	now := last
	if err := b.StartReceiving(now); err != nil {
		t.Fatal(err)
	}
	b.Wake(now + 6*us)
	if v := b.Receiving(); v.Stopped || v.Served != 6 || b.asking.Wanted() != 0 {
		t.Errorf("%+v", v)
	}
	b.balanced(t)
}

// A pipeline that stops within a packet goes on there.
func TestStopWithinAPacket(t *testing.T) {
	a, b, _ := newPeers(t, slow)
	b.give(0, a.burst(t, b, 1)[0])
	for _, err := range []error{b.StopReceiving(300), b.StopReceiving(500),
		b.StartReceiving(10 * us), b.StartReceiving(11 * us)} {
		if err != nil {
			t.Error(err)
		}
	}
	if want := 10*us + 700; b.NextWake() != want {
		t.Errorf("goes on until %v, want %v", b.NextWake(), want)
	}
}

// Without a buffer there is no pipeline that could stop: its packets would have nowhere to wait.
func TestNoPipeline(t *testing.T) {
	a, b, _ := newPeers(t, nil)
	if err := a.StopReceiving(0); !errors.Is(err, ErrNoPipeline) {
		t.Error(err)
	}
	if err := b.StartReceiving(0); !errors.Is(err, ErrNoPipeline) {
		t.Error(err)
	}
}

// headroom is how much arrives after the threshold is passed, at most: a packet of our own is on
// the wire before the PFC frame, that takes its time, crosses the link, finds the peer at the
// beginning of a packet, and what it has sent crosses the link back. IEEE 802.1Q-2022 annex N,
// without interface and higher layer delays, which this NIC does not have.
func headroom(rate unit.Rate, delay time.Duration) unit.Bytes {
	return wire.OnLine(firstPacket) + wire.OnLine(wire.MinFrame) + wire.OnLine(firstPacket) +
		rate.BytesIn(2*delay)
}

// As much headroom as the link needs, and no packet is lost; a part of it, and some are. The
// sender is at line rate and the pipeline at a quarter of it.
func TestHeadroom(t *testing.T) {
	const rate, delay = 40 * unit.GbPerSecond, 2 * time.Microsecond
	const xoff = 20 * packet
	for _, c := range []struct {
		name     string
		room     unit.Bytes
		lossless bool
	}{{"whole", headroom(rate, delay), true}, {"half", headroom(rate, delay) / 2, false}} {
		pool := frame.NewPool(512, 1400)
		a := newPeer(t, 1, pool, slow)
		b := newPeer(t, 2, pool, func(cfg *Config) {
			cfg.Receive = ReceiveConfig{Buffer: xoff + c.room, Lossy: xoff, XOFF: xoff,
				XON: xoff / 2, Rate: rate / 4}
		})
		a.connect(t, b, false)
		b.connect(t, a, false)
		net := sim.New(pool)
		na, nb := net.Add("a", a, 1), net.Add("b", b, 1)
		net.Connect(na, Port, nb, Port, wires.Config{Rate: rate, Delay: delay})
		net.Do(na, func(now unit.Time) { a.write(t, now, b, 1<<20) })
		net.Do(nb, func(now unit.Time) { b.write(t, now, a, 1<<20) }) // its PFC frames must wait
		net.Run(2000 * us)
		s := b.snapshot(2000 * us)
		if lost := s.Receive.DiscardedTotal; (lost == 0) != c.lossless {
			t.Errorf("%s headroom, %v: %d packets lost", c.name, c.room, lost)
		}
		if s.Pause[3].TxPause < 10 || s.Receive.LosslessMost <= xoff {
			t.Errorf("%s headroom: %+v, %+v", c.name, s.Pause[3], s.Receive)
		}
		if got := s.QPs[0].Stats.BytesReceived; got != 1<<20 { // go-back-N repairs what is lost
			t.Errorf("%s headroom: %d bytes placed", c.name, got)
		}
		if err := net.Check(); err != nil {
			t.Error(err)
		}
	}
}

// Each fault of the configuration is told with its key.
func TestReceiveFaults(t *testing.T) {
	good := ReceiveConfig{Buffer: 4000, Lossy: 1000, XOFF: 3000, XON: 2000}
	if faults := good.validate(); len(faults) != 0 {
		t.Errorf("%v", faults)
	}
	for want, change := range map[string]func(*ReceiveConfig){
		"receive.buffer: -1 is not":     func(c *ReceiveConfig) { c.Buffer = -1 },
		"receive.buffer: is not set":    func(c *ReceiveConfig) { *c = ReceiveConfig{Rate: 1} },
		"receive.lossy_buffer: 0 is":    func(c *ReceiveConfig) { c.Lossy = 0 },
		"receive.xoff: 4KB is not":      func(c *ReceiveConfig) { c.XOFF = 4000 },
		"receive.xon: 3001 is not":      func(c *ReceiveConfig) { c.XON = 3001 },
		"receive.mtt.page_size: 5KB is": func(c *ReceiveConfig) { c.MTT = MTTConfig{8, 5000, 0} },
		"receive.mtt.miss_cost: -1ns":   func(c *ReceiveConfig) { c.MTT.MissCost = -1 },
		"receive.mtt.entries: -1":       func(c *ReceiveConfig) { c.MTT.Entries = -1 },
		"receive.mtt.entries: receive.b": func(c *ReceiveConfig) {
			*c = ReceiveConfig{MTT: MTTConfig{8, SmallPage, 0}}
		},
		"receive.rate: ":                func(c *ReceiveConfig) { c.Rate = -1 },
		"receive.packet_time: 2s is no": func(c *ReceiveConfig) { c.PacketTime = 2 * time.Second },
	} {
		bad := good
		change(&bad)
		faults := bad.validate()
		if len(faults) == 0 || len(faults[0].Error()) < len(want) ||
			faults[0].Error()[:len(want)] != want {
			t.Errorf("%v, want %q", faults, want)
		}
	}
}
