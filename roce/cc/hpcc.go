package cc

import (
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// HPCC is algorithm 1 of [HPCC]: the switches on the way tell what they sent and what they hold,
// and the sender aims at a part eta of the busiest link.
//
//	u of a link = min(queue, queue before) / (B T) + sent rate / B
//	U = (1 - tau/T) U + (tau/T) max u
//	U >= eta, or after max_stage increases  W = W_c / (U/eta) + W_AI
//	else                                    W = W_c + W_AI
//
// W_c, the window that the equations start from, moves once a round: when feedback comes of a
// packet that left after it moved last.
//
// [HPCC] is "HPCC: High Precision Congestion Control", SIGCOMM 2019.
type HPCC struct {
	fixed
	p    HPCCParams
	line unit.Rate
	mtu  float64
	most float64 // the first window, and the largest

	window, base float64 // W, W_c, bytes
	u            float64 // U
	stage        int
	since        unit.Time // when W_c moved
	hops         [wire.TelemetryMaxHops]hop
	known        int // of hops

	values [4]Value
}

// hop is what a switch told last.
type hop struct {
	at    unit.Time
	sent  uint64
	queue unit.Bytes
}

// HPCCParams are the parameters; the comment gives the paper's symbol. Eta and max_stage are the
// paper's. For W_AI it gives a rule, W_init (1-eta) / N for as many flows as share a link: we take
// 100.
type HPCCParams struct {
	fed      `yaml:"-"`
	Eta      float64       `yaml:"eta"`       // eta
	MaxStage int           `yaml:"max_stage"` // maxStage
	Flows    int           `yaml:"flows"`     // N of W_AI
	BaseRTT  time.Duration `yaml:"base_rtt"`  // T
}

func newHPCCParams(string) Params {
	return &HPCCParams{Eta: 0.95, MaxStage: 5, Flows: 100, BaseRTT: 10 * time.Microsecond}
}

// Validate returns every fault.
func (p *HPCCParams) Validate(unit.Rate) []error {
	var c checks
	c.part("eta", p.Eta)
	c.must(p.MaxStage >= 0, "max_stage: %d is negative", p.MaxStage)
	c.must(p.Flows > 0, "flows: %d is not positive", p.Flows)
	c.delay("base_rtt", p.BaseRTT)
	return c
}

// New makes a sender with a window of a bandwidth-delay product.
func (p *HPCCParams) New(s Setup) Algorithm {
	h := &HPCC{p: *p, line: s.Line, mtu: float64(max(s.MTU, 1)), most: product(s, p.BaseRTT)}
	h.window, h.base = h.most, h.most
	return h
}

// Ack brings telemetry. Without any nothing changes: there is no switch on the way that tells.
func (h *HPCC) Ack(now unit.Time, a Ack) {
	n := len(a.Hops) / wire.TelemetryHopLen
	if n == 0 || n > len(h.hops) {
		return
	}
	if n != h.known { // the first, or another way
		h.known = n
		h.measure(a.Hops)
		return
	}
	if !h.measure(a.Hops) {
		return
	}
	round := a.RTT > 0 && now.Add(-a.RTT) >= h.since
	h.compute(now, round)
}

// measure is MeasureInflight of algorithm 1: it moves U by what the hops say, and reports whether
// they said anything new.
func (h *HPCC) measure(b []byte) bool {
	var u float64
	var tau time.Duration
	for i := range h.known {
		r, _ := wire.AsTelemetryHop(b[i*wire.TelemetryHopLen:])
		was, is := h.hops[i], hop{r.Time(), r.Sent(), r.QueueLen()}
		h.hops[i] = is
		d := is.at.Sub(was.at)
		if d <= 0 || r.Rate() == 0 || is.sent < was.sent {
			continue
		}
		rate := float64(r.Rate())
		v := float64(min(is.queue, was.queue))*8/(rate*h.p.BaseRTT.Seconds()) +
			float64(is.sent-was.sent)*8/d.Seconds()/rate
		if v > u {
			u, tau = v, d
		}
	}
	if tau == 0 {
		return false
	}
	part := min(1, float64(tau)/float64(h.p.BaseRTT))
	h.u = float64((1-part)*h.u) + float64(part*u)
	return true
}

// compute is ComputeWind of algorithm 1.
func (h *HPCC) compute(now unit.Time, round bool) {
	ai := h.most * (1 - h.p.Eta) / float64(h.p.Flows)
	stage := h.stage + 1
	if h.u >= h.p.Eta || h.stage >= h.p.MaxStage {
		h.window, stage = h.base/(h.u/h.p.Eta)+ai, 0
	} else {
		h.window = h.base + ai
	}
	h.window = min(max(h.window, h.mtu), h.most)
	if round {
		h.base, h.stage, h.since = h.window, stage, now
	}
}

// lost halves the window: the paper counts on losing nothing.
func (h *HPCC) lost() {
	h.window = max(h.window/2, h.mtu)
	h.base = h.window
}

// Nack tells of a loss.
func (h *HPCC) Nack(unit.Time) { h.lost() }

// Timeout tells of a loss.
func (h *HPCC) Timeout(unit.Time) { h.lost() }

// Limit is the window, and the rate at which it goes in a round: R = W/T.
func (h *HPCC) Limit() Limit {
	rate := unit.Rate(h.window * 8 / h.p.BaseRTT.Seconds())
	return Limit{Rate: min(max(rate, 1), h.line), Window: unit.Bytes(h.window)}
}

// State shows the algorithm's variables. The slice is overwritten by the next call.
func (h *HPCC) State() []Value {
	h.values = [...]Value{{"congestion_window_bytes", h.window}, {"reference_window_bytes", h.base},
		{"utilisation", h.u}, {"stage", float64(h.stage)}}
	return h.values[:]
}
