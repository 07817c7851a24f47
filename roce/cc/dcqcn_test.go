package cc

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

const (
	us   = unit.Time(time.Microsecond)
	line = 40 * unit.GbPerSecond
)

func paper() *DCQCN { return sigcomm15().New(Setup{Line: line}).(*DCQCN) }

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Max(math.Abs(want), 1) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// [DCQCN] 3.1: no slow start, a flow starts at line rate; nothing to wait for.
func TestStartsAtLineRate(t *testing.T) {
	d := paper()
	d.Sent(0, 100*unit.MB)
	if d.Limit().Rate != line || d.NextWake() != unit.Never || d.Limit().Window != 0 {
		t.Errorf("%+v, wake %v", d.Limit(), d.NextWake())
	}
}

// [DCQCN] eq 1, with the initial alpha of footnote 1.
func TestEquation1(t *testing.T) {
	d := paper()
	d.CNP(0, CNP{})
	near(t, "R_T", d.target, 40e9)
	near(t, "R_C", d.current, 20e9)
	near(t, "alpha", d.alpha, 1)
	d.alpha = 0.5
	d.CNP(10*us, CNP{})
	near(t, "R_T", d.target, 20e9)
	near(t, "R_C", d.current, 15e9)
	near(t, "alpha", d.alpha, 0.5*255/256+1.0/256)
}

// [DCQCN] eq 2: alpha decays once for each K = 55 us without a CNP.
func TestEquation2(t *testing.T) {
	d := paper()
	d.CNP(0, CNP{})
	d.Wake(55 * us)
	near(t, "alpha after one period", d.alpha, 255.0/256)
	d.Ack(164*us, Ack{})
	near(t, "alpha just before the third", d.alpha, math.Pow(255.0/256, 2))
	d.CNP(164*us, CNP{}) // restarts the period
	alpha := d.alpha
	d.Ack(165*us, Ack{})
	near(t, "alpha", d.alpha, alpha)
}

// [DCQCN] eq 3: fast recovery halves the distance to the target and leaves the target alone.
func TestEquation3(t *testing.T) {
	d := paper()
	d.CNP(0, CNP{})
	for i, want := range []float64{30e9, 35e9, 37.5e9, 38.75e9} {
		d.Wake(unit.Time(i+1) * 55 * us)
		near(t, "R_C", d.current, want)
		near(t, "R_T", d.target, 40e9)
	}
}

// [DCQCN] eq 4: when a stage counter reaches F = 5, each round adds R_AI to the target.
func TestEquation4(t *testing.T) {
	d := paper()
	d.CNP(0, CNP{})
	d.CNP(1*us, CNP{}) // target 20 Gb/s, rate 10 Gb/s
	target, current := 20e9, d.current
	for i := range 8 {
		d.Wake(1*us + unit.Time(i+1)*55*us)
		if i+1 >= 5 {
			target += 40e6
		}
		current = (target + current) / 2
		near(t, "R_T", d.target, target)
		near(t, "R_C", d.current, current)
	}
}

// [DCQCN] figure 7, to the round: which of them leave the target alone, and which add R_AI or i
// times R_HAI to it. With F = 5: four rounds of fast recovery by either counter; the fifth is
// additive, also if the other counter has not moved; hyper increase is where both have counted six.
func TestRounds(t *testing.T) {
	for _, c := range []struct {
		name   string
		rounds string // t: the timer, b: the byte counter
		want   string // f: fast recovery, a: additive, 1, 2, ..: hyper increase with that i
	}{
		{"timer alone", "tttttttt", "ffffaaaa"},
		{"bytes alone", "bbbbbbbb", "ffffaaaa"},
		{"in turn", "tbtbtbtbtbtbtbt", "ffffffffaaa1122"},
		{"timer first", "ttttttbbbbbbb", "ffffaaaaaaa11"},
	} {
		d := paper()
		for i := range unit.Time(8) { // room to grow
			d.CNP(i*us, CNP{})
		}
		now := 7 * us
		got := ""
		for _, round := range c.rounds {
			before := d.target
			if round == 't' {
				now = d.NextWake()
				d.Wake(now)
			} else {
				d.Sent(now, 10*unit.MB)
			}
			switch step := d.target - before; {
			case step == 0:
				got += "f"
			case step == 40e6:
				got += "a"
			default:
				got += strconv.Itoa(int(step / 400e6))
			}
		}
		if got != c.want {
			t.Errorf("%s: %s is %s, want %s", c.name, c.rounds, got, c.want)
		}
	}
}

