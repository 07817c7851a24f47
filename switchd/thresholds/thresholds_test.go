package thresholds

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// TestSection4: the values of [DCQCN] section 4 for 12 MB, 32 ports, 8 priorities, 1500-byte MTU.
func TestSection4(t *testing.T) {
	s := Paper()
	if s.Flight != 22_400 {
		t.Errorf("t_flight %v, want 22.4 KB", s.Flight)
	}
	// "For our switches, we get t_PFC <= 24.47KB": the paper cuts the digits off.
	if got := math.Floor(s.StaticPFC()/10) / 100; got != 24.47 {
		t.Errorf("t_PFC %v KB, want 24.47", got)
	}
	// "we get t_ECN < 0.85KB. This is less than one MTU and hence infeasible." The conclusion
	// holds. The number does not follow from the formula before it: 24.47 KB / 32 is 0.76 KB.
	if got := s.StaticECN(); got >= 850 || s.Feasible(got) || math.Round(got) != 765 {
		t.Errorf("static t_ECN %v bytes, want 765: below 0.85 KB and infeasible", got)
	}
	// "In our testbed, we use beta = 8, which leads to t_ECN < 21.75KB."
	if got := math.Floor(s.DynamicECN()/10) / 100; got != 21.75 || !s.Feasible(s.DynamicECN()) {
		t.Errorf("dynamic t_ECN %v KB, want 21.75, feasible", got)
	}
	text := s.Derive().String()
	for _, want := range []string{"= 22.4 KB", "12000000 - 8 x 32 x 22400 = 6265600 bytes",
		"6265600 / (8 x 32) = 24.47 KB", "= 0.76 KB", "infeasible: less than one frame",
		"8 x 6265600 / (32 x (8 x 8 + 8)) = 21.75 KB", "feasible: 14.5 frames"} {
		if !strings.Contains(text, want) {
			t.Errorf("the derivation lacks %q:\n%s", want, text)
		}
	}
}

// TestDynamicECNIsTheFixedPoint: at the bound, with every queue of every priority at t_ECN, t_PFC
// is n t_ECN exactly.
func TestDynamicECNIsTheFixedPoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Section4{Buffer: 1 << 30, Ports: rapid.IntRange(1, 256).Draw(t, "ports"),
			Priorities: rapid.IntRange(1, 8).Draw(t, "priorities"),
			Flight:     unit.Bytes(rapid.Int64Range(0, 500_000).Draw(t, "flight")),
			Beta:       rapid.Float64Range(0.01, 64).Draw(t, "beta")}
		ecn := s.DynamicECN()
		stored := ecn * float64(s.Ports*s.Priorities)
		if d := s.DynamicPFC(stored) - ecn*float64(s.Ports); math.Abs(d) > 1e-3 {
			t.Fatalf("%+v: t_PFC is %v bytes from n t_ECN", s, d)
		}
	})
}

// TestHardware: SONiC's formula, by hand for 100 Gb/s, 300 m, a peer that takes 394 quanta.
func TestHardware(t *testing.T) {
	h := Hardware{Rate: 100 * unit.GbPerSecond, Cable: 300, MTU: 9100, Lossless: 1500}
	// on cable 2 x 300 x 12.5e9 / 1.98e8 = 37878.8; response 394 x 64 = 25216.
	if got, want := h.XOFF(), unit.Bytes(1500+9100+25216+37879); got != want {
		t.Errorf("xoff %d, want %d", got, want)
	}
	h.Cell, h.Small = 256, 100 // every packet has 64 bytes of a cell of 256
	if got, want := h.XOFF(), unit.Bytes(1500+math.Ceil(4*(9100+25216+37878.79))); got != want {
		t.Errorf("with cells: xoff %d, want %d", got, want)
	}
	h.Response, h.Cell = time.Microsecond, 0
	if got, want := h.XOFF(), unit.Bytes(1500+9100+12500+37879); got != want {
		t.Errorf("with a response of 1 us: xoff %d, want %d", got, want)
	}
}

