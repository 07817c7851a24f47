package cc

import (
	"math"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// LDCP is the sender of [LDCP] 2.2 and 2.3, driven by an acknowledgement of each packet that says
// whether the packet was marked.
//
//	+------------+  a loss: cw = packets acknowledged before it   +--------------------------+
//	| fast start | ---------------------------------------------> | stable                   |
//	| window IW, | ---------------------------------------------> |  cw >= 1: eq 2           |
//	| line rate  |  all of IW acknowledged: cw = IW               |  cw < 1: gamma, eta, and |
//	+------------+                                                |  a packet each RTT/cw    |
//	                                                              +--------------------------+
//
// What the draft leaves open:
//
//   - Losses in the stable stage, "dropped only when the queue is full", change no window in it.
//     They are worse news than a mark, so that a NAK or a timeout acts as a mark on each packet of
//     the window would: it is multiplied by eta.
//
//   - The window of a flow that nothing holds back would grow for ever. It grows to max_window and
//     no further; more than that in flight could only stand in queues.
//
//   - Which RTT the timer RTT/cw takes: the smoothed one of RFC 6298, and before there is one the
//     configured. By the latest one all flows of a large incast change their pace together, so that
//     the queue swings further, up and to nothing. LDCPProbe has reasons to take the latest.
//
//   - A flow that lost its first packets has acknowledged none: it goes on with the least window,
//     gamma.
//
//   - An acknowledgement may stand for packets with and without marks, if answers had to wait for
//     the wire. Each kind acts for itself, those without first.
//
// The timer is a rate here: a packet each RTT/cw is what a limiter at MTU cw / RTT lets through.
type LDCP struct {
	p    LDCPParams
	line unit.Rate
	mtu  unit.Bytes

	fast  bool
	plain unit.Bytes // of the initial window: not sent yet
	due   unit.Bytes // of it: not acknowledged yet
	acked int        // packets, in fast start
	cw    float64    // packets
	rtt   time.Duration
	timed bool // rtt was measured

	values [4]Value
}

// New makes a sender at the start of a flow.
func (p *LDCPParams) New(s Setup) Algorithm {
	l := &LDCP{p: *p, line: s.Line, mtu: max(s.MTU, 1), fast: true, rtt: p.BaseRTT}
	l.plain = p.initial(s)
	l.due = l.plain
	l.cw = float64(l.due) / float64(l.mtu)
	return l
}

// initial is IW: the bandwidth-delay product, [LDCP] 2.3, and a packet at least.
func (p *LDCPParams) initial(s Setup) unit.Bytes {
	return max(s.MTU, unit.Bytes(float64(s.Line)/8*p.BaseRTT.Seconds()))
}

// Sent uses up the part of the initial window that goes without ECN.
func (l *LDCP) Sent(_ unit.Time, n unit.Bytes) { l.plain = max(0, l.plain-n) }

// Ack is [LDCP] eq 2, and the way out of fast start without a loss.
func (l *LDCP) Ack(_ unit.Time, a Ack) {
	if a.RTT > 0 {
		l.time(a.RTT)
	}
	if l.fast {
		// The first RTT is over. 3.1: "set the packets to ECN-capable ever since."
		l.plain = 0
		l.acked += a.Packets
		if l.due -= a.Bytes; l.due <= 0 {
			l.settle(l.cw)
		}
		return
	}
	if n := a.Packets - a.Marked; n > 0 {
		l.increase(float64(n))
	}
	if a.Marked > 0 {
		l.decrease(float64(a.Marked))
	}
}

// time is RFC 6298, 2.2 and 2.3, with its alpha of 1/8.
func (l *LDCP) time(rtt time.Duration) {
	if !l.timed {
		l.rtt, l.timed = rtt, true
		return
	}
	l.rtt += (rtt - l.rtt) / 8
}

// increase is what n packets without a mark do.
func (l *LDCP) increase(n float64) {
	if l.cw >= 1 {
		l.cw += n * l.p.Alpha / l.cw
	} else {
		l.cw += l.p.Gamma
	}
	l.bound()
}

// decrease is what n marked packets do.
func (l *LDCP) decrease(n float64) {
	if l.cw >= 1 {
		l.cw -= float64(n * l.p.Beta)
	} else {
		l.cw *= l.p.Eta
	}
	l.bound()
}

// settle goes to the stable stage with a window of cw packets.
func (l *LDCP) settle(cw float64) {
	l.fast, l.plain, l.cw = false, 0, cw
	l.bound()
}

func (l *LDCP) bound() {
	most := max(1, l.p.MaxWindow*float64(l.p.initial(Setup{Line: l.line, MTU: l.mtu}))/
		float64(l.mtu))
	l.cw = min(max(l.cw, l.p.Gamma), most)
}

// lost is a loss in either stage.
func (l *LDCP) lost() {
	if l.fast {
		l.settle(min(l.cw, float64(l.acked)))
		return
	}
	l.cw *= l.p.Eta
	l.bound()
}

// Nack tells of a loss.
func (l *LDCP) Nack(unit.Time) { l.lost() }

// Timeout tells of a loss.
func (l *LDCP) Timeout(unit.Time) { l.lost() }

// CNP means nothing: marks come back in acknowledgements.
func (l *LDCP) CNP(unit.Time, CNP) {}

// CNM means nothing.
func (l *LDCP) CNM(unit.Time, CNM) {}

// RTT means nothing: acknowledgements bring it.
func (l *LDCP) RTT(unit.Time, time.Duration) {}

// NextWake is never: nothing here waits.
func (l *LDCP) NextWake() unit.Time { return unit.Never }

// Wake does nothing.
func (l *LDCP) Wake(unit.Time) {}

// Limit is the window, and for one beneath a packet that packet each RTT/cw.
func (l *LDCP) Limit() Limit {
	if l.cw >= 1 {
		return Limit{Rate: l.line, Window: unit.Bytes(l.cw * float64(l.mtu)), Plain: l.plain}
	}
	rate := unit.Rate(math.Round(l.cw * float64(l.mtu) * 8 / l.rtt.Seconds()))
	return Limit{Rate: min(max(rate, 1), l.line), Window: l.mtu}
}

// State shows the draft's variables. The slice is overwritten by the next call.
func (l *LDCP) State() []Value {
	fast := 0.0
	if l.fast {
		fast = 1
	}
	l.values = [...]Value{{"congestion_window_packets", l.cw}, {"fast_start", fast},
		{"plain_bytes", float64(l.plain)}, {"rtt_seconds", l.rtt.Seconds()}}
	return l.values[:]
}
