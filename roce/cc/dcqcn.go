package cc

import (
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// DCQCN is the reaction point of [DCQCN] section 3.1 and figure 7.
//
//	             CNP: eq 1, all counters and timers anew
//	+----------+ --------------------------------------> +---------------------------------+
//	| released |                                          | limited                         |
//	| at line  | <-------------------------------------- | timer: T++   B bytes sent: BC++ |
//	+----------+       the current rate is the line's     |  max(T,BC) < F  fast recovery   |
//	                                                      |  min(T,BC) > F  hyper increase  |
//	                                                      |  otherwise      additive        |
//	                                                      +---------------------------------+
//
// A QP starts at line rate. Rates and stages exist only while it is limited: on release it forgets
// them, as hardware does that has "one timer and one counter for each flow that is being rate
// limited" ([DCQCN] 3.3). Alpha is the flow's, from its first packet to its end: "if RP gets no
// feedback for K time units", limited or not, eq 2 applies, and so it does in the model, whose
// alpha (eq 7) knows no limit either. So a flow that has been alone for long is cut little by the
// first CNP, and a new one by half. That is what figure 13(a) shows, two flows that are far apart
// and stay so, and with it packets come as close to the model as figure 10 has it: TestKeepAlpha,
// dcqcn-validate and dcqcn-fluid-model. Of 3.3's "small amount of other state such as the current
// value of alpha" one can read that it, too, is there for limited flows only; mlx5's tools say so
// of their hardware, whose initial alpha is for "the first CNP for a flow". KeepAlpha is the
// choice.
//
// The paper says twice how long fast recovery lasts. Its text, QCN, and equation 8 of its model
// have F rounds of it: (1-p)^(FB) there is the chance that F rounds went by without a mark. Figure
// 7 counts a round and then compares, max(T,BC) < F, so that the F-th round is of additive increase
// already and F-1 are of fast recovery. We do what the figure says, which is the algorithm; the
// fluid model does what its equation says. Hyper increase begins by the same rule when both
// counters are past F, in their round F+1; i is how far the lesser is past it, as QCN eq 7 counts.
//
// Alpha acts on nothing but the next CNP. Its timer therefore asks for no wake-up: the decays
// that fell due are applied, each at its own deadline, before the next event is handled.
type DCQCN struct {
	p    DCQCNParams
	line float64

	current    float64 // R_C, bits per second
	target     float64 // R_T
	alpha      float64
	alphaAt    unit.Time // next decay by eq 2
	timerAt    unit.Time // next round of the rate timer
	decreased  unit.Time // the last decrease
	limited    bool      // a CNP came, and the rate is not back at the line's
	sinceTimer bool      // the timer raised the rate since the last decrease
	timerStage int       // T
	byteStage  int       // BC
	bytes      unit.Bytes

	values [7]Value
}

// New makes a reaction point.
func (p *DCQCNParams) New(s Setup) Algorithm {
	d := &DCQCN{p: *p, line: float64(s.Line), alpha: p.InitialAlpha, alphaAt: unit.Never}
	d.release()
	return d
}

// release ends the limitation and forgets everything, or everything but alpha.
func (d *DCQCN) release() {
	d.limited = false
	d.current, d.target, d.timerAt = d.line, d.line, unit.Never
	if !d.p.KeepAlpha {
		d.alpha, d.alphaAt = d.p.InitialAlpha, unit.Never
	}
	d.restart()
}

func (d *DCQCN) restart() { d.timerStage, d.byteStage, d.bytes, d.sinceTimer = 0, 0, 0, false }

// CNP decreases the rate: [DCQCN] eq 1.
func (d *DCQCN) CNP(now unit.Time, _ CNP) {
	d.advance(now)
	first := !d.limited
	if !first && now.Sub(d.decreased) < d.p.DecreaseInterval {
		return
	}
	if first && d.p.FirstCNPRate > 0 {
		d.current = d.line * d.p.FirstCNPRate
	}
	if first || d.p.ClampTarget == ClampAlways ||
		d.p.ClampTarget == ClampAfterTimer && d.sinceTimer {
		d.target = d.current
	}
	keep := max(1-float64(d.alpha/2), d.p.MinDecreaseFactor)
	d.current = max(d.current*keep, float64(d.p.MinRate))
	d.alpha = float64((1-d.p.G)*d.alpha) + d.p.G
	d.limited, d.decreased = true, now
	d.restart()
	d.timerAt, d.alphaAt = now.Add(d.p.Timer), now.Add(d.p.AlphaTimer)
}

// Sent runs the byte counter, in whole frames as they use the wire.
func (d *DCQCN) Sent(now unit.Time, n unit.Bytes) {
	d.advance(now)
	if d.p.KeepAlpha && d.alphaAt == unit.Never { // the flow begins
		d.alphaAt = now.Add(d.p.AlphaTimer)
	}
	if !d.limited || d.p.ByteCounter == 0 {
		return
	}
	for d.bytes += n; d.limited && d.bytes >= d.p.ByteCounter; {
		d.bytes -= d.p.ByteCounter
		d.byteStage++
		d.increase()
	}
}

// NextWake is the deadline of the rate timer, which runs only while the QP is limited.
func (d *DCQCN) NextWake() unit.Time { return d.timerAt }

// Wake runs the rate timer.
func (d *DCQCN) Wake(now unit.Time) { d.advance(now) }

// advance handles all deadlines up to now in their order, as if each had been on time.
func (d *DCQCN) advance(now unit.Time) {
	for d.timerAt <= now {
		at := d.timerAt
		d.decay(at)
		d.timerAt = at.Add(d.p.Timer)
		d.timerStage++
		d.sinceTimer = true
		d.increase()
	}
	d.decay(now)
}

// noAlpha is an alpha that has decayed to nothing: it takes less than a bit a second from any rate.
// So one look after a long time at line rate makes no more rounds than lead there.
const noAlpha = 1e-12

// decay is [DCQCN] eq 2, once for each period K without a CNP.
func (d *DCQCN) decay(now unit.Time) {
	for d.alphaAt <= now {
		if d.alpha *= 1 - d.p.G; d.alpha < noAlpha {
			d.alpha = 0
			d.alphaAt = d.alphaAt.Add(now.Sub(d.alphaAt) / d.p.AlphaTimer * d.p.AlphaTimer)
		}
		d.alphaAt = d.alphaAt.Add(d.p.AlphaTimer)
	}
}

// increase is the right half of [DCQCN] figure 7, after T or BC rose by one.
func (d *DCQCN) increase() {
	hi, lo := max(d.timerStage, d.byteStage), min(d.timerStage, d.byteStage)
	switch f := d.p.FastRecovery; {
	case hi < f: // eq 3: the target stays
	case lo > f: // QCN eq 7: the i-th round of hyper increase adds i steps
		d.target += float64(float64(lo-f) * float64(d.p.RateHAI))
	default: // eq 4
		d.target += float64(d.p.RateAI)
	}
	d.target = min(d.target, d.line)
	d.current = (d.target + d.current) / 2
	// The mean approaches the line rate without end; less than half a bit per second is there.
	if d.current > d.line-0.5 {
		d.release()
	}
}

// Ack means nothing to DCQCN: it listens to CNPs only.
func (d *DCQCN) Ack(now unit.Time, _ Ack) { d.advance(now) }

// Nack means nothing to DCQCN.
func (d *DCQCN) Nack(now unit.Time) { d.advance(now) }

// CNM means nothing to DCQCN.
func (d *DCQCN) CNM(now unit.Time, _ CNM) { d.advance(now) }

// RTT means nothing to DCQCN, which never asks for it.
func (d *DCQCN) RTT(now unit.Time, _ time.Duration) { d.advance(now) }

// Timeout means nothing to DCQCN.
func (d *DCQCN) Timeout(now unit.Time) { d.advance(now) }

// Limit is the current rate.
func (d *DCQCN) Limit() Limit { return Limit{Rate: unit.Rate(d.current)} }

// State shows the figure's variables. The slice is overwritten by the next call.
func (d *DCQCN) State() []Value {
	limited := 0.0
	if d.limited {
		limited = 1
	}
	d.values = [...]Value{
		{"alpha", d.alpha}, {"current_rate_bps", d.current}, {"target_rate_bps", d.target},
		{"timer_stage", float64(d.timerStage)}, {"byte_stage", float64(d.byteStage)},
		{"byte_counter", float64(d.bytes)}, {"limited", limited},
	}
	return d.values[:]
}
