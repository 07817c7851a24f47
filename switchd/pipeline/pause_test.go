package pipeline

import (
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/sim"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
	"github.com/rocelab/rocelab/switchd/mmu"
)

// waiting is a switch of two ports with a frame of class 3 that waits for port 1.
func waiting(t *testing.T, change func(*Port)) *bench {
	t.Helper()
	cfg := testConfig(2)
	for i := range cfg.Ports {
		if change != nil {
			change(&cfg.Ports[i])
		}
	}
	b := newBench(t, cfg)
	if err := b.sw.MACs().AddStatic(wiretest.MACOrNumber(2).MAC(), 1); err != nil {
		t.Fatal(err)
	}
	b.rx(0, data(1, 2, 200))
	return b
}

// TestPauseFrames: frames that are odd but legal pause, those that are not PFC frames do not.
// IEEE 802.1Q-2022 36.1.3, IEEE 802.3-2022 31.4 and 31B.
func TestPauseFrames(t *testing.T) {
	xoff := func(change func(b []byte)) []byte {
		b := wiretest.PFC(9, map[uint8]uint16{3: 1000})
		if change != nil {
			change(b)
		}
		return b
	}
	body := wire.EthernetLen
	tagged := func(b []byte) []byte {
		return append(append(append([]byte(nil), b[:12]...), 0x81, 0x00, 0x60, 0x00), b[12:]...)
	}
	for _, c := range []struct {
		name  string
		frame []byte
		want  bool
	}{
		{"as we send it", xoff(nil), true},
		{"to our own address", xoff(func(b []byte) { b[0], b[5] = 0x02, 0x64 }), true},
		{"from a group address", xoff(func(b []byte) { b[6] = 0x01 }), true},
		{"reserved octet set", xoff(func(b []byte) { b[body+2] = 0xff }), true},
		{"padding set", xoff(func(b []byte) { b[59] = 0xff }), true},
		{"longer than the minimum", append(xoff(nil), make([]byte, 900)...), true},
		{"without padding", xoff(nil)[:body+wire.PFCLen], true},
		{"times of others", xoff(func(b []byte) { b[body+4], b[body+5] = 0xff, 0xff }), true},
		{"other class", wiretest.PFC(9, map[uint8]uint16{4: 1000}), false},
		{"class not enabled", xoff(func(b []byte) { b[body+3] = 0 }), false},
		{"time zero", wiretest.PFC(9, map[uint8]uint16{3: 0}), false},
		{"too short", xoff(nil)[:body+wire.PFCLen-1], false},
		{"another opcode", xoff(func(b []byte) { b[body] = 0x02 }), false},
		{"PAUSE", xoff(func(b []byte) { b[body], b[body+2], b[body+3] = 0, 0xff, 0xff }), false},
		{"tagged, so not MAC control", tagged(xoff(nil)), false},
	} {
		b := waiting(t, nil)
		b.rx(1, c.frame)
		if got := b.tx(1) == nil; got != c.want {
			t.Errorf("%s: paused %v, want %v", c.name, got, c.want)
		}
		b.wait(12800)
		if c.want && b.tx(1) == nil {
			t.Errorf("%s: 1000 quanta do not end after 12.8 us", c.name)
		}
		b.check()
	}
}

// TestLongestPause: 65,535 quanta at 40 Gb/s are 838.84 us. IEEE 802.3-2022 31B.2
func TestLongestPause(t *testing.T) {
	b := waiting(t, nil)
	b.rx(1, wiretest.PFC(9, map[uint8]uint16{3: 65535}))
	b.wait(838_847)
	if b.tx(1) != nil {
		t.Error("too short")
	}
	b.wait(1)
	if b.tx(1) == nil {
		t.Error("too long")
	}
	var s Snapshot
	b.sw.Snapshot(b.now, &s)
	got := s.Ports[1].PFCReceived
	if got.Paused[3] != 838_848 || got.Transitions[3] != 1 || got.Frames[3] != 1 {
		t.Errorf("counters %+v", got)
	}
}

// TestPauseDelayOnAPort: with the latest reaction that the standard allows, a port goes on for so
// long. IEEE 802.3-2022 31B.3.7
func TestPauseDelayOnAPort(t *testing.T) {
	delay := pfc.MaxResponse(40 * unit.GbPerSecond)
	b := waiting(t, func(p *Port) { p.PauseDelay = delay })
	b.rx(0, data(1, 2, 200))
	b.rx(1, wiretest.PFC(9, map[uint8]uint16{3: 1000}))
	b.wait(unit.Time(delay) - 1)
	if b.tx(1) == nil {
		t.Error("paused before its time")
	}
	b.wait(1)
	if b.tx(1) != nil {
		t.Error("not paused in time")
	}
	b.wait(12800)
	if b.tx(1) == nil {
		t.Error("the pause does not end")
	}
	b.check()
}

