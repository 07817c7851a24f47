package qp

import "github.com/rocelab/rocelab/roce/ib"

// End-to-end flow control, IBTA 9.7.7.2: a responder that counts tells in each ACK how many
// messages that take a receive it is ready for, beyond those that its MSN says are complete.
// Until the first such ACK, and with a responder that does not count, the requester sends as it
// likes and RNR NAKs regulate. We deviate: IBTA starts with the credit of the connection
// manager's exchange, which not every connection has.

// takeCredit learns from an ACK, after it was acted on.
func (q *QP) takeCredit(h *ib.AETH) {
	r := &q.req
	n, ok := h.Syndrome().Credits()
	if r.counted = ok; !ok {
		return
	}
	done := r.ssn - uint64(r.queue.len()) // requests that are complete
	complete := ib.PSN(h.MSN()).Sub(ib.MakePSN(uint32(done)))
	r.credit = max(r.credit, uint64(int64(done)+int64(complete)+int64(n)))
}

// limited reports that the peer has no receive for w, as far as we know.
func (r *requester) limited(w *sendWQE) bool {
	return r.counted && w.op.takesReceive() && w.ssn > r.credit
}

// credited reports whether the next packet of w may go. Without credit a request may send one
// packet, when nothing else is in flight, to ask for it; when that one is accepted it has its
// receive and goes on. What began with credit goes on in any case.
func (q *QP) credited(w *sendWQE) bool {
	r := &q.req
	if r.next == w.first {
		return !r.limited(w) || q.outstanding() == 0
	}
	return !w.flags.waits || r.unacked > w.first
}

// ackSyndrome is that of an ACK of ours.
func (q *QP) ackSyndrome() ib.Syndrome {
	if !q.cfg.credits || q.srq != nil { // a shared receive is nobody's
		return ib.SyndromeACK
	}
	return ib.ACK(q.resp.queue.len() + q.resp.taken())
}
