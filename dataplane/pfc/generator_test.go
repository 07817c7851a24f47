package pfc

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

var testConfig = GeneratorConfig{Source: wire.MAC{2, 0, 0, 0, 0, 1}, Rate: 40 * unit.GbPerSecond}

// build returns the body of the pending frame.
func build(t rapidOrTest, g *Generator, now unit.Time) wire.PFC {
	t.Helper()
	pool := frame.NewPool(1, 64)
	f := pool.Get()
	if !g.Pending(now) || !g.Build(now, f) {
		t.Fatalf("no frame at %v", now)
	}
	eth, _ := wire.AsEthernet(f.Bytes())
	body, _ := wire.AsPFC(f.Bytes()[wire.EthernetLen:])
	if f.Len() != wire.MinFrame || eth.Dst() != wire.MACControlAddr ||
		eth.Src() != testConfig.Source || eth.Type() != wire.TypeMACControl ||
		body.Opcode() != wire.OpPFC {
		t.Fatalf("frame % x", f.Bytes())
	}
	return *body
}

type rapidOrTest interface {
	Helper()
	Fatalf(format string, args ...any)
}

func TestXOFFAndXON(t *testing.T) {
	g := NewGenerator(testConfig)
	if g.Pending(0) {
		t.Error("pending at the start")
	}
	g.XOFF(3)
	off := build(t, &g, 1*us)
	if Set(off.Enabled()) != SetOf(3) || off.Quanta(3) != wire.MaxQuanta || g.Pending(1*us) {
		t.Errorf("XOFF: % x", off)
	}
	g.XOFF(4)
	both := build(t, &g, 2*us)
	if Set(both.Enabled()) != SetOf(3, 4) || both.Quanta(3) != wire.MaxQuanta ||
		both.Quanta(4) != wire.MaxQuanta {
		t.Errorf("second XOFF: % x", both)
	}
	g.XON(3)
	on := build(t, &g, 6*us)
	if Set(on.Enabled()) != SetOf(3, 4) || on.Quanta(3) != 0 || on.Quanta(4) != wire.MaxQuanta {
		t.Errorf("XON: % x", on)
	}
	want := GeneratorCounters{Frames: [8]uint64{3: 3, 4: 2},
		Paused: [8]time.Duration{3: 5 * time.Microsecond, 4: 8 * time.Microsecond}}
	if got := g.Counters(10 * us); got != want {
		t.Errorf("counters %+v", got)
	}
}

// TestTakenBack: what never left costs no frame.
func TestTakenBack(t *testing.T) {
	g := NewGenerator(testConfig)
	g.XOFF(3)
	g.XON(3)
	if g.Pending(0) {
		t.Error("a frame is pending for nothing")
	}
}

func TestRefresh(t *testing.T) {
	g := NewGenerator(testConfig)
	g.XOFF(3)
	build(t, &g, 0)
	half := unit.Time(838848 / 2)
	if g.NextWake() != half || g.Pending(half-1) {
		t.Fatalf("refresh at %v", g.NextWake())
	}
	g.Wake(half)
	if g.NextWake() != unit.Never {
		t.Error("a pending refresh wakes again")
	}
	again := build(t, &g, half+us) // The wire was busy.
	if again.Quanta(3) != wire.MaxQuanta || g.NextWake() != half+us+half {
		t.Errorf("refresh % x, next at %v", again, g.NextWake())
	}
}

// TestGeneratorReset: after the link has been down, the other end is told anew.
func TestGeneratorReset(t *testing.T) {
	g := NewGenerator(testConfig)
	g.XOFF(3)
	build(t, &g, 0)
	g.Reset(5 * us)
	if g.NextWake() != unit.Never || g.Counters(9 * us).Paused[3] != 5*time.Microsecond {
		t.Errorf("wake %v, counters %+v", g.NextWake(), g.Counters(9*us))
	}
	if f := build(t, &g, 9*us); f.Quanta(3) != wire.MaxQuanta {
		t.Errorf("after the reset: % x", f)
	}
}

func TestFrameTooSmall(t *testing.T) {
	g := NewGenerator(testConfig)
	g.XOFF(3)
	if g.Build(0, frame.NewPool(1, 40).Get()) || !g.Pending(0) {
		t.Error("a frame of 40 bytes was built")
	}
}

// TestBothEnds connects the two ends: what one wants, the other holds back, at every instant and
// for as long as wanted, and both counted the same time.
func TestBothEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewGenerator(testConfig)
		r := NewReceiver(ReceiverConfig{Rate: testConfig.Rate, Obeyed: 0xff})
		var now unit.Time
		settle := func() {
			for {
				next := min(g.NextWake(), r.NextWake())
				if next > now {
					break
				}
				g.Wake(next)
				if g.Pending(next) {
					body := build(t, &g, next)
					r.Receive(next, &body)
				}
				r.Wake(next)
			}
			if g.Pending(now) {
				body := build(t, &g, now)
				r.Receive(now, &body)
			}
			if r.Paused(now) != g.Wanted() {
				t.Fatalf("at %v: wanted %v, held back %v", now, g.Wanted(), r.Paused(now))
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"xoff": func(t *rapid.T) { g.XOFF(Priority(rapid.IntRange(0, 7).Draw(t, "p"))) },
			"xon":  func(t *rapid.T) { g.XON(Priority(rapid.IntRange(0, 7).Draw(t, "p"))) },
			"wait": func(t *rapid.T) { now += unit.Time(rapid.IntRange(1, 5e6).Draw(t, "ns")) },
			"":     func(*rapid.T) { settle() },
		})
		if got, want := r.Counters(now).Paused, g.Counters(now).Paused; got != want {
			t.Fatalf("paused: received %v, sent %v", got, want)
		}
	})
}

func TestNothingIsAllocated(t *testing.T) {
	g := NewGenerator(testConfig)
	r := NewReceiver(ReceiverConfig{Rate: testConfig.Rate, Obeyed: 0xff})
	pool := frame.NewPool(1, 64)
	var now unit.Time
	if n := testing.AllocsPerRun(100, func() {
		now += us
		g.XOFF(3)
		f := pool.Get()
		g.Build(now, f)
		body, _ := wire.AsPFC(f.Bytes()[wire.EthernetLen:])
		r.Receive(now, body)
		f.Release()
		g.XON(3)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
