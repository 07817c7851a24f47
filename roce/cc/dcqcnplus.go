package cc

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// DCQCNPlusParams are the parameters of [DCQCN+] section 4. Defaults are the thesis's where it
// gives any; what it leaves open is argued at newDCQCNPlusParams.
type DCQCNPlusParams struct {
	G            float64       `yaml:"g"`
	InitialAlpha float64       `yaml:"initial_alpha"`
	Lambda       float64       `yaml:"lambda"`        // of K = lambda max(tau, MTU/R_C)
	AlphaFactor  float64       `yaml:"alpha_factor"`  // of alpha's timer, so many tau
	CNPInterval  time.Duration `yaml:"cnp_interval"`  // tau if the receiver does not say it
	Spacing      time.Duration `yaml:"cnp_spacing"`   // between two CNPs of a receiver
	Memory       int           `yaml:"cnp_memory"`    // see CNPRule
	FastRecovery int           `yaml:"fast_recovery"` // F
	StepRate     unit.Rate     `yaml:"step_rate"`     // R_l; 0 is a tenth of the line's rate
	MinRate      unit.Rate     `yaml:"min_rate"`
}

// newDCQCNPlusParams returns the thesis's values, and where it has none:
//   - lambda is 3.1 and the spacing 1 us. The imitation by parameters (section 6.3) sets the timer
//     to 3.1 us a flow, and the NIC it ran on makes a CNP each microsecond (section 6.1). If that
//     much time belongs to each congested flow, tau is 1 us a flow, and K = lambda tau is the
//     imitation's timer with lambda 3.1.
//   - R_l, "a ratio used to bound the increase step for small incast cases", is a tenth of the
//     line's rate. The bound min(R_C/10, R_l/100) holds above R_C = R_l/10, a hundredth of the line
//     with it. So it holds for up to 100 equal flows, and the thesis calls 60 small (section 6.2)
//     and 80 large (6.3). And in small cases, where "we have similar performance with DCQCN", the
//     step is then [DCQCN]'s: a thousandth of the line is its R_AI of 40 Mb/s at 40 Gb/s. With the
//     whole of the line's rate the bound would hold for up to ten flows; together they would raise
//     their rates by a tenth of the line at once, and a multiple of that in hyper increase.
//   - Alpha's timer is a tenth longer than tau. The thesis names it beside K, and gives it no
//     period: it is [DCQCN]'s, which "must be larger than the CNP generation timer" (3.1), 55 us
//     where that is 50 us. With K instead, the slower a flow is the longer it would be cut deep.
//   - A flow counts as congested for 256 intervals after its CNP: alpha with g = 1/256 is an
//     average over as many.
//   - g, the initial alpha and F are [DCQCN]'s, whose decrease "is similar". The least rate is
//     mlx5's.
func newDCQCNPlusParams(string) Params {
	return &DCQCNPlusParams{G: 1.0 / 256, InitialAlpha: 1, Lambda: 3.1, AlphaFactor: 1.1,
		CNPInterval: DefaultCNPInterval, Spacing: time.Microsecond, Memory: 256, FastRecovery: 5,
		MinRate: unit.MbPerSecond}
}

// HandlesCNP says that CNPs are what it lives on.
func (*DCQCNPlusParams) HandlesCNP() bool { return true }

// HandlesCNM says that it does not listen to switches.
func (*DCQCNPlusParams) HandlesCNM() bool { return false }

// CNPRule makes the receiver count flows, and say its interval in each CNP.
func (p *DCQCNPlusParams) CNPRule() CNPRule { return CNPRule{p.Spacing, p.Memory} }

// Validate returns every fault.
func (p *DCQCNPlusParams) Validate(line unit.Rate) (faults []error) {
	must := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	must(p.G > 0 && p.G <= 1, "g: %v is not in (0, 1]", p.G)
	must(p.InitialAlpha >= 0 && p.InitialAlpha <= 1, "initial_alpha: %v is not in [0, 1]",
		p.InitialAlpha)
	must(p.Lambda >= 1 && p.Lambda <= 1000, "lambda: %v is not in [1, 1000]", p.Lambda)
	must(p.AlphaFactor >= 1 && p.AlphaFactor <= 1000, "alpha_factor: %v is not in [1, 1000]",
		p.AlphaFactor)
	must(p.CNPInterval > 0, "cnp_interval: %v is not positive", p.CNPInterval)
	must(p.Spacing > 0, "cnp_spacing: %v is not positive", p.Spacing)
	must(p.Memory > 0 && p.Memory <= 1<<20, "cnp_memory: %d is not in [1, %d]", p.Memory, 1<<20)
	must(p.FastRecovery > 0, "fast_recovery: %d is not positive", p.FastRecovery)
	must(p.StepRate >= 0, "step_rate: %v is negative", p.StepRate)
	must(p.MinRate > 0 && p.MinRate <= line, "min_rate: %v is not in (0, line rate %v]",
		p.MinRate, line)
	return faults
}

