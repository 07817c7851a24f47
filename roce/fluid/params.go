package fluid

import (
	"errors"
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/cc"
)

// Params are the parameters of [DCQCN] table 2, and what of figure 5 the switch needs.
type Params struct {
	Capacity unit.Rate  // C, of the bottleneck
	Packet   unit.Bytes // size of every packet

	Kmin, Kmax unit.Bytes // figure 5; equal ones cut off: all is marked above, nothing below
	Pmax       float64    // figure 5, 0 to 1

	G            float64       // g, equation 1
	AlphaTimer   time.Duration // tau', the interval of equation 2
	FastRecovery int           // F, steps
	ByteCounter  unit.Bytes    // B
	Timer        time.Duration // T
	RateAI       unit.Rate     // R_AI

	CNPInterval time.Duration // tau of equations 8 and 9
	Delay       time.Duration // tau*, of the control loop
}

// Default is the parameter set that the paper arrives at: section 5.2, figure 14, with packets of
// 1500 bytes, section 3.3.
func Default() Params {
	return Params{
		Capacity: 40 * unit.GbPerSecond, Packet: 1500,
		Kmin: 5 * unit.KB, Kmax: 200 * unit.KB, Pmax: 0.01,
		G: 1.0 / 256, AlphaTimer: 55 * time.Microsecond, FastRecovery: 5,
		ByteCounter: 10 * unit.MB, Timer: 55 * time.Microsecond, RateAI: 40 * unit.MbPerSecond,
		CNPInterval: 50 * time.Microsecond, Delay: 50 * time.Microsecond,
	}
}

// Of is the parameter set in which flows have the parameters of a reaction point; what those do not
// say is Default's.
func Of(d *cc.DCQCNParams) Params {
	p := Default()
	p.G, p.AlphaTimer, p.Timer = d.G, d.AlphaTimer, d.Timer
	p.ByteCounter, p.FastRecovery, p.RateAI = d.ByteCounter, d.FastRecovery, d.RateAI
	return p
}

// Strawman is the set that section 5.2 begins with: what the specifications of QCN and DCTCP
// recommend. Flows do not converge with it.
func Strawman() Params {
	p := Default()
	p.ByteCounter, p.Timer = 150*unit.KB, 1500*time.Microsecond
	p.Kmin, p.Kmax, p.Pmax, p.G = 40*unit.KB, 40*unit.KB, 1, 1.0/16
	return p
}

// Validate returns every fault, joined.
func (p *Params) Validate() error {
	var faults []error
	must := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	must(p.Capacity > 0, "capacity: %v is not positive", p.Capacity)
	must(p.Packet > 0, "packet: %d is not positive", p.Packet)
	must(p.Kmin >= 0 && p.Kmax >= p.Kmin, "kmin, kmax: want 0 <= %d <= %d", p.Kmin, p.Kmax)
	must(p.Pmax > 0 && p.Pmax <= 1, "pmax: %v is not in (0, 1]", p.Pmax)
	must(p.G > 0 && p.G <= 1, "g: %v is not in (0, 1]", p.G)
	must(p.FastRecovery > 0, "fast_recovery: %d is not positive", p.FastRecovery)
	must(p.ByteCounter > 0, "byte_counter: %d is not positive", p.ByteCounter)
	must(p.RateAI >= 0, "rate_ai: %v is negative", p.RateAI)
	for _, d := range []struct {
		name string
		d    time.Duration
	}{{"alpha_timer", p.AlphaTimer}, {"timer", p.Timer}, {"cnp_interval", p.CNPInterval}} {
		must(d.d > 0, "%s: %v is not positive", d.name, d.d)
	}
	must(p.Delay >= step && p.Delay%step == 0, "delay: %v is not a positive multiple of %v",
		p.Delay, step)
	return errors.Join(faults...)
}

// coefficients are the parameters in the units of the equations: seconds and packets.
type coefficients struct {
	capacity        float64 // packets a second
	kmin, kmax      float64 // packets
	pmax, g         float64
	alphaTimer, cnp float64 // seconds
	timer           float64 // seconds
	counter         float64 // packets
	recovery        float64 // F
	step            float64 // R_AI, packets a second
}

func (p *Params) coefficients() coefficients {
	size := float64(p.Packet)
	return coefficients{
		capacity: p.packets(p.Capacity), kmin: float64(p.Kmin) / size,
		kmax: float64(p.Kmax) / size, pmax: p.Pmax, g: p.G,
		alphaTimer: p.AlphaTimer.Seconds(), cnp: p.CNPInterval.Seconds(),
		timer: p.Timer.Seconds(), counter: float64(p.ByteCounter) / size,
		recovery: float64(p.FastRecovery), step: p.packets(p.RateAI),
	}
}

// packets converts a rate to packets a second.
func (p *Params) packets(r unit.Rate) float64 { return float64(r) / 8 / float64(p.Packet) }
