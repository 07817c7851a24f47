package cc

import (
	"math"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// LDCPProbe is [LDCP] 3.2, for NICs whose transport is standard RoCE: nothing acknowledges every
// packet, so the answer to an RTT probe is what tells that a round trip went by, and a CNP is
// what tells of a mark. One probe is always on its way.
//
//	RTT response: cw = cw + alpha
//	CNP:          cw = cw - beta; beneath one packet eta cw, and gamma at least
//	rate = cw MTU / RTT
//
// The decrease is meant for each marked packet. Where receivers hold CNPs back, as DCQCN's do for
// 50 us, it is too small for the marks there were; their interval should be zero.
//
// The RTT is that of the latest response, not LDCP's smoothed one: by 3.2 the handler of a
// response grows the window and divides it "by RTT", which is what the response has just told. It
// is also what the rate needs. There is one sample in a round trip, so that an average over eight
// would tell of queues long gone, and cw / RTT falls as soon as a queue makes the RTT longer,
// which is all that this variant has of a window's self-clocking. LDCP has that by its window,
// needs an RTT beneath one packet only, and gets a sample with each acknowledgement.
//
// What the draft leaves open: a flow starts with the window of a bandwidth-delay product, at line
// rate; it takes losses like a CNP; and it never sends faster than the line, so that a window above
// what that and the RTT make up is not kept.
type LDCPProbe struct {
	p    LDCPProbeParams
	line unit.Rate
	mtu  float64 // bits
	cw   float64 // packets
	rtt  time.Duration

	values [2]Value
}

// LDCPProbeParams are those of LDCP that are left here, with the same values.
type LDCPProbeParams struct {
	Alpha   float64       `yaml:"alpha"` // alpha, packets a round trip
	Beta    float64       `yaml:"beta"`  // beta, packets a CNP
	Gamma   float64       `yaml:"gamma"` // gamma, least window
	Eta     float64       `yaml:"eta"`   // eta, factor of a CNP beneath a packet
	BaseRTT time.Duration `yaml:"base_rtt"`
}

func newLDCPProbeParams(preset string) Params {
	p := newLDCPParams(preset).(*LDCPParams)
	return &LDCPProbeParams{p.Alpha, p.Beta, p.Gamma, p.Eta, p.BaseRTT}
}

// Needs says that probes are answered.
func (*LDCPProbeParams) Needs() Needs { return Needs{Probe: true} }

// HandlesCNP says that CNPs are half of what it lives on.
func (*LDCPProbeParams) HandlesCNP() bool { return true }

// HandlesCNM says that CNMs have no effect.
func (*LDCPProbeParams) HandlesCNM() bool { return false }

// Validate returns every fault.
func (p *LDCPProbeParams) Validate(line unit.Rate) []error {
	return (&LDCPParams{Alpha: p.Alpha, Beta: p.Beta, Gamma: p.Gamma, Eta: p.Eta, DelayedAck: 1,
		BaseRTT: p.BaseRTT, MaxWindow: 1}).Validate(line)
}

// New makes a sender at the start of a flow.
func (p *LDCPProbeParams) New(s Setup) Algorithm {
	l := &LDCPProbe{p: *p, line: s.Line, mtu: 8 * float64(max(s.MTU, 1)), rtt: p.BaseRTT}
	l.cw = l.most()
	return l
}

// most is the window that fills the line.
func (l *LDCPProbe) most() float64 {
	return max(1, float64(l.line)*l.rtt.Seconds()/l.mtu)
}

// RTT is the additive increase.
func (l *LDCPProbe) RTT(_ unit.Time, rtt time.Duration) {
	if rtt > 0 {
		l.rtt = rtt
	}
	l.cw = min(l.cw+l.p.Alpha, l.most())
}

// CNP is the decrease.
func (l *LDCPProbe) CNP(unit.Time, CNP) { l.decrease() }

// Nack tells of a loss.
func (l *LDCPProbe) Nack(unit.Time) { l.decrease() }

// Timeout tells of a loss.
func (l *LDCPProbe) Timeout(unit.Time) { l.decrease() }

func (l *LDCPProbe) decrease() {
	if l.cw >= 1 {
		l.cw -= l.p.Beta
	} else {
		l.cw *= l.p.Eta
	}
	l.cw = max(l.cw, l.p.Gamma)
}

// Sent means nothing.
func (l *LDCPProbe) Sent(unit.Time, unit.Bytes) {}

// Ack means nothing: there are too few.
func (l *LDCPProbe) Ack(unit.Time, Ack) {}

// CNM means nothing.
func (l *LDCPProbe) CNM(unit.Time, CNM) {}

// NextWake is never: nothing here waits.
func (l *LDCPProbe) NextWake() unit.Time { return unit.Never }

// Wake does nothing.
func (l *LDCPProbe) Wake(unit.Time) {}

// Limit is the window as a rate.
func (l *LDCPProbe) Limit() Limit {
	rate := unit.Rate(math.Round(l.cw * l.mtu / l.rtt.Seconds()))
	return Limit{Rate: min(max(rate, 1), l.line), Probe: true}
}

// State shows the draft's variables. The slice is overwritten by the next call.
func (l *LDCPProbe) State() []Value {
	l.values = [...]Value{{"congestion_window_packets", l.cw}, {"rtt_seconds", l.rtt.Seconds()}}
	return l.values[:]
}
