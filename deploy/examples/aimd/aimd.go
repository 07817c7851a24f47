// Package aimd is an example of a congestion control algorithm that is not part of rocelab:
// additive increase, multiplicative decrease, the oldest of all. Importing it registers it.
//
// See "To add a congestion control algorithm" in CONTRIBUTING.md for how it came about.
package aimd

import (
	"errors"
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/roce/cc"
)

func init() {
	nicd.RegisterAlgorithm(cc.Entry{Name: "aimd", Presets: []string{"textbook", "timid"},
		Params: newParams})
}

// Params are the parameters; the keys are those of cc.params in a configuration.
type Params struct {
	Decrease float64       `yaml:"decrease"` // part of the rate that a CNP takes away
	Step     unit.Rate     `yaml:"step"`     // that each interval without a CNP adds
	Interval time.Duration `yaml:"interval"`
	MinRate  unit.Rate     `yaml:"min_rate"`
}

// newParams returns the values of a preset. All are our choice: this is an example.
func newParams(preset string) cc.Params {
	p := &Params{Decrease: 0.5, Step: 100 * unit.MbPerSecond, Interval: 55 * time.Microsecond,
		MinRate: 10 * unit.MbPerSecond}
	if preset == "timid" {
		p.Step = 10 * unit.MbPerSecond
	}
	return p
}

// Validate returns every fault, each beginning with the key.
func (p *Params) Validate(line unit.Rate) (faults []error) {
	if p.Decrease <= 0 || p.Decrease >= 1 {
		faults = append(faults, fmt.Errorf("decrease: %v is not in (0, 1)", p.Decrease))
	}
	if p.Step <= 0 {
		faults = append(faults, errors.New("step: is not positive"))
	}
	if p.Interval <= 0 {
		faults = append(faults, errors.New("interval: is not positive"))
	}
	if p.MinRate <= 0 || p.MinRate > line {
		faults = append(faults, fmt.Errorf("min_rate: %v is not in (0, %v]", p.MinRate, line))
	}
	return faults
}

// HandlesCNP says that CNPs are what it lives on.
func (*Params) HandlesCNP() bool { return true }

// HandlesCNM says that it does not listen to switches.
func (*Params) HandlesCNM() bool { return false }

// New makes the reaction point of a queue pair, at line rate.
func (p *Params) New(s cc.Setup) cc.Algorithm {
	return &reaction{p: *p, line: s.Line, rate: s.Line, next: unit.Never}
}

// reaction is a pure machine: it knows the time only from its calls, and shares nothing.
type reaction struct {
	p          Params
	line, rate unit.Rate
	next       unit.Time // the next increase; never at line rate
	values     [1]cc.Value
}

// CNP is the decrease. Decimals are rounded away before anything is added to them, so that all
// processors compute the same.
func (r *reaction) CNP(now unit.Time, _ cc.CNP) {
	r.Wake(now)
	r.rate = max(unit.Rate(float64(r.rate)*(1-r.p.Decrease)), r.p.MinRate)
	r.next = now.Add(r.p.Interval)
}

// NextWake is the next increase.
func (r *reaction) NextWake() unit.Time { return r.next }

// Wake makes the increases that are due. It may be called late, and then makes up for it.
func (r *reaction) Wake(now unit.Time) {
	for r.next <= now {
		r.next = r.next.Add(r.p.Interval)
		if r.rate += r.p.Step; r.rate >= r.line {
			r.rate, r.next = r.line, unit.Never
		}
	}
}

// Limit is what the queue pair may do.
func (r *reaction) Limit() cc.Limit { return cc.Limit{Rate: r.rate} }

// State is shown in metrics and reports.
func (r *reaction) State() []cc.Value {
	r.values[0] = cc.Value{Name: "current_rate_bps", Value: float64(r.rate)}
	return r.values[:]
}

// The rest means nothing to it.

func (r *reaction) Sent(now unit.Time, _ unit.Bytes)   { r.Wake(now) }
func (r *reaction) Ack(now unit.Time, _ cc.Ack)        { r.Wake(now) }
func (r *reaction) Nack(now unit.Time)                 { r.Wake(now) }
func (r *reaction) CNM(now unit.Time, _ cc.CNM)        { r.Wake(now) }
func (r *reaction) RTT(now unit.Time, _ time.Duration) { r.Wake(now) }
func (r *reaction) Timeout(now unit.Time)              { r.Wake(now) }
