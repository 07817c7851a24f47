package pfc

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// The standards, clause by clause.

const gb = unit.GbPerSecond

func obeying(delay time.Duration, priorities ...Priority) Receiver {
	return NewReceiver(ReceiverConfig{Rate: 40 * gb, Obeyed: SetOf(priorities...), Delay: delay})
}

// IEEE 802.3-2022 31B.2: pause times are in units of 512 bit times of the link. 65,535 of them at
// 40 Gb/s are 838.84 us, at 400 Gb/s a tenth of that.
func TestWalkPauseTime(t *testing.T) {
	for _, c := range []struct {
		rate   unit.Rate
		quanta uint16
		want   time.Duration
	}{
		{40 * gb, 65535, 838_848}, {400 * gb, 65535, 83_885}, {40 * gb, 1, 13}, {10 * gb, 1, 52},
	} {
		r := NewReceiver(ReceiverConfig{Rate: c.rate, Obeyed: SetOf(3)})
		r.Receive(us, told(map[Priority]uint16{3: c.quanta}))
		end := us.Add(c.want)
		if r.Paused(end-1) != SetOf(3) || r.Paused(end) != 0 {
			t.Errorf("%d quanta at %v do not last %v", c.quanta, c.rate, c.want)
		}
	}
}

// IEEE 802.1Q-2022 36.1.3: the class-enable vector says which of the eight times count. Several
// classes in one frame, XOFF and XON mixed; a time whose class is not enabled says nothing.
func TestWalkClassEnableVector(t *testing.T) {
	r := obeying(0, 0, 1, 2, 3, 4, 5, 6, 7)
	r.Receive(0, told(map[Priority]uint16{0: 100, 3: 65535, 7: 65535}))
	mixed := told(map[Priority]uint16{3: 0, 4: 65535})
	mixed.SetQuanta(5, 65535) // not enabled
	mixed.SetQuanta(7, 0)     // not enabled
	if resumed := r.Receive(us, mixed); resumed != SetOf(3) {
		t.Errorf("resumed %v", resumed)
	}
	if got := r.Paused(us); got != SetOf(0, 4, 7) {
		t.Errorf("paused %v", got)
	}
}

// IEEE 802.1Q-2022 36.1.3: the upper octet of the vector is reserved, and ignored on receipt.
func TestWalkReservedOctet(t *testing.T) {
	r := obeying(0, 3)
	odd := told(map[Priority]uint16{3: 65535})
	odd[2] = 0xff
	r.Receive(0, odd)
	if got := r.Paused(us); got != SetOf(3) {
		t.Errorf("paused %v", got)
	}
	if got := r.Counters(us).Frames; got != [8]uint64{3: 1} {
		t.Errorf("frames %v", got)
	}
}

// IEEE 802.1Q-2022 36.1.1: a priority for which PFC is not enabled is not paused, and a frame that
// enables none pauses nothing.
func TestWalkPrioritiesNotEnabled(t *testing.T) {
	r := obeying(0, 3)
	r.Receive(0, told(map[Priority]uint16{4: 65535}))
	r.Receive(0, told(nil))
	if r.Paused(1) != 0 || r.NextWake() != unit.Never {
		t.Errorf("paused %v", r.Paused(1))
	}
}

// IEEE 802.3-2022 31B.3.3: PAUSE stops all data, for a time in the same quanta; time zero ends it.
// Where PFC is on, PAUSE is not (IEEE 802.1Q-2022 36.1.1): it is counted and that is all.
func TestWalkPause(t *testing.T) {
	var f wire.ControlFrame
	f.Init(wire.MAC{}, wire.OpPause)
	f.Pause().SetQuanta(1000)
	r := NewReceiver(ReceiverConfig{Rate: 40 * gb, Pause: true})
	r.ReceivePause(0, f.Pause())
	if r.Paused(12799) != everyPriority || r.Paused(12800) != 0 {
		t.Error("1000 quanta of PAUSE are not 12.8 us")
	}
	r.ReceivePause(20*us, f.Pause())
	f.Pause().SetQuanta(0)
	if resumed := r.ReceivePause(21*us, f.Pause()); resumed != everyPriority {
		t.Errorf("resumed %v", resumed)
	}
	r.Receive(22*us, told(map[Priority]uint16{3: 65535}))
	if r.Paused(22*us) != 0 {
		t.Error("PFC is obeyed on a link with PAUSE")
	}
	with := obeying(0, 3)
	f.Pause().SetQuanta(1000)
	with.ReceivePause(0, f.Pause())
	if with.Paused(1) != 0 || with.Counters(1).Pause != 1 {
		t.Errorf("PAUSE on a link with PFC: paused %v, counted %d", with.Paused(1),
			with.Counters(1).Pause)
	}
}

