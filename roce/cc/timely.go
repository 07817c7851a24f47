package cc

import (
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// TIMELY is algorithm 1 of [TIMELY]: the gradient of round trip times makes the rate.
//
//	RTT < t_low    R = R + delta
//	RTT > t_high   R = R (1 - beta (1 - t_high/RTT))
//	gradient <= 0  R = R + N delta; N = 5 after five such in a row, else 1
//	else           R = R (1 - beta gradient)
//
// The gradient is the smoothed difference of two RTTs over the least RTT. An RTT counts if its
// packet left after the one before had been counted: one of each round.
//
// [TIMELY] is "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015.
type TIMELY struct {
	fixed
	p      TIMELYParams
	line   float64
	rate   float64
	before time.Duration // the RTT counted last; 0: none yet
	diff   float64       // smoothed, seconds
	stage  int           // gradients without congestion in a row
	since  unit.Time     // when the last one was counted

	values [3]Value
}

// TIMELYParams are the parameters; the comment gives the paper's symbol. The values are those that
// public simulators have which compare with it.
type TIMELYParams struct {
	fed     `yaml:"-"`
	Alpha   float64       `yaml:"alpha"`    // alpha, weight of a new difference
	Beta    float64       `yaml:"beta"`     // beta
	RateAI  unit.Rate     `yaml:"rate_ai"`  // delta
	TLow    time.Duration `yaml:"t_low"`    // T_low
	THigh   time.Duration `yaml:"t_high"`   // T_high
	MinRTT  time.Duration `yaml:"min_rtt"`  // D_minRTT
	HAI     int           `yaml:"hai"`      // N, completions before and factor of hyper increase
	MinRate unit.Rate     `yaml:"min_rate"` // ours: mlx5's
}

func newTIMELYParams(string) Params {
	return &TIMELYParams{Alpha: 0.875, Beta: 0.8, RateAI: 10 * unit.MbPerSecond,
		TLow: 50 * time.Microsecond, THigh: 500 * time.Microsecond,
		MinRTT: 20 * time.Microsecond, HAI: 5, MinRate: unit.MbPerSecond}
}

// Validate returns every fault.
func (p *TIMELYParams) Validate(line unit.Rate) []error {
	var c checks
	c.part("alpha", p.Alpha)
	c.part("beta", p.Beta)
	c.delay("t_low", p.TLow)
	c.delay("min_rtt", p.MinRTT)
	c.must(p.THigh >= p.TLow, "t_high: %v is below t_low %v", p.THigh, p.TLow)
	c.must(p.RateAI > 0 && p.RateAI <= line, "rate_ai: %v is not in (0, %v]", p.RateAI, line)
	c.must(p.MinRate > 0 && p.MinRate <= line, "min_rate: %v is not in (0, %v]", p.MinRate, line)
	c.must(p.HAI > 0, "hai: %d is not positive", p.HAI)
	return c
}

// New makes a sender at line rate.
func (p *TIMELYParams) New(s Setup) Algorithm {
	return &TIMELY{p: *p, line: float64(s.Line), rate: float64(s.Line)}
}

// Ack brings an RTT.
func (t *TIMELY) Ack(now unit.Time, a Ack) {
	if a.RTT <= 0 || now.Add(-a.RTT) < t.since {
		return
	}
	t.since = now
	if before := t.before; before != 0 {
		t.update(a.RTT, before)
	}
	t.before = a.RTT
}

func (t *TIMELY) update(rtt, before time.Duration) {
	t.diff = float64((1-t.p.Alpha)*t.diff) + float64(t.p.Alpha*(rtt-before).Seconds())
	gradient := t.diff / t.p.MinRTT.Seconds()
	switch {
	case rtt < t.p.TLow:
		t.increase(1)
	case rtt > t.p.THigh:
		t.decrease(t.p.Beta * (1 - t.p.THigh.Seconds()/rtt.Seconds()))
	case gradient <= 0:
		if t.stage++; t.stage >= t.p.HAI {
			t.increase(float64(t.p.HAI))
		} else {
			t.increase(1)
		}
		return
	default:
		t.decrease(t.p.Beta * gradient)
	}
	t.stage = 0
}

func (t *TIMELY) increase(n float64) {
	t.rate = min(t.rate+float64(n*float64(t.p.RateAI)), t.line)
}

func (t *TIMELY) decrease(part float64) {
	t.rate = max(t.rate*(1-min(part, 1)), float64(t.p.MinRate))
}

// Nack takes a loss as the worst RTT, which the paper does not speak of.
func (t *TIMELY) Nack(unit.Time) { t.decrease(t.p.Beta) }

// Timeout takes a loss as the worst RTT.
func (t *TIMELY) Timeout(unit.Time) { t.decrease(t.p.Beta) }

// Limit is the rate.
func (t *TIMELY) Limit() Limit { return Limit{Rate: max(1, unit.Rate(t.rate))} }

// State shows the algorithm's variables. The slice is overwritten by the next call.
func (t *TIMELY) State() []Value {
	t.values = [...]Value{{"current_rate_bps", t.rate}, {"rtt_seconds", t.before.Seconds()},
		{"gradient", t.diff / t.p.MinRTT.Seconds()}}
	return t.values[:]
}