// DCQCNPlus is the reaction point of [DCQCN+] section 4.3: [DCQCN]'s without the byte counter,
// with a timer that is the slower the more flows are congested, and steps that go with the rate.
//
// Where the thesis leaves a choice:
//   - K is the period of the rate timer alone, which is what the thesis calls it, although [DCQCN]
//     has the letter for alpha's. It is computed when a period begins.
//   - The stages are S < F, "F < S < 4F" and "F > 4F". We read the last as S > 4F, and count S = F
//     and S = 4F to the middle one, as [DCQCN] figure 7 does with F.
//   - What a CNP resets is [DCQCN] figure 7's, which the thesis prints as its figure 3: S and both
//     timers.
//   - Release at the line's rate is [DCQCN]'s.
//
// How much marking it takes follows from K. From tau = N us on, a flow of N on 10 Gb/s has its
// share where it sends a packet each N 0.9 us: 3.5 in a K of 3.1 N us. So as not to come to an
// increase it must be marked once in 5 K, 17 packets, that is 6 % of them at least, whatever N.
// With a P_max of 1 % the queue finds no rest below K_max. It swings about it, all are marked for a
// while and then none, and a flow that is marked once in each 5 K of its own, 15 packets, stays as
// slow as it is: below a tenth of its share, where a swing takes 50 K of the others.
type DCQCNPlus struct {
	p    DCQCNPlusParams
	line float64
	step float64    // R_l/100
	mtu  unit.Bytes // whole frame

	limited bool
	current float64 // R_C, bits per second
	target  float64 // R_T
	alpha   float64
	tau     time.Duration // the receiver's interval
	stage   int           // S
	timerAt unit.Time     // next round of the rate timer
	alphaAt unit.Time     // next decay

	values [7]Value
}

// New makes a reaction point.
func (p *DCQCNPlusParams) New(s Setup) Algorithm {
	d := &DCQCNPlus{p: *p, line: float64(s.Line), mtu: s.MTU}
	d.step = d.line / 10 / 100
	if p.StepRate > 0 {
		d.step = float64(p.StepRate) / 100
	}
	d.release()
	return d
}

func (d *DCQCNPlus) release() {
	d.limited, d.stage, d.tau = false, 0, d.p.CNPInterval
	d.timerAt, d.alphaAt = unit.Never, unit.Never
	d.current, d.target, d.alpha = d.line, d.line, d.p.InitialAlpha
}

// period is K = lambda max(tau, MTU/R_C).
func (d *DCQCNPlus) period() time.Duration {
	packet := float64(d.mtu) * 8e9 / d.current
	return time.Duration(d.p.Lambda * max(float64(d.tau), packet))
}

// alphaPeriod is how long alpha's timer runs.
func (d *DCQCNPlus) alphaPeriod() time.Duration {
	return time.Duration(d.p.AlphaFactor * float64(d.tau))
}

// CNP decreases the rate as [DCQCN] eq 1 does, and takes the receiver's interval over.
func (d *DCQCNPlus) CNP(now unit.Time, c CNP) {
	d.advance(now)
	if c.Interval > 0 {
		d.tau = c.Interval
	}
	d.target = d.current
	d.current = max(d.current*(1-float64(d.alpha/2)), float64(d.p.MinRate))
	d.alpha = float64((1-d.p.G)*d.alpha) + d.p.G
	d.limited, d.stage = true, 0
	d.timerAt, d.alphaAt = now.Add(d.period()), now.Add(d.alphaPeriod())
}

// NextWake is the end of K, which runs only while the QP is limited. Alpha's timer wants none: it
// acts on nothing but the next CNP, as DCQCN's.
func (d *DCQCNPlus) NextWake() unit.Time { return d.timerAt }

// Wake runs the timer.
func (d *DCQCNPlus) Wake(now unit.Time) { d.advance(now) }

// advance ends all periods up to now, as if each had been on time.
func (d *DCQCNPlus) advance(now unit.Time) {
	for d.timerAt <= now {
		d.stage++
		d.increase()
		if d.limited {
			d.timerAt = d.timerAt.Add(d.period())
		}
	}
	// Alpha acts on nothing but the next CNP, and a release began it anew.
	for d.alphaAt <= now {
		d.alpha *= 1 - d.p.G
		d.alphaAt = d.alphaAt.Add(d.alphaPeriod())
	}
}

// increase is one of the three stages.
func (d *DCQCNPlus) increase() {
	switch f := d.p.FastRecovery; {
	case d.stage < f: // fast recovery: the target stays
	case d.stage <= 4*f:
		d.target += min(d.current/10, d.step)
	default: // hyper increase
		d.target += min(d.current, float64(float64(d.stage-4*f)*d.step))
	}
	d.target = min(d.target, d.line)
	d.current = (d.current + d.target) / 2
	if d.current > d.line-0.5 { // as DCQCN
		d.release()
	}
}

// Sent means nothing: there is no byte counter.
func (d *DCQCNPlus) Sent(now unit.Time, _ unit.Bytes) { d.advance(now) }

// Ack means nothing to DCQCN+: it listens to CNPs only.
func (d *DCQCNPlus) Ack(now unit.Time, _ Ack) { d.advance(now) }

// Nack means nothing to DCQCN+.
func (d *DCQCNPlus) Nack(now unit.Time) { d.advance(now) }

// CNM means nothing to DCQCN+.
func (d *DCQCNPlus) CNM(now unit.Time, _ CNM) { d.advance(now) }

// RTT means nothing to DCQCN+, which never asks for it.
func (d *DCQCNPlus) RTT(now unit.Time, _ time.Duration) { d.advance(now) }

// Timeout means nothing to DCQCN+.
func (d *DCQCNPlus) Timeout(now unit.Time) { d.advance(now) }

// Limit is the current rate.
func (d *DCQCNPlus) Limit() Limit { return Limit{Rate: unit.Rate(d.current)} }

// State shows the section's variables. The slice is overwritten by the next call.
func (d *DCQCNPlus) State() []Value {
	limited := 0.0
	if d.limited {
		limited = 1
	}
	d.values = [...]Value{{"alpha", d.alpha}, {"current_rate_bps", d.current},
		{"target_rate_bps", d.target}, {"timer_stage", float64(d.stage)}, {"byte_stage", 0},
		{"cnp_interval_seconds", d.tau.Seconds()}, {"limited", limited}}
	return d.values[:]
}
