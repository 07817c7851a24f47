package qp

import (
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// responder executes the peer's requests in the order of their PSNs.
type responder struct {
	queue    queue[receiveWQE]
	expected ib.PSN
	msn      ib.MSN

	verb  ib.Verb // of the message in progress; NoVerb between messages
	first ib.PSN  // of that message
	dest  span    // where the rest of it goes
	total int     // bytes of it so far
	held  receiveWQE
	holds bool // a receive is taken and not completed

	kept   queue[resource] // READs and atomics, answered or not
	due    uint64          // position of the first in kept that is owed an answer
	served bool            // the last packet from Next was an answer

	ackOwed bool
	gap     bool        // packets beyond the expected one have come, or it was refused
	nak     ib.Syndrome // owed; zero is none
	nakPSN  ib.PSN
	asked   int32     // packets that asked for an acknowledgement since the last answer
	ackAt   unit.Time // when an ACK that is held back goes out
	nakAt   unit.Time // the same for a NAK
}

func (r *responder) take(from *queue[receiveWQE]) {
	r.held, r.holds = *from.at(from.head), true
	from.head++
}

func (r *responder) taken() int {
	if r.holds {
		return 1
	}
	return 0
}

// PostReceive appends a buffer to the receive queue.
func (q *QP) PostReceive(now unit.Time, wr ReceiveWR) error {
	q.now = now
	if q.state < StateInit {
		return ErrState
	}
	if q.srq != nil {
		return ErrOp
	}
	local, ok := q.mem.local(q.cfg.pd, wr.Local, true)
	if !ok {
		return ErrLocal
	}
	if q.resp.queue.full() || !q.cq.reserve() {
		return ErrQueueFull
	}
	*q.resp.queue.push() = receiveWQE{id: wr.ID, local: local}
	if q.state == StateErr {
		q.resp.take(&q.resp.queue)
		q.completeReceive(Flushed, nil)
	}
	return nil
}

// Receive handles a packet for this QP, whose ICRC is right. It returns what the packet
// acknowledged, and a reason if it was dropped rather than used.
func (q *QP) Receive(now unit.Time, p *ib.Packet) (Acked, frame.Reason) {
	q.now = now
	if q.broken() || q.state != StateRTR && !q.state.sends() {
		q.counters.NotReady++
		return Acked{}, frame.DropUnknownQP
	}
	if p.Info.Transport != ib.RC {
		q.counters.BadTransport++
		return Acked{}, frame.DropUnexpected
	}
	if !ib.SamePartition(p.BTH.PKey(), q.cfg.pkey) {
		q.counters.BadPKey++
		return Acked{}, frame.DropUnexpected
	}
	if p.Info.Request() {
		return Acked{}, q.receiveRequest(p)
	}
	a, why := Acked{}, frame.DropUnexpected
	switch {
	case !q.state.sends(): // we have asked nothing
	case p.Info.Verb == ib.Ack:
		a, why = q.receiveAck(now, p)
	default:
		a, why = q.receiveFetched(now, p)
	}
	if why != frame.NoReason {
		q.counters.UnexpectedResponse++
	}
	return a, why
}

// receiveRequest sorts by PSN: the expected one is executed. IBTA 9.7.4.1.
func (q *QP) receiveRequest(p *ib.Packet) frame.Reason {
	r := &q.resp
	switch d := p.BTH.PSN().Sub(r.expected); {
	case d < 0:
		q.counters.DuplicateRequest++
		return q.duplicate(p)
	case d > 0:
		q.counters.OutOfSequence++
		q.gapped()
		return frame.NoReason
	}
	r.gap, r.nak, r.nakAt = false, 0, unit.Never
	switch f := q.execute(p); f {
	case noFault:
	case faultNotReady:
		q.counters.OutOfBuffer++
		q.refuseWith(ib.RNR(q.cfg.minRNRTimer))
	default:
		q.refuseWith(faults[f].nak)
		q.refuse(f)
	}
	return frame.NoReason
}

// execute carries out one packet, or says why not. Not ready changes nothing, so that the packet
// can come again; any other fault ends the QP.
func (q *QP) execute(p *ib.Packet) fault {
	r := &q.resp
	if v := p.Info.Verb; v == ib.Read || v == ib.Atomic {
		return q.keep(p)
	}
	if f := q.receiveData(p); f != noFault {
		return f
	}
	r.expected = r.expected.Add(1)
	if p.BTH.AckReq() {
		q.oweACK()
	}
	return noFault
}

// duplicate answers what was executed before, IBTA 9.7.5.1.1: data is acknowledged again, READs
// are executed again, atomics are answered from memory.
func (q *QP) duplicate(p *ib.Packet) frame.Reason {
	if v := p.Info.Verb; v == ib.Read || v == ib.Atomic {
		return q.again(p)
	}
	q.resp.ackOwed = true // at once: the peer repeats because it waits
	return frame.NoReason
}

// receiveData places one packet of a SEND or a WRITE.
func (q *QP) receiveData(p *ib.Packet) fault {
	r, i, n := &q.resp, p.Info, p.PayloadLen()
	switch {
	case (r.verb == ib.NoVerb) != i.Place.Starts() || r.verb != ib.NoVerb && r.verb != i.Verb:
		return faultSequence
	case i.Has.IETH:
		return faultOpcode
	case !q.lengthFits(n, i.Place):
		return faultPacket
	}
	needsReceive := i.Verb == ib.Send && i.Place.Starts() || i.Verb == ib.Write && i.Has.Imm
	if needsReceive && !r.holds && !q.takeReceive() {
		return faultNotReady
	}
	if i.Place.Starts() {
		if f := q.begin(p); f != noFault {
			return f
		}
	}
	if room := r.dest.len(); n > room || i.Verb == ib.Write && i.Place.Ends() && n != room {
		return faultMessage // of a WRITE: longer or shorter than its RETH said
	}
	if !r.dest.live() {
		return r.lost()
	}
	r.dest.fill(p)
	r.dest.skip(n)
	r.total += n
	q.Stats.BytesReceived += uint64(n)
	if i.Place.Ends() {
		q.end(p)
	}
	return noFault
}

// lengthFits: all packets but the last are full. IBTA 9.7.4.1.6.
func (q *QP) lengthFits(n int, place ib.Place) bool {
	switch place {
	case ib.First, ib.Middle:
		return n == q.mtu()
	case ib.Last:
		return n > 0 && n <= q.mtu()
	}
	return n <= q.mtu()
}

// lost is the refusal when a region was deregistered under a message: the peer's own fault if it
// named it, ours if it is that of a receive.
func (r *responder) lost() fault {
	if r.verb == ib.Write {
		return faultAccess
	}
	return faultLocal
}

// begin finds out where a new message goes.
func (q *QP) begin(p *ib.Packet) fault {
	r := &q.resp
	if p.Info.Verb == ib.Send {
		r.dest = r.held.local
	} else {
		dest, f := q.target(p.Info.Verb, p.RETH)
		if f != noFault {
			return f
		}
		r.dest = dest
		q.counters.RxWriteRequests++
	}
	r.verb, r.first, r.total = p.Info.Verb, p.BTH.PSN(), 0
	return noFault
}

// target is the memory that a RETH names, if the peer may do that there. IBTA 9.7.4.1.
func (q *QP) target(verb ib.Verb, h *ib.RETH) (span, fault) {
	n := h.Length()
	if n > MaxMessage {
		return span{}, faultMessage
	}
	s, ok := q.mem.remote(q.cfg.pd, Remote{VA: h.VA(), RKey: h.RKey()}, int(n), verb)
	if !ok {
		return span{}, faultAccess
	}
	return s, noFault
}

// end counts the message and completes the receive that it used.
func (q *QP) end(p *ib.Packet) {
	r := &q.resp
	r.msn, r.verb, r.dest = r.msn.Next(), ib.NoVerb, span{}
	if r.holds && (p.Info.Verb == ib.Send || p.Info.Has.Imm) {
		q.completeReceive(Success, p)
	}
}

// completeReceive ends the receive that is held. p, if not nil, is the last packet of the message.
func (q *QP) completeReceive(s Status, p *ib.Packet) {
	r := &q.resp
	c := Completion{ID: r.held.id, QPN: q.cfg.qpn, Op: Receive, Status: s, Bytes: r.total,
		At: q.now}
	if p != nil {
		c.Solicited = p.BTH.Solicited()
		if p.Imm != nil {
			c.Imm, c.HasImm = p.Imm.Value(), true
		}
	}
	q.cq.push(c)
	r.held, r.holds = receiveWQE{}, false
	if s == Flushed {
		q.counters.RespCQEFlushError++
	}
	if s != Success {
		q.counters.RespCQEError++
	}
}