// TestReachOfThePaper: [DCQCN] does not say for which cable 22.4 KB are; by SONiC's formula they
// are enough for 234 m, between the testbed's and the 300 m of [RDMA at scale] section 2.
func TestReachOfThePaper(t *testing.T) {
	h := Hardware{Rate: 40 * unit.GbPerSecond, MTU: 1500, Lossless: 1500}
	if got := h.Reach(Paper().Flight); got != 234 {
		t.Errorf("22.4 KB are enough for %d m, want 234", got)
	}
	if got := h.Reach(1000); got != -1 {
		t.Errorf("1 KB is enough for %d m", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		h := Hardware{Rate: unit.Rate(rapid.IntRange(1, 400).Draw(t, "rate")) * unit.GbPerSecond,
			MTU: 1500, Lossless: 1500, Cell: unit.Bytes(rapid.IntRange(1, 300).Draw(t, "cell")),
			Small: rapid.Float64Range(0, 100).Draw(t, "small")}
		room := unit.Bytes(rapid.IntRange(200_000, 2_000_000).Draw(t, "room"))
		reach := h.Reach(room)
		h.Cable = max(reach, 0)
		at := h.XOFF()
		if reach < 0 && at > room {
			return // not even without a cable
		}
		h.Cable++
		if beyond := h.XOFF(); at > room || beyond < room {
			t.Fatalf("reach %d m: needs %d of %d, one metre more %d", h.Cable-1, at, room, beyond)
		}
	})
}

// TestEmulatedByHand: 40 Gb/s, 1 us, frames of 1086 bytes both ways, a peer that stops at once.
// The line carries 10,000 bytes in two delays, 5 more in the grain; the reverse frame takes 1110,
// the PFC frame 84; so 11,199 bytes pass, in which the peer begins frames 0 to 10 of 1110.
func TestEmulatedByHand(t *testing.T) {
	e := Emulated{Rate: 40 * unit.GbPerSecond, Delay: time.Microsecond, Frame: 1086, Reverse: 1086}
	if got := e.Window(); got != 10_005+1110+84 {
		t.Errorf("window %d", got)
	}
	if got := e.Uniform(); got != (1+11)*1086 {
		t.Errorf("uniform %d, want 12 frames", got)
	}
	want := 2*1086 + unit.Bytes(math.Ceil(11_199*1086/1110.0))
	if got := e.Headroom(); got != want {
		t.Errorf("headroom %d, want %d", got, want)
	}
	p := &pipeline.Port{Rate: e.Rate}
	w := link.Config{Rate: e.Rate, Delay: e.Delay}
	if got := ForPort(p, w, Traffic{Frame: 1086, Reverse: 1086}); got != want {
		t.Errorf("of the port %d, want %d", got, want)
	}
	text := e.Derive().String()
	if !strings.Contains(text, "frames of 1086 bytes alone use 13032") {
		t.Error(text)
	}
}

// TestEmulatedHolds: a dumb simulation of the link, with frames of any lengths and any moment,
// never stores more than Headroom; with frames all alike it reaches Uniform at the worst moment.
func TestEmulatedHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := Emulated{Rate: unit.Rate(rapid.IntRange(1, 400).Draw(t, "rate")) * unit.GbPerSecond,
			Delay:    time.Duration(rapid.IntRange(0, 5000).Draw(t, "delay")),
			Frame:    unit.Bytes(rapid.IntRange(64, 3000).Draw(t, "frame")),
			Reverse:  unit.Bytes(rapid.IntRange(0, 3000).Draw(t, "reverse")),
			Reaction: time.Duration(rapid.IntRange(0, 3000).Draw(t, "reaction")),
			Cell:     unit.Bytes(rapid.IntRange(0, 300).Draw(t, "cell"))}
		lengths := rapid.SliceOfN(rapid.Int64Range(60, int64(e.Frame)), 1, 20).Draw(t, "lengths")
		begun := rapid.Float64Range(0, 1).Draw(t, "reverse frame begun")
		next := func(i int) unit.Bytes { return unit.Bytes(lengths[i%len(lengths)]) }
		if got, most := play(&e, next, begun), e.Headroom(); got > most {
			t.Fatalf("%+v: %d stored, headroom %d", e, got, most)
		}
		alike := func(int) unit.Bytes { return e.Frame }
		got, edge := play(&e, alike, 0), e.Uniform()
		if got > edge || got < edge-e.charge(e.Frame) {
			t.Fatalf("%+v: %d stored of frames alike, the edge is %d", e, got, edge)
		}
	})
}

// play lets the peer send without end and counts what is stored from the trigger on. Of the
// reverse frame the part begun has been sent already.
func play(e *Emulated, length func(int) unit.Bytes, begun float64) (stored unit.Bytes) {
	perByte := 8e9 / float64(e.Rate) // ns
	stored = e.charge(length(0))
	pfc := float64(e.reverse())*(1-begun)*perByte + float64(wire.OnLine(wire.MinFrame))*perByte
	stop := pfc + float64(e.Delay) + float64(e.Reaction)
	for at, i := -float64(e.Delay), 1; at <= stop; i++ {
		stored += e.charge(length(i))
		at += float64(wire.OnLine(length(i))) * perByte
	}
	return stored
}
