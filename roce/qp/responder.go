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
	nak     ib.Syndrome // owed; zero is none
	nakPSN  ib.PSN
	nakSent bool // for the gap we are in: one NAK a gap, IBTA 9.7.5.2.4
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
func (q *QP) PostReceive(wr ReceiveWR) error {
	if q.state < StateInit {
		return ErrState
	}
	if q.srq != nil {
		return ErrOp
	}
	local, ok := q.mem.local(q.cfg.PD, wr.Local, true)
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
	if q.broken() || q.state != StateRTR && !q.state.sends() {
		return Acked{}, frame.DropUnknownQP
	}
	if p.Info.Transport != ib.RC {
		return Acked{}, frame.DropUnexpected
	}
	if !ib.SamePartition(p.BTH.PKey(), q.cfg.PKey) {
		q.counters.BadPKey++
		return Acked{}, frame.DropUnexpected
	}
	if p.Info.Request() {
		return Acked{}, q.receiveRequest(p)
	}
	if !q.state.sends() {
		return Acked{}, frame.DropUnexpected
	}
	switch p.Info.Verb {
	case ib.Ack:
		return q.receiveAck(now, p)
	case ib.ReadReply, ib.AtomicReply:
		return q.receiveFetched(now, p)
	}
	return Acked{}, frame.DropUnexpected
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
		if !r.nakSent {
			q.abandon()
			q.refuseWith(ib.NAKSequence)
		}
		return frame.NoReason
	}
	r.nakSent, r.nak = false, 0
	if syn := q.execute(p); syn != ib.SyndromeACK {
		q.refuseWith(syn)
		if !syn.IsRNR() {
			q.refuse(syn)
		}
	}
	return frame.NoReason
}

// refuseWith owes the peer a NAK for the packet that is expected.
func (q *QP) refuseWith(syn ib.Syndrome) {
	r := &q.resp
	r.nak, r.nakPSN, r.nakSent = syn, r.expected, true
}

// execute carries out one packet and returns ACK, or why not. RNR changes nothing, so that the
// packet can come again; any other refusal ends the QP.
func (q *QP) execute(p *ib.Packet) ib.Syndrome {
	r := &q.resp
	if v := p.Info.Verb; v == ib.Read || v == ib.Atomic {
		return q.keep(p)
	}
	if syn := q.receiveData(p); syn != ib.SyndromeACK {
		return syn
	}
	r.expected = r.expected.Add(1)
	r.ackOwed = r.ackOwed || p.BTH.AckReq()
	return ib.SyndromeACK
}

// duplicate answers what was executed before, IBTA 9.7.5.1.1: data is acknowledged again, READs
// are executed again, atomics are answered from memory.
func (q *QP) duplicate(p *ib.Packet) frame.Reason {
	if v := p.Info.Verb; v == ib.Read || v == ib.Atomic {
		return q.again(p)
	}
	q.resp.ackOwed = true
	return frame.NoReason
}

// receiveData places one packet of a SEND or a WRITE.
func (q *QP) receiveData(p *ib.Packet) ib.Syndrome {
	r, i := &q.resp, p.Info
	if (r.verb == ib.NoVerb) != i.Place.Starts() || (r.verb != ib.NoVerb && r.verb != i.Verb) ||
		!q.lengthFits(len(p.Payload), i.Place) || i.Has.IETH {
		return ib.NAKInvalidRequest
	}
	needsReceive := i.Verb == ib.Send && i.Place.Starts() || i.Verb == ib.Write && i.Has.Imm
	if needsReceive && !r.holds {
		if !q.takeReceive() {
			q.counters.OutOfBuffer++
			return ib.RNR(q.cfg.MinRNRTimer)
		}
	}
	if i.Place.Starts() {
		if syn := q.begin(p); syn != ib.SyndromeACK {
			return syn
		}
	}
	if len(p.Payload) > len(r.dest.bytes) {
		return ib.NAKInvalidRequest
	}
	if i.Verb == ib.Write && i.Place.Ends() && len(p.Payload) != len(r.dest.bytes) {
		return ib.NAKInvalidRequest // shorter than its RETH said
	}
	if !r.dest.live() {
		return r.lost()
	}
	n := copy(r.dest.bytes, p.Payload)
	r.dest.bytes, r.total = r.dest.bytes[n:], r.total+n
	q.Stats.BytesReceived += uint64(n)
	if i.Place.Ends() {
		q.end(p)
	}
	return ib.SyndromeACK
}

// lengthFits: all packets but the last are full. IBTA 9.7.4.1.6.
func (q *QP) lengthFits(n int, place ib.Place) bool {
	switch place {
	case ib.First, ib.Middle:
		return n == q.cfg.MTU
	case ib.Last:
		return n > 0 && n <= q.cfg.MTU
	}
	return n <= q.cfg.MTU
}

// lost is the refusal when a region was deregistered under a message: the peer's own fault if it
// named it, ours if it is that of a receive.
func (r *responder) lost() ib.Syndrome {
	if r.verb == ib.Write {
		return ib.NAKRemoteAccess
	}
	return ib.NAKRemoteOperational
}

// begin finds out where a new message goes.
func (q *QP) begin(p *ib.Packet) ib.Syndrome {
	r := &q.resp
	if p.Info.Verb == ib.Send {
		r.dest = r.held.local
	} else {
		dest, syn := q.target(p.Info.Verb, p.RETH)
		if syn != ib.SyndromeACK {
			return syn
		}
		r.dest = dest
		q.counters.RxWriteRequests++
	}
	r.verb, r.first, r.total = p.Info.Verb, p.BTH.PSN(), 0
	return ib.SyndromeACK
}

// target is the memory that a RETH names, if the peer may do that there. IBTA 9.7.4.1.
func (q *QP) target(verb ib.Verb, h *ib.RETH) (span, ib.Syndrome) {
	n := h.Length()
	if n > MaxMessage {
		return span{}, ib.NAKInvalidRequest
	}
	s, ok := q.mem.remote(q.cfg.PD, Remote{VA: h.VA(), RKey: h.RKey()}, int(n), verb)
	if !ok {
		return span{}, ib.NAKRemoteAccess
	}
	return s, ib.SyndromeACK
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
	c := Completion{ID: r.held.id, QPN: q.cfg.QPN, Op: Receive, Status: s, Bytes: r.total}
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

// refuse ends the QP after a request that must not be executed; the NAK still goes out.
func (q *QP) refuse(syn ib.Syndrome) {
	switch syn {
	case ib.NAKRemoteAccess:
		q.counters.RespRemoteAccessErrors++
	case ib.NAKRemoteOperational:
		q.counters.RespRemoteOperationalErrors++
	default:
		q.counters.RespRemoteInvalidRequest++
	}
	if q.resp.holds && q.resp.verb == ib.Send {
		if syn == ib.NAKRemoteOperational {
			q.completeReceive(LocalProtection, nil)
		} else {
			q.counters.RespLocalLengthError++
			q.completeReceive(LocalLength, nil)
		}
	}
	q.flush()
}
