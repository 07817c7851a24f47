package nic

import (
	"math"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// feedback is the state of congestion feedback between a QP and its peer, who have agreed to it.
//
// As sender of data, of requests or of answers to READs, the QP numbers its bytes as they leave,
// repeated ones again, and the peer says which number has arrived. So what is in flight is known
// without the transport, and whatever did not arrive before something later is not in flight any
// more. [LDCP] 3.1 has one number space for requests and one for READ responses; here it is one,
// because each QP has one window whichever they are.
type feedback struct {
	needs cc.Needs // of our algorithm

	sent, seen uint32    // LSN; the difference is in flight
	past       uint32    // of that: what left under an algorithm that is no more
	asked      bool      // the latest packet in flight will be answered when it arrives
	probeAt    unit.Time // when the probe on its way left; never: there is none
	progress   unit.Time // when feedback or a first packet last moved something

	// As receiver: what the peer has not been told.
	report  ib.Report
	at      unit.Time // when the latest packet came
	every   int
	due     bool
	answer  ib.Report // to a probe
	answers bool
	hops    [wire.TelemetryMaxHops * wire.TelemetryHopLen]byte
	told    int // bytes of hops
}

// agree begins with feedback on a QP whose peer understands it.
func (n *NIC) agree(c *conn) {
	c.feedback = &feedback{needs: cc.NeedsOf(c.params), probeAt: unit.Never}
}

func (b *feedback) inFlight() unit.Bytes { return unit.Bytes(b.sent - b.seen) }

// fedBack reports whether congestion control lives on feedback.
func (c *conn) fedBack() bool { return c.feedback != nil && c.feedback.needs.Feedback }

// pending reports whether the QP has a packet of data that may go by its window.
func (c *conn) pending() bool {
	if c.fedBack() {
		return c.feedback.allows(c.window) && c.qp.Pending(0)
	}
	return c.qp.Pending(c.window)
}

// allows reports whether the window lets a packet go. One more than that goes if the window has
// shrunk below what is in flight and nobody has to answer to any of it: the receiver may wait for
// more packets than there will be.
func (b *feedback) allows(window unit.Bytes) bool {
	return window == 0 || b.inFlight() < window || !b.asked
}

// next fills in the next packet of data.
func (c *conn) next(now unit.Time, o *ib.Outgoing) bool {
	f := c.feedback
	if f != nil && f.needs.Probe && f.probeAt == unit.Never && c.cc.Limit().Probe {
		f.probeAt, f.progress = now, now
		*o = ib.Outgoing{Opcode: ib.RTTRequest, Report: ib.Report{Stamp: uint32(now)}}
		return true
	}
	if !c.fedBack() {
		return c.qp.Next(now, c.window, o)
	}
	if !c.pending() || !c.qp.Next(now, 0, o) {
		return false
	}
	if o.Opcode.Info().Transits() {
		o.Transit = ib.Passage{On: true, Every: 1, Stamp: uint32(now)}
		if f.inFlight() == 0 {
			f.progress = now
		}
		f.sent += uint32(c.headers.Size(o))
		o.Transit.LSN = f.sent
		// [LDCP] 2.2 has one answer "for at most m data packets". The last packet for now, by the
		// window or because there is no more, is answered by itself, or the answer to fewer than m
		// would never come.
		if f.asked = true; f.needs.Every > 1 && c.pending() {
			f.asked, o.Transit.Every = false, uint8(f.needs.Every)
		}
	}
	return true
}

// ecn is the codepoint of a packet of data: [LDCP] 2.3, with the exceptions of 3.1, "the last
// fast-start packet is set to ECN-capable, that is the IW-th packet if the message is larger than
// BDP, or the last packet of a message".
func (c *conn) ecn(o *ib.Outgoing) frame.ECN {
	plain := c.cc.Limit().Plain
	if plain > unit.Bytes(c.headers.Size(o)) && !o.Opcode.Info().Place.Ends() {
		return frame.NotECT
	}
	return frame.ECT0
}

// arrived counts a packet of data for the peer.
func (n *NIC) arrived(now unit.Time, c *conn, f *frame.Frame, p *ib.Packet) {
	b := c.feedback
	if b == nil || p.Transit == nil {
		return
	}
	r := &b.report
	r.Packets = uint16(min(int(r.Packets)+1, math.MaxUint16))
	r.Bytes += uint32(f.Len())
	r.LSN, r.Echo = p.Transit.LSN(), p.Transit.Stamp()
	b.at, b.every = now, p.Transit.Every()
	b.told = copy(b.hops[:], hops(f))
	if f.Meta.Class.ECN == frame.CE {
		r.Marked++
	}
	if int(r.Packets) >= b.every || r.Marked > 0 {
		b.due = true
		n.feedbacks.add(c, n.ackPriority(c))
	}
}

// hops are the telemetry records of a frame, in the order of its way.
func hops(f *frame.Frame) []byte {
	b := f.Tail()
	t, ok := wire.AsTelemetry(b)
	if !ok {
		return nil
	}
	return wire.TelemetryHops(b, t)
}

// fed takes feedback from the peer.
func (n *NIC) fed(now unit.Time, c *conn, p *ib.Packet) frame.Reason {
	b := c.feedback
	if b == nil {
		return frame.DropUnexpected
	}
	switch p.BTH.Opcode() {
	case ib.RTTRequest:
		b.answer, b.answers, b.at = ib.Report{Echo: p.Feedback.Stamp()}, true, now
		n.feedbacks.add(c, n.ackPriority(c))
		return frame.NoReason
	case ib.RTTResponse:
		if b.probeAt == unit.Never || p.Feedback.Echo() != uint32(b.probeAt) {
			return frame.DropUnexpected
		}
		rtt := now.Sub(b.probeAt)
		b.probeAt, b.progress = unit.Never, now
		c.cc.RTT(now, rtt)
	default:
		n.reported(now, c, p)
	}
	n.limit(now, c)
	n.settle(now, c)
	return frame.NoReason
}

// reported passes a report on to congestion control.
func (n *NIC) reported(now unit.Time, c *conn, p *ib.Packet) {
	b, r := c.feedback, p.Feedback
	past := b.past > 0
	if ahead := int32(r.LSN() - b.seen); ahead > 0 && uint32(ahead) <= b.sent-b.seen {
		b.seen, b.progress = r.LSN(), now
		b.past -= min(b.past, uint32(ahead))
	}
	if past || !b.needs.Feedback {
		return // of packets that another algorithm sent, or for none
	}
	c.cc.Ack(now, cc.Ack{Bytes: unit.Bytes(r.Bytes()), Packets: max(1, r.Packets()),
		Marked: r.Marked(), RTT: time.Duration(uint32(now) - r.Echo()), Hops: p.Payload})
}

// feed builds what a QP owes its peer in feedback, if its priority runs.
func (n *NIC) feed(now unit.Time, f *frame.Frame, running pfc.Set) (prio pfc.Priority, ok bool) {
	for prio = range (n.feedbacks.mask & running).All() {
		var o ib.Outgoing
		c := n.feedbacks.take(prio)
		c.feedback.out(now, &o)
		n.build(f, c, &o, tos(c.dscp.Ack, frame.ECT0))
		if c.feedback.owes() {
			n.feedbacks.add(c, prio)
		}
		return prio, true
	}
	return 0, false
}

func (b *feedback) owes() bool { return b.due || b.answers }

// out is the next packet of feedback: an answer to a probe before a report.
func (b *feedback) out(now unit.Time, o *ib.Outgoing) {
	if b.answers {
		*o = ib.Outgoing{Opcode: ib.RTTResponse, Report: b.answer}
		b.answers = false
		return
	}
	*o = ib.Outgoing{Opcode: ib.CongestionFeedback, Report: b.report, Payload: b.hops[:b.told]}
	o.Report.Echo += uint32(now.Sub(b.at)) // held for so long
	b.report, b.due = ib.Report{}, false
}

// await makes sure that a QP is woken which waits for feedback in vain.
func (n *NIC) await(c *conn) {
	if b := c.feedback; b != nil && (b.inFlight() > 0 || b.probeAt != unit.Never) {
		n.arm(c.timers+kindFeedback, b.progress.Add(c.patience()))
	}
}

// patience is how long a QP waits for feedback: as long as for acknowledgements, and where it
// waits for those for ever, as perftest and ibv_rc_pingpong would.
func (c *conn) patience() time.Duration {
	if d := c.qp.AckTimeout(); d > 0 {
		return d
	}
	return qp.AckTimeout(qp.DefaultConfig().Timeout)
}

// stalled gives up waiting for feedback: whatever was in flight is not any more.
func (n *NIC) stalled(now unit.Time, c *conn) {
	b := c.feedback
	if b == nil || b.inFlight() == 0 && b.probeAt == unit.Never {
		return
	}
	if now.Sub(b.progress) >= c.patience() {
		b.seen, b.past, b.probeAt = b.sent, 0, unit.Never
		c.cc.Timeout(now)
		n.limit(now, c)
		n.settle(now, c)
	}
	n.await(c)
}
