package qp

import (
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// requester turns work requests into packets.
//
//	queue:  | acknowledged ... head | in flight ... sending | not yet sent ... tail |
//	PSNs:                   unacked <= next <= highest <= posted
//
// Going back moves next, not highest: packets below highest are retransmissions.
type requester struct {
	queue   queue[sendWQE]
	sending uint64 // position of the request that next belongs to

	unacked ib.PSN // oldest not acknowledged
	next    ib.PSN // what Next will send
	highest ib.PSN // first never sent
	posted  ib.PSN // first not yet given to a work request

	sinceAck int    // packets since the last AckReq
	asked    ib.PSN // the last AckReq went with this
	waiting  bool   // an AckReq is not yet answered

	deadline unit.Time // retransmission timer
	rnrUntil unit.Time // no sending before
	retries  uint8     // used up since the last progress
	rnrTries uint8
}

// Post appends a work request to the send queue.
func (q *QP) Post(wr WR) error {
	r := &q.req
	if wr.Local.Length < 0 || wr.Local.Length > MaxMessage {
		return ErrLength
	}
	if wr.Op > WriteImm || q.state < StateRTS {
		return ErrState
	}
	data, ok := q.mem.local(q.cfg.PD, wr.Local, false)
	if !ok {
		return ErrLocal
	}
	packets := max(1, (len(data)+q.cfg.MTU-1)/q.cfg.MTU)
	if r.queue.full() || r.posted.Sub(r.unacked)+packets > ib.MaxPSNWindow-1 || !q.cq.reserve() {
		return ErrQueueFull
	}
	*r.queue.push() = sendWQE{wr: wr, data: data, psn: r.posted, packets: packets}
	r.posted = r.posted.Add(packets)
	if q.state == StateErr {
		q.completeSend(Flushed)
	}
	return nil
}

// Pending reports whether Next has a packet now. window bounds the bytes in flight, counted in
// full packets; zero is no bound.
func (q *QP) Pending(window unit.Bytes) bool {
	r := &q.req
	return q.state == StateRTS && r.next != r.posted && r.rnrUntil == unit.Never &&
		q.outstanding() < q.limit(window)
}

func (q *QP) outstanding() int { return q.req.next.Sub(q.req.unacked) }

func (q *QP) limit(window unit.Bytes) int {
	if window == 0 {
		return q.cfg.MaxOutstanding
	}
	return min(q.cfg.MaxOutstanding, max(1, int(window)/q.cfg.MTU))
}

// Next fills in the next request packet and reports whether there is one. o.Payload is memory
// of the work request, to be copied at once.
func (q *QP) Next(now unit.Time, window unit.Bytes, o *ib.Outgoing) bool {
	if !q.Pending(window) {
		return false
	}
	r := &q.req
	w := r.queue.at(r.sending)
	i := r.next.Sub(w.psn)
	data := w.data[min(i*q.cfg.MTU, len(w.data)):min((i+1)*q.cfg.MTU, len(w.data))]
	o.Opcode, o.PSN, o.Payload = w.opcode(i), r.next, data
	o.RDMA = ib.RDMA{VA: w.wr.Remote.VA, RKey: w.wr.Remote.RKey, Length: uint32(len(w.data))}
	o.Imm = w.wr.Imm
	if o.AckReq = q.asks(i == w.packets-1, window); o.AckReq {
		q.asked(now)
	}
	q.sent(len(data))
	if i == w.packets-1 {
		r.sending++
	}
	return true
}

// asks decides whether the next packet asks for an acknowledgement: the last of a message does,
// one in every AckEvery, the one that exhausts the window; and each if congestion control has a
// window of its own, which may shrink below what is in flight.
func (q *QP) asks(last bool, window unit.Bytes) bool {
	q.req.sinceAck++
	return last || window != 0 || q.req.sinceAck >= q.cfg.AckEvery ||
		q.outstanding()+1 >= q.cfg.MaxOutstanding
}

// asked starts the retransmission timer if none runs. It measures the wait for an answer, and so
// runs only while one was asked for: however slow the pacing, it does not run out in between.
func (q *QP) asked(now unit.Time) {
	r := &q.req
	r.sinceAck, r.asked, r.waiting = 0, r.next, true
	if t := q.cfg.ackTimeout(); r.deadline == unit.Never && t > 0 {
		r.deadline = now.Add(t)
	}
}

func (q *QP) sent(n int) {
	r := &q.req
	q.Stats.PacketsSent++
	q.Stats.BytesSent += uint64(n)
	if r.next.Before(r.highest) {
		q.Stats.PacketsRetransmitted++
		q.Stats.BytesRetransmitted += uint64(n)
	}
	r.next = r.next.Add(1)
	if r.highest.Before(r.next) {
		r.highest = r.next
	}
}

// opcodes by operation and place in the message.
var opcodes = [WriteImm + 1][4]ib.Opcode{
	Send:     places(ib.SendOnly, ib.SendFirst, ib.SendMiddle, ib.SendLast),
	SendImm:  places(ib.SendOnlyImm, ib.SendFirst, ib.SendMiddle, ib.SendLastImm),
	Write:    places(ib.WriteOnly, ib.WriteFirst, ib.WriteMiddle, ib.WriteLast),
	WriteImm: places(ib.WriteOnlyImm, ib.WriteFirst, ib.WriteMiddle, ib.WriteLastImm),
}

func places(only, first, middle, last ib.Opcode) [4]ib.Opcode {
	return [4]ib.Opcode{ib.Only: only, ib.First: first, ib.Middle: middle, ib.Last: last}
}

// opcode is that of the i-th packet.
func (w *sendWQE) opcode(i int) ib.Opcode {
	place := ib.Middle
	switch {
	case w.packets == 1:
		place = ib.Only
	case i == 0:
		place = ib.First
	case i == w.packets-1:
		place = ib.Last
	}
	return opcodes[w.wr.Op][place]
}

// goBack makes psn, which lies between unacked and highest, the next packet to send.
func (q *QP) goBack(psn ib.PSN) {
	r := &q.req
	r.next, r.sinceAck, r.waiting, r.deadline = psn, 0, false, unit.Never
	r.sending = r.queue.head
	for r.sending != r.queue.tail {
		w := r.queue.at(r.sending)
		if psn.Before(w.psn.Add(w.packets)) {
			break
		}
		r.sending++
	}
}

// Wake handles the deadlines that have passed and reports whether the retransmission timer ran
// out, which congestion control wants to know.
func (q *QP) Wake(now unit.Time) (timeout bool) {
	r := &q.req
	if r.rnrUntil <= now {
		r.rnrUntil = unit.Never
	}
	if r.deadline > now {
		return false
	}
	if !q.retry(RetryExceeded) {
		return true
	}
	q.counters.LocalAckTimeoutErr++
	q.goBack(r.unacked)
	return true
}

// retry spends one retransmission; if none is left it fails the oldest request and the QP.
func (q *QP) retry(why Status) bool {
	if q.req.retries >= q.cfg.RetryCount {
		q.fail(why)
		return false
	}
	q.req.retries++
	return true
}