// TestLinkPause: where PAUSE is configured it stops every class, also for the port's own counters.
func TestLinkPause(t *testing.T) {
	var f wire.ControlFrame
	f.Init(wiretest.MACOrNumber(9).MAC(), wire.OpPause)
	f.Pause().SetQuanta(1000)
	b := waiting(t, func(p *Port) { p.PFCSend, p.PFCObey, p.LinkPause = 0, 0, true })
	b.rx(1, f[:])
	if b.tx(1) != nil {
		t.Error("not paused")
	}
	b.wait(12800)
	if b.tx(1) == nil {
		t.Error("the pause does not end")
	}
	if l := b.sw.Ledger(); l.Consumed.Frames != 1 {
		t.Errorf("consumed %d", l.Consumed.Frames)
	}
	b.check()
	cfg := testConfig(2)
	cfg.Ports[1].LinkPause = true
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "exclude each other") {
		t.Errorf("PAUSE beside PFC: %v", err)
	}
}

// TestAsymmetricPFC: a port may pause its peer without obeying it, and the other way round.
func TestAsymmetricPFC(t *testing.T) {
	b := waiting(t, func(p *Port) { p.PFCObey = 0 })
	b.rx(1, wiretest.PFC(9, map[uint8]uint16{3: 65535}))
	if b.tx(1) == nil {
		t.Error("a priority that is not obeyed is paused")
	}
	for _, send := range []pfc.Set{pfc.SetOf(3), 0} {
		cfg := testConfig(2)
		cfg.Pools[0].Size = 60 * unit.KB
		cfg.Ports[0].PFCSend = send
		for _, p := range []int{0, 1} {
			cfg.Ports[p].Groups[3].Headroom, cfg.Ports[p].Groups[4].Headroom = 10000, 10000
		}
		b := newBench(t, cfg)
		if err := b.sw.MACs().AddStatic(wiretest.MACOrNumber(2).MAC(), 1); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			b.rx(0, data(1, 2, 1000))
		}
		if got := b.tx(0) != nil; got != (send != 0) {
			t.Errorf("pauses %v: sent a PFC frame: %v", send, got)
		}
	}
}

// TestPFCMaps: MAP_PFC_PRIORITY_TO_QUEUE says what a pause stops, and
// PFC_PRIORITY_TO_PRIORITY_GROUP_MAP which pause a group asks for.
func TestPFCMaps(t *testing.T) {
	b := waiting(t, func(p *Port) {
		p.PFCSend, p.PFCObey = pfc.SetOf(4, 6), pfc.SetOf(4, 6)
		p.PFCToQueue = &[8]mmu.Queue{4: 3, 6: 3}
		p.PFCToGroup = &[8]mmu.PG{4: 3, 6: 3}
	})
	b.rx(1, wiretest.PFC(9, map[uint8]uint16{6: 65535}))
	if b.tx(1) != nil {
		t.Error("priority 6 does not stop queue 3")
	}
	p := &b.sw.ports[0]
	if p.pauses[3] != pfc.SetOf(4, 6) || p.pauses[4] != 0 || p.pauses[0] != 0 {
		t.Errorf("groups pause %v", p.pauses)
	}
	cfg := testConfig(1)
	cfg.Ports[0].PFCToQueue = &[8]mmu.Queue{5: 8}
	cfg.Ports[0].PFCToGroup = &[8]mmu.PG{7: 9}
	cfg.Ports[0].PauseDelay = time.Minute
	err := cfg.Validate()
	for _, want := range []string{"PFC priority 5: queue 8", "PFC priority 7: priority group 9",
		"pause delay 1m0s"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %q", err, want)
		}
	}
}

// TestManyToOne: two classes in one group and one queue pause together and stop together.
func TestManyToOne(t *testing.T) {
	cfg := testConfig(1)
	cfg.Ports[0].Map.Group[4], cfg.Ports[0].Map.Queue[4] = 3, 3
	p := &newBench(t, cfg).sw.ports[0]
	if p.pauses[3] != pfc.SetOf(3, 4) || p.pauses[4] != 0 {
		t.Errorf("groups pause %v", p.pauses)
	}
	if got := p.stopped(pfc.SetOf(4, 6)); !got.Has(3) || !got.Has(6) || got.Has(4) {
		t.Errorf("queues %08b", got)
	}
}

// TestBegunFrameFinishes: an XOFF that comes while a frame is on the wire does not cut it, and no
// other follows. IEEE 802.3-2022 31B.3.7
func TestBegunFrameFinishes(t *testing.T) {
	b := newBench(t, testConfig(2))
	net := sim.New(b.pool)
	sw := net.Add("switch", b.dev, 2)
	sender := &blaster{pool: b.pool, frame: data(0, 1, 1500), rx: pfc.NewReceiver(
		pfc.ReceiverConfig{Rate: lineRate, Obeyed: pfc.SetOf(3)})}
	sender.ready.Add(0)
	pauser := &blaster{pool: b.pool, frame: wiretest.PFC(1, map[uint8]uint16{3: 65535})}
	for i, h := range []*blaster{sender, pauser} {
		node := net.Add("host", h, 1)
		net.Connect(node, 0, sw, dataplane.PortID(i), link.Config{Rate: lineRate})
		mac := wiretest.MACOrNumber(i).MAC()
		if err := b.sw.MACs().AddStatic(mac, dataplane.PortID(i)); err != nil {
			t.Fatal(err)
		}
		if h == pauser {
			// The first data frame is on port 1's wire from 305 ns to 610 ns.
			net.At(400, node, func(unit.Time) { h.ready.Add(0) })
		}
	}
	net.Run(50 * us)
	if got := pauser.ledger.Received.Frames; got != 1 {
		t.Errorf("%d frames came, want the one that had begun", got)
	}
}
