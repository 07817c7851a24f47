package qp

import "github.com/rocelab/rocelab/dataplane/unit"

// goBack makes at, which lies between unacked and highest, the next packet to send. A READ that
// at lies in is asked for again from there on.
func (q *QP) goBack(at seq) {
	r := &q.req
	r.next, r.sinceAck, r.waiting, r.deadline = at, 0, false, unit.Never
	r.sending, r.fetching = r.queue.head, 0
	for r.sending != r.queue.tail {
		w := r.queue.at(r.sending)
		if at < w.end() {
			break
		}
		if w.op.Fetches() {
			r.fetching++
		}
		r.sending++
	}
}

// Wake handles the deadlines that have passed and reports whether the retransmission timer ran
// out, which congestion control wants to know.
func (q *QP) Wake(now unit.Time) (timeout bool) {
	r := &q.req
	q.now = now
	if q.broken() {
		return false
	}
	q.wakeResponder(now)
	if r.heldUntil <= now {
		r.heldUntil = unit.Never
	}
	if r.deadline > now {
		return false
	}
	if !q.retry(RetryExceeded) {
		return true
	}
	q.counters.LocalAckTimeoutErr++
	r.implied = false
	q.goBack(q.restart(r.unacked))
	return true
}

// goBackAfter is goBack for what the peer told or showed, which the requester takes its time to
// follow. It sends nothing meanwhile.
func (q *QP) goBackAfter(at seq) {
	q.goBack(q.restart(at))
	if d := q.cfg.retransmitDelay; d > 0 {
		q.req.heldUntil = q.now.Add(d)
	}
}

// retry spends one retransmission; if none is left it fails the oldest request and the QP.
func (q *QP) retry(why Status) bool {
	if q.req.retries >= q.cfg.retryCount {
		q.fail(why)
		return false
	}
	q.req.retries++
	return true
}

// fail ends the oldest request with an error, and the QP with it.
func (q *QP) fail(why Status) {
	if q.req.queue.len() > 0 {
		q.completeSend(why)
	}
	q.flush()
}

// FailSend goes to ERR as a request that was to be sent cannot be, for a reason outside of the
// transport: it completes with why, all others as flushed.
func (q *QP) FailSend(now unit.Time, why Status) {
	q.now = now
	if q.state.sends() {
		q.failSending(why)
	}
}

// failSending ends the request that was to be sent with an error. Those before it are in flight,
// and nobody will know how they ended.
func (q *QP) failSending(why Status) {
	for q.req.queue.head != q.req.sending {
		q.completeSend(Flushed)
	}
	q.fail(why)
}
