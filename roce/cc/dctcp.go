package cc

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// DCTCP is the sender of RFC 8257 section 3.3 with the window of a reliable connection in place of
// TCP's: no slow start, because RDMA has none, and marks that come back with each acknowledgement.
//
//	each acknowledgement   cwnd += MTU / cwnd for each packet, while the window has no mark
//	each window of data    alpha = (1-g) alpha + g M, M the part of its bytes that was marked
//	                       and if there was a mark, once: cwnd = cwnd (1 - alpha/2)
//	a loss                 cwnd halved, once a window (section 3.5)
type DCTCP struct {
	p    DCTCPParams
	line unit.Rate
	mtu  float64
	most float64

	window float64 // cwnd, bytes
	alpha  float64
	// Of the window of data that is being observed:
	left    unit.Bytes // bytes to come
	total   unit.Bytes
	marked  unit.Bytes
	reduced bool // the window was taken down already

	values [2]Value
}

// DCTCPParams are DCTCP's parameters, with RFC 8257's values. The initial window is not TCP's: a
// bandwidth-delay product, at which a connection starts at line rate like all others here.
type DCTCPParams struct {
	G            float64       `yaml:"g"`             // g, 1/16: section 4.2
	InitialAlpha float64       `yaml:"initial_alpha"` // 1: section 4.1
	BaseRTT      time.Duration `yaml:"base_rtt"`
	MaxWindow    float64       `yaml:"max_window"` // in bandwidth-delay products
}

func newDCTCPParams(string) Params {
	return &DCTCPParams{G: 1.0 / 16, InitialAlpha: 1, BaseRTT: 10 * time.Microsecond,
		MaxWindow: 2}
}

// Needs says that every packet is acknowledged, as RFC 8257 3.2 wants it in effect.
func (*DCTCPParams) Needs() Needs { return Needs{Feedback: true, Every: 1} }

// HandlesCNP says that CNPs have no effect.
func (*DCTCPParams) HandlesCNP() bool { return false }

// HandlesCNM says that CNMs have none.
func (*DCTCPParams) HandlesCNM() bool { return false }

// Validate returns every fault.
func (p *DCTCPParams) Validate(unit.Rate) (faults []error) {
	must := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	must(p.G > 0 && p.G <= 1, "g: %v is not in (0, 1]", p.G)
	must(p.InitialAlpha >= 0 && p.InitialAlpha <= 1, "initial_alpha: %v is not in [0, 1]",
		p.InitialAlpha)
	must(p.BaseRTT > 0 && p.BaseRTT <= time.Second, "base_rtt: %v is not in (0, 1s]", p.BaseRTT)
	must(p.MaxWindow >= 1, "max_window: %v is below 1", p.MaxWindow)
	return faults
}

// New makes a sender at the start of a flow.
func (p *DCTCPParams) New(s Setup) Algorithm {
	d := &DCTCP{p: *p, line: s.Line, mtu: float64(max(s.MTU, 1)), alpha: p.InitialAlpha}
	d.window = max(d.mtu, float64(s.Line)/8*p.BaseRTT.Seconds())
	d.most = d.window * p.MaxWindow
	d.observe()
	return d
}

// observe begins with the next window of data.
func (d *DCTCP) observe() {
	d.left, d.total, d.marked, d.reduced = unit.Bytes(d.window), 0, 0, false
}

// Ack is RFC 8257 section 3.3.
func (d *DCTCP) Ack(_ unit.Time, a Ack) {
	d.total += a.Bytes
	if a.Marked > 0 {
		d.marked += a.Bytes * unit.Bytes(a.Marked) / unit.Bytes(max(a.Packets, a.Marked))
		if !d.reduced {
			d.reduced = true
			d.window *= 1 - float64(d.alpha/2)
		}
	} else if !d.reduced {
		d.window += float64(a.Packets) * d.mtu * d.mtu / d.window
	}
	d.window = min(max(d.window, d.mtu), d.most)
	if d.left -= a.Bytes; d.left <= 0 && d.total > 0 {
		m := float64(d.marked) / float64(d.total)
		d.alpha = float64((1-d.p.G)*d.alpha) + float64(d.p.G*m)
		d.observe()
	}
}

// Nack tells of a loss.
func (d *DCTCP) Nack(unit.Time) {
	if !d.reduced {
		d.reduced = true
		d.window = max(d.window/2, d.mtu)
	}
}

// Timeout tells of the loss of everything: the least window, as a retransmission timeout of TCP.
func (d *DCTCP) Timeout(unit.Time) {
	d.window = d.mtu
	d.observe()
}

// Sent means nothing.
func (d *DCTCP) Sent(unit.Time, unit.Bytes) {}

// CNP means nothing: marks come back in acknowledgements.
func (d *DCTCP) CNP(unit.Time, CNP) {}

// CNM means nothing.
func (d *DCTCP) CNM(unit.Time, CNM) {}

// RTT means nothing.
func (d *DCTCP) RTT(unit.Time, time.Duration) {}

// NextWake is never: nothing here waits.
func (d *DCTCP) NextWake() unit.Time { return unit.Never }

// Wake does nothing.
func (d *DCTCP) Wake(unit.Time) {}

// Limit is the window.
func (d *DCTCP) Limit() Limit { return Limit{Rate: d.line, Window: unit.Bytes(d.window)} }

// State shows the window and alpha. The slice is overwritten by the next call.
func (d *DCTCP) State() []Value {
	d.values = [...]Value{{"congestion_window_bytes", d.window}, {"alpha", d.alpha}}
	return d.values[:]
}
