package qp

import (
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// What the responder owes the peer beside answers to READs, and when. An ACK that was asked for may
// be held back so that one stands for several, the NAK of a gap so that reordering is not taken
// for loss: both by personality.

// HasResponse reports whether NextResponse has a packet. Answers keep the order of the requests:
// while part of a READ's is still to go by Next, nothing overtakes it.
func (q *QP) HasResponse() bool {
	r := &q.resp
	if r.due != r.kept.tail {
		return r.kept.at(r.due).atomic
	}
	return r.nak != 0 || r.ackOwed
}

// NextResponse fills in the next small answer to the peer and reports whether there is one: that
// to an atomic, an ACK or a NAK. Whatever was asked for since the last answer is answered by one:
// an ACK stands for all before it, and a NAK acknowledges what came before the packet it names.
func (q *QP) NextResponse(o *ib.Outgoing) bool {
	r := &q.resp
	if !q.HasResponse() {
		return false
	}
	*o = ib.Outgoing{Opcode: ib.Acknowledge}
	switch {
	case r.due != r.kept.tail:
		e := r.kept.at(r.due)
		o.Opcode, o.PSN = ib.AtomicAcknowledge, e.psn
		o.AETH = ib.Acknowledgement{Syndrome: ib.SyndromeACK, MSN: e.msn, Original: e.value}
		e.sent++
		q.answered()
		return true
	case r.nak != 0:
		o.PSN, o.AETH.Syndrome = r.nakPSN, r.nak
	default:
		o.PSN, o.AETH.Syndrome = r.expected.Add(-1), q.ackSyndrome()
	}
	o.AETH.MSN = r.msn
	r.nak = 0
	r.acknowledged()
	return true
}

// oweACK notes that a packet asked for an acknowledgement.
func (q *QP) oweACK() {
	r, c := &q.resp, &q.cfg
	r.asked++
	if c.ackDelay == 0 || c.ackPackets > 0 && r.asked >= c.ackPackets {
		r.ackOwed, r.ackAt = true, unit.Never
	} else if !r.ackOwed && r.ackAt == unit.Never {
		r.ackAt = q.now.Add(c.ackDelay)
	}
}

// acknowledged notes that an answer has told all there is to acknowledge.
func (r *responder) acknowledged() { r.ackOwed, r.asked, r.ackAt = false, 0, unit.Never }

// gapped notes a packet beyond the one expected. One NAK a gap, IBTA 9.7.5.1.
func (q *QP) gapped() {
	r := &q.resp
	if r.gap {
		return
	}
	r.gap = true
	switch {
	case q.cfg.outOfOrder == OutOfOrderSilent:
		q.abandon()
	case q.cfg.nakDelay > 0:
		r.nakAt = q.now.Add(q.cfg.nakDelay)
	default:
		q.abandon()
		q.refuseWith(ib.NAKSequence)
	}
}

// refuseWith owes the peer a NAK for the packet that is expected.
func (q *QP) refuseWith(syn ib.Syndrome) {
	r := &q.resp
	r.nak, r.nakPSN, r.gap, r.nakAt = syn, r.expected, true, unit.Never
}

// wakeResponder lets out what was held back until now.
func (q *QP) wakeResponder(now unit.Time) {
	r := &q.resp
	if r.ackAt <= now {
		r.ackOwed, r.ackAt = true, unit.Never
	}
	if r.nakAt <= now {
		q.abandon()
		q.refuseWith(ib.NAKSequence)
	}
}
