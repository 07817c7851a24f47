package qp

import (
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// Acked is what an acknowledgement brought, for congestion control.
type Acked struct {
	Bytes   unit.Bytes // payload newly acknowledged
	Packets int
	Lost    bool // it was a NAK sequence error
}

// receiveAck handles ACK and NAK. IBTA 9.7.5.
func (q *QP) receiveAck(now unit.Time, p *ib.Packet) (a Acked, why frame.Reason) {
	r := &q.req
	syn, psn := p.AETH.Syndrome(), p.BTH.PSN()
	if q.state != StateRTS {
		return a, frame.DropUnexpected
	}
	good := psn // first PSN that is not acknowledged by this packet
	if syn.IsACK() {
		good = psn.Add(1)
	}
	if good.Before(r.unacked) {
		return a, frame.NoReason // an answer overtaken by a later one
	}
	if r.highest.Before(good) || (!syn.IsACK() && good == r.highest) {
		return a, frame.DropUnexpected // answers what was never sent
	}
	a = q.acknowledge(now, good)
	switch {
	case syn.IsACK():
	case syn.IsRNR():
		q.receiverNotReady(now, psn, syn.RNRTimer())
	case syn == ib.NAKSequence:
		a.Lost = q.sequenceError(psn)
	default:
		q.fail(refusal(syn))
	}
	return a, frame.NoReason
}

// acknowledge ends all packets before good, and restarts the timer if there was progress.
func (q *QP) acknowledge(now unit.Time, good ib.PSN) (a Acked) {
	r := &q.req
	if good == r.unacked {
		return a
	}
	for r.queue.len() > 0 {
		w := r.queue.at(r.queue.head)
		from, to := max(r.unacked.Sub(w.psn), 0), min(good.Sub(w.psn), w.packets)
		if to > from {
			a.Packets += to - from
			a.Bytes += unit.Bytes(min(to*q.cfg.MTU, len(w.data)) - from*q.cfg.MTU)
		}
		if to < w.packets {
			break
		}
		if r.sending == r.queue.head {
			r.sending++ // acknowledged while we were about to send it again
		}
		q.Stats.Messages++
		q.completeSend(Success)
	}
	r.unacked, r.retries, r.rnrTries = good, 0, 0
	if r.next.Before(good) {
		r.next = good
	}
	q.Stats.BytesAcked += uint64(a.Bytes)
	r.deadline = unit.Never
	if r.waiting = r.waiting && !r.asked.Before(good); r.waiting {
		if t := q.cfg.ackTimeout(); t > 0 {
			r.deadline = now.Add(t)
		}
	}
	return a
}

// receiverNotReady waits as long as the peer asks. IBTA 9.7.5.2.8.
func (q *QP) receiverNotReady(now unit.Time, psn ib.PSN, t ib.RNRTimer) {
	r := &q.req
	if q.cfg.RNRRetry != rnrForEver {
		if r.rnrTries >= q.cfg.RNRRetry {
			q.fail(RNRRetryExceeded)
			return
		}
		r.rnrTries++
	}
	q.counters.RNRNakRetryErr++
	q.goBack(psn)
	r.rnrUntil = now.Add(t.Duration())
}

// sequenceError goes back to the missing packet. While we wait for a receiver that was not
// ready we do not: rxe sends such a NAK behind each RNR NAK, for the same packet.
func (q *QP) sequenceError(psn ib.PSN) bool {
	if q.req.rnrUntil != unit.Never {
		return false
	}
	if !q.retry(RetryExceeded) {
		return true
	}
	q.counters.PacketSeqErr++
	q.goBack(psn)
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

// fail ends the oldest request with an error, and the QP with it.
func (q *QP) fail(why Status) {
	if q.req.queue.len() > 0 {
		q.completeSend(why)
	}
	q.flush()
}

// completeSend ends the oldest request of the send queue.
func (q *QP) completeSend(s Status) {
	r := &q.req
	w := r.queue.at(r.queue.head)
	r.queue.head++
	*q.cq.ring.push() = Completion{ID: w.wr.ID, QPN: q.cfg.QPN, Op: w.wr.Op, Status: s,
		Bytes: len(w.data)}
	w.data = nil
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
