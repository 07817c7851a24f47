package cc

import (
	"math"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

const ms = unit.Time(time.Millisecond)

// qcn is [QCN]'s 10 Gb/s baseline without jitter, for numbers by hand.
func qcn() *QCN {
	p := newQCNParams("baseline").(*QCNParams)
	p.Jitter = 0
	return p.New(Setup{Line: 10 * unit.GbPerSecond}).(*QCN)
}

// [QCN] eq 2 and 3: CR = CR (1 - G_d |Fb|), TR is what CR was; at most a half, but for 1/64:
// 10 Gb/s (1 - 63/128) = 5.078125 Gb/s.
func TestQCNDecrease(t *testing.T) {
	for fb, want := range map[uint8]float64{0: 10e9, 1: 9.921875e9, 32: 7.5e9, 63: 5.078125e9,
		255: 5.078125e9} { // 255: no congestion point can say that
		q := qcn()
		q.CNM(0, CNM{Feedback: fb})
		near(t, "CR", q.current, want)
		near(t, "TR", q.target, 10e9)
	}
}

// [QCN] eq 4: five cycles of 150 KB, each halves the way to the target, which stays. From
// 7.5 Gb/s the way is 2.5 Gb/s: 10 - 2.5/2^n.
func TestQCNFastRecovery(t *testing.T) {
	q := qcn()
	q.CNM(0, CNM{Feedback: 32})
	for i, want := range []float64{8.75e9, 9.375e9, 9.6875e9, 9.84375e9, 9.921875e9} {
		q.Sent(us, 150*unit.KB-1)
		if q.byteStage != i {
			t.Errorf("%d cycles before 150 KB, want %d", q.byteStage, i)
		}
		q.Sent(us, 1)
		near(t, "CR", q.current, want)
		near(t, "TR", q.target, 10e9)
	}
}

// [QCN] eq 5 and 6: after five cycles those of the byte counter are 75 KB, and each adds 5 Mb/s
// to the target. Two CNMs with an increase between them leave room below the line: after
// fb 32, one cycle and fb 32, TR is 8.75 and CR 6.5625 Gb/s.
func TestQCNActiveIncrease(t *testing.T) {
	q := qcn()
	q.CNM(0, CNM{Feedback: 32})
	q.Sent(0, 150*unit.KB)
	q.CNM(us, CNM{Feedback: 32})
	near(t, "TR", q.target, 8.75e9)
	near(t, "CR", q.current, 6.5625e9)
	q.Sent(us, 5*150*unit.KB) // the way is 2.1875 Gb/s / 2^5
	near(t, "CR after fast recovery", q.current, 8.75e9-2.1875e9/32)
	target, current := 8.75e9, q.current
	for range 3 {
		q.Sent(us, 75*unit.KB)
		target += 5e6
		current = (current + target) / 2
		near(t, "TR", q.target, target)
		near(t, "CR", q.current, current)
	}
	// The timer's own first cycle ends while the byte counter is in AI: AI as well.
	q.Wake(us + 15*ms)
	near(t, "TR", q.target, target+5e6)
}

// [QCN] section 2, timer: cycles of 15 ms, five of them, then of 7.5 ms; and hyper-active
// increase, eq 7, while both are past fast recovery: 50, 100, 150 Mb/s.
func TestQCNHyperActiveIncrease(t *testing.T) {
	q := qcn()
	for range 3 {
		q.CNM(0, CNM{Feedback: 63})
		q.Sent(0, 150*unit.KB)
	}
	q.CNM(0, CNM{Feedback: 63})
	q.Sent(0, 5*150*unit.KB)
	for i := range unit.Time(4) {
		q.Wake((i + 1) * 15 * ms) // in AI: the byte counter is
	}
	target := q.target
	q.Wake(75 * ms) // the timer's fifth cycle, still of fast recovery
	near(t, "AI", q.target, target+5e6)
	if q.NextWake() != 75*ms+7500*us {
		t.Errorf("the first cycle of AI ends at %v", q.NextWake())
	}
	target = q.target
	q.Wake(75*ms + 7500*us)
	near(t, "first of HAI", q.target, target+50e6)
	q.Sent(83*ms, 75*unit.KB) // either counter
	near(t, "second of HAI", q.target, target+150e6)
	q.Wake(90 * ms)
	near(t, "third of HAI", q.target, target+300e6)
	q.CNM(91*ms, CNM{Feedback: 1})
	if q.hyper != 0 || q.timerStage != 0 || q.byteStage != 0 {
		t.Error("a CNM leaves the stages")
	}
}

// [QCN] section 2, extra fast recovery: of consecutive CNMs only the first sets the target and
// the byte counter; each restarts the timer.
func TestQCNExtraFastRecovery(t *testing.T) {
	q := qcn()
	q.CNM(0, CNM{Feedback: 32})
	q.Sent(0, 100*unit.KB)
	q.CNM(ms, CNM{Feedback: 32})
	near(t, "TR", q.target, 10e9)
	near(t, "CR", q.current, 5.625e9)
	if q.bytes != 50*unit.KB || q.NextWake() != 16*ms {
		t.Errorf("%d bytes left, timer %v", q.bytes, q.NextWake())
	}
	q.Sent(ms, 50*unit.KB) // raises CR to 7.8125
	q.CNM(2*ms, CNM{Feedback: 32})
	near(t, "TR after an increase", q.target, 7.8125e9)
	if q.bytes != 150*unit.KB || q.byteStage != 0 {
		t.Errorf("%d bytes left of stage %d", q.bytes, q.byteStage)
	}
}

// [QCN] section 2, target rate reduction: TR more than ten times CR becomes an eighth. With
// decreases by 65/128 each, 10 Gb/s * (65/128)^3 is 1.31 Gb/s, the fourth 0.665 Gb/s.
func TestQCNTargetRateReduction(t *testing.T) {
	q := qcn()
	for range 3 {
		q.CNM(0, CNM{Feedback: 63})
	}
	near(t, "TR", q.target, 10e9)
	q.CNM(0, CNM{Feedback: 63})
	near(t, "CR", q.current, 10e9*math.Pow(65.0/128, 4))
	near(t, "TR reduced", q.target, 1.25e9)
}

// [QCN] section 3.2: the least rate of the token bucket, one byte in 16 us, is 0.5 Mb/s.
func TestQCNMinimumRate(t *testing.T) {
	q := qcn()
	for range 50 {
		q.CNM(0, CNM{Feedback: 63})
	}
	if r := q.Limit().Rate; r != unit.Rate(8e9/16_000) {
		t.Errorf("rate %v after 50 CNMs", r)
	}
}

// [QCN] section 2: cycles are jittered evenly by 15 % to either side.
func TestQCNJitter(t *testing.T) {
	q := newQCNParams("baseline").New(Setup{Line: line, Seed: 1}).(*QCN)
	least, most, sum := math.Inf(1), 0.0, 0.0
	const n = 2000
	for range n {
		c := float64(q.byteCycle(0))
		least, most, sum = min(least, c), max(most, c), sum+c
	}
	// The mean of 2000 deviates by 15 % / sqrt(3 * 2000) = 0.19 %.
	if least < 127_500 || least > 128_000 || most > 172_500 || most < 172_000 ||
		math.Abs(sum/n-150_000) > 4*0.0019*150_000 {
		t.Errorf("cycles of %v to %v bytes, mean %v", least, most, sum/n)
	}
	other := newQCNParams("baseline").New(Setup{Line: line, Seed: 2}).(*QCN)
	if q.byteCycle(0) == other.byteCycle(0) {
		t.Error("two QPs throw the same dice")
	}
}

// The limiter is released when the rate is back at the line's.
func TestQCNRelease(t *testing.T) {
	q := qcn()
	q.CNM(0, CNM{Feedback: 63})
	for range 100 {
		q.Sent(us, 150*unit.KB)
	}
	if q.limited || q.NextWake() != unit.Never || q.Limit().Rate != 10*unit.GbPerSecond {
		t.Errorf("limited %v at %v", q.limited, q.Limit().Rate)
	}
}
