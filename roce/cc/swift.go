package cc

import (
	"math"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// Swift is the fabric window of [Swift] section 3: delay against a target that grows with the
// number of flows, as the window tells it.
//
//	delay < target  cwnd += ai packets / cwnd; beneath one packet ai packets
//	else, once an RTT  cwnd *= max(1 - beta (delay - target)/delay, 1 - max_mdf)
//	target = base + hops h + clamp(fs_alpha/sqrt(cwnd) + fs_beta, 0, fs_range)
//
// We deviate: there is one window. The paper keeps another for the endpoint, driven by the delay in
// the host's stack, and NICs like ours have none.
//
// [Swift] is "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter",
// SIGCOMM 2020.
type Swift struct {
	fixed
	p      SwiftParams
	line   unit.Rate
	mtu    float64
	most   float64
	window float64 // bytes
	rtt    time.Duration
	cut    unit.Time // of the last decrease

	fsAlpha, fsBeta float64 // seconds

	values [3]Value
}

// SwiftParams are the parameters; the comment gives the paper's symbol. Where the paper gives no
// value we take what public simulators took, whose authors call it a guess.
type SwiftParams struct {
	fed       `yaml:"-"`
	AI        float64       `yaml:"ai"`         // ai, packets a round trip
	Beta      float64       `yaml:"beta"`       // beta
	MaxMDF    float64       `yaml:"max_mdf"`    // max_mdf
	BaseDelay time.Duration `yaml:"base_delay"` // base target delay
	HopDelay  time.Duration `yaml:"hop_delay"`  // h-bar, for each of Hops
	Hops      int           `yaml:"hops"`
	FSRange   time.Duration `yaml:"fs_range"`    // fs_range
	FSMin     float64       `yaml:"fs_min_cwnd"` // fs_min_cwnd, packets
	FSMax     float64       `yaml:"fs_max_cwnd"` // fs_max_cwnd, packets
	MinWindow float64       `yaml:"min_cwnd"`    // packets
	MaxWindow float64       `yaml:"max_window"`  // in bandwidth-delay products of the base delay
}

func newSwiftParams(string) Params {
	const base = 20 * time.Microsecond
	return &SwiftParams{AI: 1, Beta: 0.8, MaxMDF: 0.5, BaseDelay: base, HopDelay: base / 7,
		Hops: 0, FSRange: 5 * base, FSMin: 0.1, FSMax: 100, MinWindow: 0.01, MaxWindow: 2}
}

// Validate returns every fault.
func (p *SwiftParams) Validate(unit.Rate) []error {
	var c checks
	c.must(p.AI > 0, "ai: %v is not positive", p.AI)
	c.part("beta", p.Beta)
	c.part("max_mdf", p.MaxMDF)
	c.delay("base_delay", p.BaseDelay)
	c.must(p.HopDelay >= 0 && p.Hops >= 0, "hop_delay, hops: %v, %d: one is negative", p.HopDelay,
		p.Hops)
	c.must(p.FSRange >= 0, "fs_range: %v is negative", p.FSRange)
	c.must(p.FSMin > 0 && p.FSMax > p.FSMin, "fs_min_cwnd, fs_max_cwnd: want 0 < %v < %v", p.FSMin,
		p.FSMax)
	c.part("min_cwnd", p.MinWindow)
	c.must(p.MaxWindow >= 1, "max_window: %v is below 1", p.MaxWindow)
	return c
}

// New makes a sender with a window of a bandwidth-delay product of the base delay.
func (p *SwiftParams) New(s Setup) Algorithm {
	w := &Swift{p: *p, line: s.Line, mtu: float64(max(s.MTU, 1)), rtt: p.BaseDelay,
		window: product(s, p.BaseDelay)}
	w.most = w.window * p.MaxWindow
	// [Swift] 3.1: the two that make the scaling fs_range at fs_min_cwnd and 0 at fs_max_cwnd.
	least := 1 / math.Sqrt(p.FSMax)
	w.fsAlpha = p.FSRange.Seconds() / (1/math.Sqrt(p.FSMin) - least)
	w.fsBeta = -w.fsAlpha * least
	return w
}

// target is the target delay of the window that there is.
func (w *Swift) target() time.Duration {
	scale := float64(w.fsAlpha/math.Sqrt(w.window/w.mtu)) + w.fsBeta
	scale = min(max(scale, 0), w.p.FSRange.Seconds())
	return w.p.BaseDelay + time.Duration(w.p.Hops)*w.p.HopDelay +
		time.Duration(scale*float64(time.Second))
}

// Ack brings a delay.
func (w *Swift) Ack(now unit.Time, a Ack) {
	if a.RTT <= 0 {
		return
	}
	w.rtt = a.RTT
	target := w.target()
	switch {
	case a.RTT >= target:
		part := float64(a.RTT-target) / float64(a.RTT)
		w.decrease(now, min(w.p.Beta*part, w.p.MaxMDF))
	case w.window >= w.mtu:
		w.window += float64(w.mtu * w.mtu / w.window * w.p.AI * float64(a.Packets))
	default:
		w.window += float64(w.mtu * w.p.AI * float64(a.Packets))
	}
	w.bound()
}

// decrease takes a part of the window away, once an RTT.
func (w *Swift) decrease(now unit.Time, part float64) {
	if now.Sub(w.cut) < w.rtt {
		return
	}
	w.cut = now
	w.window *= 1 - part
	w.bound()
}

func (w *Swift) bound() { w.window = min(max(w.window, w.p.MinWindow*w.mtu), w.most) }

// Nack is a fast retransmission: the largest decrease.
func (w *Swift) Nack(now unit.Time) { w.decrease(now, w.p.MaxMDF) }

// Timeout is a retransmission by timeout: the largest decrease.
func (w *Swift) Timeout(now unit.Time) { w.decrease(now, w.p.MaxMDF) }

// Limit is the window; beneath one packet a packet each RTT/cwnd, [Swift] 3.4.
func (w *Swift) Limit() Limit { return paced(w.line, w.window, w.mtu, w.rtt) }

// State shows the algorithm's variables. The slice is overwritten by the next call.
func (w *Swift) State() []Value {
	w.values = [...]Value{{"congestion_window_packets", w.window / w.mtu},
		{"rtt_seconds", w.rtt.Seconds()}, {"target_seconds", w.target().Seconds()}}
	return w.values[:]
}