// IEEE 802.3-2022 31B.3.7: how late an XOFF may take effect. At 40 Gb/s 118 quanta are 1510.4 ns.
func TestWalkResponse(t *testing.T) {
	for _, c := range []struct {
		rate unit.Rate
		want time.Duration
	}{
		{100 * unit.MbPerSecond, 5120}, {1 * gb, 1024}, {10 * gb, 3431}, {25 * gb, 1639},
		{40 * gb, 1511}, {50 * gb, 1506}, {100 * gb, 2018}, {200 * gb, 1160}, {400 * gb, 1159},
		{800 * gb, 1159}, {20 * gb, 2048}, // as 400 Gb/s, as 25 Gb/s
	} {
		if got := MaxResponse(c.rate); got != c.want {
			t.Errorf("%v: %d ns, want %d", c.rate, got, c.want)
		}
	}
	delay := MaxResponse(40 * gb)
	late := unit.Time(delay)
	r := obeying(delay, 3)
	r.Receive(us, told(map[Priority]uint16{3: 1000}))
	start, end := us+late, us+late+12800
	if r.NextWake() != start || r.Paused(start-1) != 0 || r.Paused(start) != SetOf(3) {
		t.Errorf("paused from %v, want %v", r.NextWake(), start)
	}
	if r.Paused(end-1) != SetOf(3) || r.Paused(end) != 0 || r.Wake(end) != SetOf(3) {
		t.Errorf("paused until %v, want %v", r.NextWake(), end)
	}
	if c := r.Counters(end); c.Paused[3] != 12800 || c.Transitions[3] != 1 {
		t.Errorf("counters %+v", c)
	}
}

// XON is as late as XOFF: frames keep their order, and a pause is as long as it was meant to be.
func TestWalkResponseKeepsOrder(t *testing.T) {
	r := obeying(time.Microsecond, 3, 4)
	r.Receive(0, told(map[Priority]uint16{3: 65535, 4: 65535}))
	r.Receive(400, told(map[Priority]uint16{3: 0}))
	if r.Paused(1*us) != SetOf(3, 4) || r.Paused(1399) != SetOf(3, 4) {
		t.Error("XON acted early")
	}
	if r.Wake(1400) != SetOf(3) || r.Paused(1400) != SetOf(4) {
		t.Errorf("paused %v", r.Paused(1400))
	}
	if got := r.Counters(2 * us).Paused[3]; got != 400 {
		t.Errorf("paused for %v", got)
	}
	r.Receive(3*us, told(map[Priority]uint16{3: 65535}))
	r.Reset(3*us + 1)
	if r.Paused(9*us) != 0 {
		t.Error("an order outlived the link")
	}
}

// More frames within the delay than the line can carry: the oldest acts early, none is forgotten.
func TestWalkResponseStorm(t *testing.T) {
	r := obeying(time.Microsecond, 3)
	for range 1000 {
		r.Receive(0, told(map[Priority]uint16{3: 65535}))
	}
	r.Receive(0, told(map[Priority]uint16{3: 0}))
	if r.Paused(1) != SetOf(3) || r.Paused(1*us) != 0 {
		t.Errorf("paused %v, then %v", r.Paused(1), r.Paused(us))
	}
}