// [DCQCN] 3.1: the byte counter raises the rate for every B = 10 MB, as the timer does.
func TestByteCounter(t *testing.T) {
	d := paper()
	d.CNP(0, CNP{})
	d.Sent(1*us, 10*unit.MB-1)
	near(t, "R_C before 10 MB", d.current, 20e9)
	d.Sent(1*us, 1)
	near(t, "R_C at 10 MB", d.current, 30e9)
	d.Sent(2*us, 20*unit.MB)
	near(t, "R_C two rounds later", d.current, 37.5e9)
	d.CNP(3*us, CNP{})
	if d.byteStage != 0 || d.timerStage != 0 || d.bytes != 0 {
		t.Error("a CNP does not restart the counters")
	}
}

// QCN eq 7: hyper increase, its i-th round adds i R_HAI; only when both counters are past F.
func TestHyperIncrease(t *testing.T) {
	d := paper()
	for i := range unit.Time(6) {
		d.CNP(i*us, CNP{})
	}
	start := 5 * us
	for i := range unit.Time(6) {
		d.Wake(start + (i+1)*55*us)
	}
	now := start + 6*55*us
	d.Sent(now, 50*unit.MB) // BC is 5, T is 6: not yet
	target := d.target
	d.Sent(now, 10*unit.MB) // both are 6: i = 1
	near(t, "first step", d.target-target, 400e6)
	d.Wake(now + 55*us) // min(7, 6): i = 1 still
	near(t, "second step", d.target-target, 800e6)
	d.Sent(now+55*us, 10*unit.MB) // min(7, 7): i = 2
	near(t, "third step", d.target-target, 1600e6)
}

// The limiter is released when the rate is back at the line's, and no sooner.
func TestRelease(t *testing.T) {
	d := paper()
	d.CNP(0, CNP{})
	wakes := 0
	for d.NextWake() != unit.Never {
		if wakes++; wakes > 100 {
			t.Fatal("never released")
		}
		d.Wake(d.NextWake())
	}
	if d.Limit().Rate != line || d.limited || wakes < 30 {
		t.Errorf("after %d rounds: %v", wakes, d.Limit().Rate)
	}
	near(t, "alpha", d.alpha, math.Pow(255.0/256, float64(wakes)))
}

// [DCQCN] eq 2: "if RP gets no feedback for K time units" alpha decays, from the flow's first
// packet on and whether it is limited or not. Alone for 10 ms, 181 periods of 55 us, alpha is
// 0.4925: the first CNP takes a quarter. After a second there is nothing left, and one look says
// so. Hardware begins with its initial alpha.
func TestKeepAlpha(t *testing.T) {
	d := paper()
	d.CNP(10_000*us, CNP{}) // it has sent nothing: alpha has not begun
	near(t, "R_C of a new flow", d.current, 20e9)

	d = paper()
	d.Sent(0, 1000)
	d.CNP(10_000*us, CNP{})
	decayed := math.Pow(255.0/256, 181)
	near(t, "R_C", d.current, 40e9*(1-decayed/2))
	near(t, "alpha", d.alpha, decayed*255/256+1.0/256)
	for d.NextWake() != unit.Never {
		d.Wake(d.NextWake())
	}
	d.Sent(1_000_000*us, 1000)
	if d.alpha != 0 || d.alphaAt <= 1_000_000*us || d.alphaAt > 1_000_055*us ||
		(d.alphaAt-10_000*us)%(55*us) != 0 { // in step with the CNP
		t.Errorf("alpha %g, next decay at %v", d.alpha, d.alphaAt)
	}
	d.CNP(1_000_060*us, CNP{})
	near(t, "R_C", d.current, 40e9)
	near(t, "alpha", d.alpha, 1.0/256)

	h := mlx5().New(Setup{Line: line, MTU: 1082}).(*DCQCN)
	h.Sent(0, 1000)
	h.CNP(10_000*us, CNP{}) // 1023/1024, from 0.85 of the line's rate
	near(t, "R_C of hardware", h.current, 0.85*40e9*(1-1023.0/2048))
}

func TestMinimumRate(t *testing.T) {
	d := paper()
	for i := range 200 {
		d.CNP(unit.Time(i)*us, CNP{})
	}
	if d.Limit().Rate != unit.MbPerSecond {
		t.Errorf("rate %v after 200 CNPs", d.Limit().Rate)
	}
}
