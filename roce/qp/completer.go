package qp

import (
	"encoding/binary"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// Acked is what an acknowledgement brought, for congestion control.
type Acked struct {
	Bytes   unit.Bytes // payload newly acknowledged; that of READs was not ours and is left out
	Packets int
	Lost    bool // something must be sent again
}

// receiveAck handles ACK and NAK. IBTA 9.7.5.
func (q *QP) receiveAck(now unit.Time, p *ib.Packet) (a Acked, why frame.Reason) {
	r := &q.req
	syn, at := p.AETH.Syndrome(), r.unacked.near(p.BTH.PSN())
	good := at // first PSN that is not acknowledged by this packet
	if syn.IsACK() {
		good++
	}
	if good < r.unacked {
		if q.restarts(syn, at) {
			a.Lost = q.sequenceError(at)
		}
		return a, frame.NoReason // else an answer overtaken by a later one
	}
	if good > r.highest || (!syn.IsACK() && good == r.highest) {
		return a, frame.DropUnexpected // answers what was never sent
	}
	if missing := q.unanswered(good); missing < good {
		a = q.acknowledge(now, missing)
		q.impliedNAK(&a)
		return a, frame.NoReason
	}
	a = q.acknowledge(now, good)
	switch {
	case syn.IsACK():
		q.takeCredit(p.AETH)
	case syn.IsRNR():
		q.receiverNotReady(now, at, syn.RNRTimer())
	case syn == ib.NAKSequence:
		a.Lost = q.sequenceError(at)
	default:
		q.fail(refusal(syn))
	}
	return a, frame.NoReason
}

// unanswered is the first PSN before limit whose answer carries data that has not come, or limit.
// A response to anything later tells that it was lost.
func (q *QP) unanswered(limit seq) seq {
	r := &q.req
	if r.fetching == 0 && r.next == r.highest {
		return limit
	}
	for pos := r.queue.head; pos != r.queue.tail; pos++ {
		w := r.queue.at(pos)
		if w.first >= limit {
			break
		}
		if w.op.Fetches() {
			return max(w.first, r.unacked)
		}
	}
	return limit
}

// receiveFetched handles a response to a READ or an atomic, which must be the next that is
// missing. It acknowledges all before it. IBTA 9.7.5.
func (q *QP) receiveFetched(now unit.Time, p *ib.Packet) (a Acked, why frame.Reason) {
	r := &q.req
	at := r.unacked.near(p.BTH.PSN())
	if at < r.unacked {
		return a, frame.NoReason // came before
	}
	if at >= r.highest {
		return a, frame.DropUnexpected
	}
	missing := q.unanswered(at + 1)
	if missing > at {
		return a, frame.DropUnexpected // that PSN's request fetches nothing
	}
	a = q.acknowledge(now, missing)
	if missing < at {
		q.impliedNAK(&a)
		return a, frame.NoReason
	}
	if status := q.place(r.queue.at(r.queue.head), p, at); status != Success {
		q.fail(status)
		return a, frame.NoReason
	}
	more := q.acknowledge(now, at+1)
	a.Packets += more.Packets
	return a, frame.NoReason
}

// place puts what packet at of the answer to w brings into memory.
func (q *QP) place(w *sendWQE, p *ib.Packet, at seq) Status {
	if w.op.Atomic() != (p.Info.Verb == ib.AtomicReply) || p.AETH != nil &&
		!p.AETH.Syndrome().IsACK() {
		return BadResponse
	}
	if !w.local.live() {
		return LocalProtection
	}
	if w.op.Atomic() {
		binary.NativeEndian.PutUint64(w.local.bytes, p.AtomicAck.Original())
		q.Stats.BytesReceived += AtomicLen
		return Success
	}
	dst := q.piece(&w.local, int(at-w.first))
	if p.PayloadLen() != dst.len() || p.Info.Place.Ends() != (at == w.end()-1) {
		return BadResponse // not what was asked for: IBTA 9.7.5
	}
	dst.fill(p)
	q.Stats.BytesReceived += uint64(dst.len())
	return Success
}

// acknowledge ends all packets before good, and restarts the timer if there was progress.
func (q *QP) acknowledge(now unit.Time, good seq) (a Acked) {
	r := &q.req
	if good == r.unacked {
		return a
	}
	for r.queue.len() > 0 {
		w := r.queue.at(r.queue.head)
		from, to := max(r.unacked-w.first, 0), min(good-w.first, w.packets)
		if to > from {
			a.Packets += int(to - from)
		}
		if n := w.local.len(); to > from && !w.op.Fetches() {
			a.Bytes += unit.Bytes(min(int(to)*q.mtu(), n) - int(from)*q.mtu())
		}
		if to < w.packets {
			break
		}
		if r.sending == r.queue.head {
			r.sending++ // acknowledged while we were about to send it again
		} else if w.op.Fetches() {
			r.fetching--
		}
		q.Stats.Messages++
		q.completeSend(Success)
	}
	r.unacked, r.next = good, max(r.next, good)
	r.retries, r.rnrTries, r.implied = 0, 0, false
	q.Stats.BytesAcked += uint64(a.Bytes)
	r.deadline = unit.Never
	if r.waiting = r.waiting && r.asked >= good; r.waiting {
		if t := q.cfg.ackTimeout(); t > 0 {
			r.deadline = now.Add(t)
		}
	}
	return a
}

// impliedNAK goes back to an answer that a later one has overtaken. Once: what else of the later
// ones is on its way says nothing new. IBTA 9.7.5 (implied NAK).
func (q *QP) impliedNAK(a *Acked) {
	r := &q.req
	if r.implied || r.heldUntil != unit.Never || q.cfg.outOfOrder == OutOfOrderSilent {
		return
	}
	a.Lost = true
	if !q.retry(RetryExceeded) {
		return
	}
	r.implied = true
	q.counters.ImpliedNakSeqErr++
	q.goBackAfter(r.unacked)
}

// receiverNotReady waits as long as the peer asks. IBTA 9.7.5.2.8.
func (q *QP) receiverNotReady(now unit.Time, at seq, t ib.RNRTimer) {
	r := &q.req
	if q.cfg.rnrRetry != rnrForEver {
		if r.rnrTries >= q.cfg.rnrRetry {
			q.fail(RNRRetryExceeded)
			return
		}
		r.rnrTries++
	}
	q.counters.RNRNakRetryErr++
	q.goBack(at)
	r.heldUntil = now.Add(t.Duration())
}

// sequenceError goes back to the missing packet. While we wait we do not: rxe sends such a NAK
// behind each RNR NAK, for the same packet.
func (q *QP) sequenceError(at seq) bool {
	if q.req.heldUntil != unit.Never {
		return false
	}
	if !q.retry(RetryExceeded) {
		return true
	}
	q.counters.PacketSeqErr++
	q.goBackAfter(at)
	return true
}

func refusal(s ib.Syndrome) Status {
	switch s {
	case ib.NAKRemoteAccess:
		return RemoteAccess
	case ib.NAKInvalidRequest:
		return RemoteInvalidRequest
	}
	return RemoteOperational
}

// completeSend ends the oldest request of the send queue.
func (q *QP) completeSend(s Status) {
	r := &q.req
	w := r.queue.at(r.queue.head)
	r.queue.head++
	q.cq.push(Completion{ID: w.id, QPN: q.cfg.qpn, Op: w.op, Status: s,
		Bytes: w.local.len(), At: q.now})
	w.local = span{}
	c := q.counters
	switch s {
	case Success:
		return
	case Flushed:
		c.ReqCQEFlushError++
	case RemoteAccess:
		c.ReqRemoteAccessErrors++
	case RemoteInvalidRequest:
		c.ReqRemoteInvalidRequest++
	case RetryExceeded:
		c.ReqTransportRetriesExceeded++
	case RNRRetryExceeded:
		c.ReqRNRRetriesExceeded++
	}
	c.ReqCQEError++
}