// [RDMA at scale] section 6.2 saw more than two thousand pause frames a second from a broken NIC:
// a storm of 65,535 quanta, announced again after half of that, is 2,384 a second at 40 Gb/s. It
// has no gap, and no request of the buffer's ends it.
func TestWalkStorm(t *testing.T) {
	g, r := NewGenerator(testConfig), obeying(0, 3, 4)
	g.Storm(SetOf(3))
	frames := 0
	for now := unit.Time(0); now < unit.Time(time.Second); now = g.NextWake() {
		g.Wake(now)
		g.XOFF(3)
		g.XON(3)
		body := build(t, &g, now)
		if resumed := r.Receive(now, &body); resumed != 0 {
			t.Fatalf("a gap at %v", now)
		}
		frames++
	}
	if frames != 2385 {
		t.Errorf("%d frames", frames)
	}
	g.XOFF(4)
	g.EndStorm()
	now := unit.Time(time.Second)
	if body := build(t, &g, now); body.Enabled() != 0x18 || body.Quanta(3) != 0 ||
		body.Quanta(4) != wire.MaxQuanta {
		t.Errorf("after the storm: % x", body)
	}
}

// What a watchdog silences is taken back and not asked again, whoever asks.
func TestSilence(t *testing.T) {
	g := NewGenerator(testConfig)
	g.Storm(SetOf(3))
	g.XOFF(4)
	build(t, &g, 0)
	g.Silence(SetOf(3, 4))
	if body := build(t, &g, us); body.Enabled() != 0x18 || body.Quanta(3)|body.Quanta(4) != 0 {
		t.Errorf("XON: % x", body)
	}
	g.XOFF(3)
	if g.Pending(2*us) || g.Wanted() != 0 || g.NextWake() != unit.Never {
		t.Error("it still speaks")
	}
	g.Silence(0)
	if body := build(t, &g, 3*us); body.Quanta(3) == 0 || body.Quanta(4) == 0 {
		t.Errorf("after the silence: % x", body)
	}
}

// What a watchdog has ignored is let go at once and not held back again, until it is heeded.
func TestIgnore(t *testing.T) {
	r := obeying(0, 3, 4)
	r.Receive(0, told(map[Priority]uint16{3: 65535, 4: 65535}))
	if resumed := r.Ignore(us, SetOf(3)); resumed != SetOf(3) || r.Paused(us) != SetOf(4) {
		t.Errorf("resumed %v, paused %v", resumed, r.Paused(us))
	}
	r.Receive(2*us, told(map[Priority]uint16{3: 65535}))
	if r.Paused(2*us) != SetOf(4) || r.Counters(2 * us).Frames[3] != 2 {
		t.Errorf("paused %v", r.Paused(2*us))
	}
	r.Ignore(3*us, 0)
	r.Receive(4*us, told(map[Priority]uint16{3: 65535}))
	if r.Paused(4*us) != SetOf(3, 4) {
		t.Errorf("paused %v", r.Paused(4*us))
	}
}

// TestDelayedReceiverModel compares with an oracle that keeps every frame and looks at all of them
// each time it is asked.
func TestDelayedReceiverModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delay := time.Duration(rapid.IntRange(0, 3000).Draw(t, "delay"))
		r := obeying(delay, 3, 4)
		type heard struct {
			at     unit.Time
			p      Priority
			quanta uint16
		}
		var all []heard
		var now unit.Time
		oracle := func() (s Set) {
			var until [wire.Priorities]unit.Time
			for _, h := range all {
				if at := h.at.Add(delay); at <= now {
					until[h.p] = at.Add(Duration(h.quanta, 40*gb))
				}
			}
			for _, p := range []Priority{3, 4} {
				if until[p] > now {
					s = s.With(p)
				}
			}
			return s
		}
		t.Repeat(map[string]func(*rapid.T){
			"frame": func(t *rapid.T) {
				h := heard{now, Priority(rapid.IntRange(2, 4).Draw(t, "p")),
					uint16(rapid.SampledFrom([]int{0, 1, 50, 300}).Draw(t, "quanta"))}
				all = append(all, h)
				r.Receive(now, told(map[Priority]uint16{h.p: h.quanta}))
				now += 17 // 84 bytes at 40 Gb/s: the line carries no more
			},
			"wait": func(t *rapid.T) { now += unit.Time(rapid.IntRange(0, 6000).Draw(t, "ns")) },
			"wake": func(*rapid.T) {
				if r.NextWake() <= now {
					r.Wake(now)
				}
			},
			"": func(t *rapid.T) {
				if got, want := r.Paused(now), oracle(); got != want {
					t.Fatalf("at %d: paused %v, want %v", now, got, want)
				}
			},
		})
	})
}
