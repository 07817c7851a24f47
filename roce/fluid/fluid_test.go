package fluid

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/cc"
)

const ms = time.Millisecond

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*math.Abs(want) {
		t.Errorf("%s: %.9g, want %.9g within %g", what, got, want, tolerance)
	}
}

func model(t testing.TB, p Params, flows ...Flow) *Model {
	t.Helper()
	m, err := New(p, flows)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Equation 5, with figure 14's thresholds: nothing up to 5 KB, half of 1 % in the middle, 1 % at
// 200 KB, everything above.
func TestMarking(t *testing.T) {
	p := Default()
	c := p.coefficients()
	for bytes, want := range map[float64]float64{0: 0, 5e3: 0, 102.5e3: 0.005, 200e3: 0.01,
		200.1e3: 1} {
		near(t, "marking", c.marking(bytes/1500), want, 1e-12)
	}
	s := Strawman()
	c = s.coefficients()
	if c.marking(40e3/1500) != 0 || c.marking(40.1e3/1500) != 1 {
		t.Error("equal thresholds do not cut off")
	}
}

// Equations 7 to 9 for one flow, by hand. 10 packets a millisecond and p = 0.1; tau' and tau of
// one millisecond; B of 20 packets; T of 2 ms, which is 20 packets too; F = 2.
//
//	1-(1-p)^10          = 0.6513215599
//	p / ((1-p)^-20 - 1) = 0.1 / 7.22526334 = 0.0138403260; times 10^4 a second: 138.403260
//	(1-p)^(F 20)        = 0.0147808829
//
//	alpha' = 1/16 / 1 ms (0.6513215599 - 0.5)                          =        9.4575975
//	R_T'   = -2000 * 651.3215599 + 100 * 2 * 138.403260 * 0.0147808829 = -1302233.975
//	R_C'   = -10^4 * 0.5/2 * 651.3215599 + 1000 * 2 * 138.403260       = -1351497.380
func TestEquations(t *testing.T) {
	c := coefficients{g: 1.0 / 16, alphaTimer: 1e-3, cnp: 1e-3, timer: 2e-3, counter: 20,
		recovery: 2, step: 100}
	d := c.change(flow{alpha: 0.5, target: 12000, current: 10000}, 0.1, 10000)
	near(t, "alpha'", d.alpha, 9.4575975, 1e-8)
	near(t, "R_T'", d.target, -1302233.975, 1e-8)
	near(t, "R_C'", d.current, -1351497.380, 1e-8)
}

// The terms that look like 0/0 have their limits: without marks a round takes n/r, and with a rate
// of nothing T; where all is marked no round is ever whole.
func TestLimits(t *testing.T) {
	near(t, "no marks", events(50, 20, 0), 50, 0)
	near(t, "almost no marks", events(50, 20, 1e-12), 50, 1e-9)
	near(t, "no rate", events(1/0.002, 0, 1e-9), 500, 1e-8)
	near(t, "direct", events(10000.0/20, 20, 0.1), 10000*0.1/(math.Pow(0.9, -20)-1), 1e-12)
	if events(50, 20, 1) != 0 {
		t.Error("all marked, and a round is whole")
	}
}

// Without marks the equations have a solution in closed form: the target climbs by R_AI a round,
// and the current rate follows it. With B out of the way and 1/T = lambda,
//
//	R_T = R0 + a t,  a = R_AI lambda
//	R_C = R_T - (2a/lambda) (1 - exp(-lambda t / 2))     from R_C = R_T = R0
func TestClimb(t *testing.T) {
	p := Default()
	p.ByteCounter = 1 << 50
	m := model(t, p, Flow{Current: unit.GbPerSecond, Target: unit.GbPerSecond, Alpha: 1})
	m.Run(5*ms, ms, func(s *Sample) {
		lambda, at := 1/p.Timer.Seconds(), s.At.Seconds()
		a := float64(p.RateAI) * lambda
		target := 1e9 + a*at
		current := target - 2*a/lambda*(1-math.Exp(-lambda*at/2))
		near(t, "R_T", float64(s.Flows[0].Target), target, 1e-7)
		near(t, "R_C", float64(s.Flows[0].Current), current, 1e-7)
		near(t, "alpha", s.Flows[0].Alpha, math.Exp(-p.G*at/p.AlphaTimer.Seconds()), 1e-7)
	})
}

// What happens at the queue reaches the flow one delay later, and not before.
func TestDelay(t *testing.T) {
	p := Default()
	p.Kmin, p.Kmax, p.Pmax = 0, 0, 1
	m := model(t, p, p.AtLineRate(0), p.AtLineRate(0))
	decay := func(at time.Duration) float64 {
		return math.Exp(-p.G * at.Seconds() / p.AlphaTimer.Seconds())
	}
	m.Run(p.Delay, step, func(s *Sample) {
		near(t, "alpha before the news", s.Flows[0].Alpha, decay(s.At), 1e-9)
		near(t, "queue", float64(s.Queue), 5*float64(s.At.Nanoseconds()), 1e-3)
	})
	m.Run(p.Delay+5*step, step, nil)
	if got := m.now().flows[0].alpha; got <= decay(m.At()) {
		t.Errorf("alpha %v did not hear of the marks", got)
	}
}

// At the fixed point nothing changes; and flows that start elsewhere end there.
func TestFixedPoint(t *testing.T) {
	for _, n := range []int{2, 4, 8} {
		p := Default()
		at, err := p.FixedPoint(n)
		if err != nil {
			t.Fatal(err)
		}
		if at.Marking >= 0.01 { // section 5.1: "p is less than 1%"
			t.Errorf("%d flows: marking %v", n, at.Marking)
		}
		c := p.coefficients()
		near(t, "marking of the queue", c.marking(float64(at.Queue)/1500), at.Marking, 1e-4)
		f := flow{at.Alpha, p.packets(at.Target), p.packets(at.Rate)}
		d := c.change(f, at.Marking, f.current)
		for what, change := range map[string]float64{"alpha'": d.alpha, "R_T'": d.target / f.target,
			"R_C'": d.current / f.current} { // parts of themselves a second
			if math.Abs(change) > 1e-3 {
				t.Errorf("%d flows: %s is %v at the fixed point", n, what, change)
			}
		}
	}
	p := Default()
	at, _ := p.FixedPoint(2)
	m := model(t, p, p.AtLineRate(0), p.AtLineRate(10*ms))
	var end Sample
	m.Run(300*ms, 300*ms, func(s *Sample) { end = *s })
	near(t, "queue", float64(end.Queue), float64(at.Queue), 1e-3)
	for _, f := range end.Flows {
		near(t, "rate", float64(f.Current), float64(at.Rate), 1e-4)
		near(t, "alpha", f.Alpha, at.Alpha, 1e-3)
	}
}

// The fixed point by hand, p^3 = R_AI / (R_C r^3 tau' T^2), is that of rare marks: as R_AI goes to
// nothing the two become one. Of figure 14's parameters with packets of 1106 bytes it is 4.02e-4
// N^(4/3), above what equations 7 to 9 have, which pass 1 % between 13 and 14 flows.
func TestFixedPointByHand(t *testing.T) {
	p := Default()
	p.Packet, p.Pmax, p.ByteCounter = 1106, 1, 1<<50
	hand := func(n int) float64 {
		rate := float64(p.Capacity) / float64(n)
		r, interval := p.packets(unit.Rate(rate)), p.Timer.Seconds() // which is tau' too
		return math.Cbrt(float64(p.RateAI)/(rate*math.Pow(interval, 3))) / r
	}
	at := func(n int) float64 {
		point, err := p.FixedPoint(n)
		if err != nil {
			t.Fatal(err)
		}
		return point.Marking
	}
	near(t, "by hand, 2 flows", hand(2), 4.02e-4*math.Pow(2, 4.0/3), 1e-3)
	for _, n := range []int{2, 13, 14, 20} {
		if by := hand(n); at(n) > by || at(n) < 0.7*by {
			t.Errorf("%d flows: marking %g, by hand %g", n, at(n), by)
		}
	}
	if at(13) > 0.01 || at(14) < 0.01 {
		t.Errorf("13 flows take %g, 14 %g", at(13), at(14))
	}
	p.RateAI = 40 // b/s
	near(t, "rare marks", at(2), hand(2), 0.01)
}

// More flows than Pmax can hold in check have no fixed point, and cutting off has none at all.
func TestNoFixedPoint(t *testing.T) {
	p, s := Default(), Strawman()
	if _, err := p.FixedPoint(32); err == nil || !strings.Contains(err.Error(), "Kmax") {
		t.Errorf("32 flows: %v", err)
	}
	if _, err := s.FixedPoint(2); err == nil {
		t.Error("cut-off marking has a fixed point")
	}
}

func TestNewRefuses(t *testing.T) {
	p := Default()
	p.Pmax, p.Timer = 2, 0
	_, err := New(p, nil)
	for _, want := range []string{"pmax: 2 is not in (0, 1]", "timer: 0s is not positive"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	if _, err := New(Default(), []Flow{{Start: 1500}}); err == nil {
		t.Error("a start between two steps")
	}
	odd := Default()
	odd.Delay = 1500
	if odd.Validate() == nil {
		t.Error("a delay between two steps")
	}
}

// Solve has the samples that Run shows, each on its own; and the paper's set is that of its
// reaction point.
func TestSolve(t *testing.T) {
	p := Default()
	flows := []Flow{p.AtLineRate(0), p.AtLineRate(ms)}
	list, err := Solve(p, flows, 3*ms, ms/2)
	if err != nil || len(list) != 6 {
		t.Fatalf("%d samples, %v", len(list), err)
	}
	i := 0
	model(t, p, flows...).Run(3*ms, ms/2, func(s *Sample) {
		if !reflect.DeepEqual(*s, list[i]) {
			t.Errorf("%+v, want %+v", list[i], *s)
		}
		i++
	})
	if _, err := Solve(p, flows, ms, 1500); err == nil {
		t.Error("samples between two steps")
	}
	point, err := cc.NewParams("dcqcn", "sigcomm15")
	if err != nil || Of(point.(*cc.DCQCNParams)) != p {
		t.Errorf("%+v, %v", point, err)
	}
}

// A step costs no allocation.
func TestStepAllocations(t *testing.T) {
	p := Default()
	m := model(t, p, p.AtLineRate(0), p.AtLineRate(0))
	if n := testing.AllocsPerRun(100, m.Step); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
}

func BenchmarkStep(b *testing.B) {
	p := Default()
	m := model(b, p, p.AtLineRate(0), p.AtLineRate(0))
	b.ReportAllocs()
	for b.Loop() {
		m.Step()
	}
}
