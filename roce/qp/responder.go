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
	dest  []byte  // where the rest of it goes
	total int     // bytes of it so far
	held  receiveWQE
	holds bool // a receive is taken and not completed

	ackOwed bool
	nak     ib.Syndrome // owed; zero is none
	nakSent bool        // for the gap we are in: one NAK a gap, IBTA 9.7.5.2.4
}

func (r *responder) take() {
	r.held, r.holds = *r.queue.at(r.queue.head), true
	r.queue.head++
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
	data, ok := q.mem.local(q.cfg.PD, wr.Local, true)
	if !ok {
		return ErrLocal
	}
	if q.resp.queue.full() || !q.cq.reserve() {
		return ErrQueueFull
	}
	*q.resp.queue.push() = receiveWQE{id: wr.ID, data: data}
	if q.state == StateErr {
		q.resp.take()
		q.completeReceive(Flushed, nil)
	}
	return nil
}

// Receive handles a packet for this QP, whose ICRC is right. It returns what the packet
// acknowledged, and a reason if it was dropped rather than used.
func (q *QP) Receive(now unit.Time, p *ib.Packet) (Acked, frame.Reason) {
	if q.state != StateRTR && q.state != StateRTS {
		return Acked{}, frame.DropUnknownQP
	}
	if p.Info.Transport != ib.RC || p.BTH.PKey()&0x7fff != ib.DefaultPKey&0x7fff {
		return Acked{}, frame.DropUnexpected
	}
	switch p.Info.Verb {
	case ib.Ack:
		return q.receiveAck(now, p)
	case ib.Send, ib.Write:
		q.receiveRequest(p)
		return Acked{}, frame.NoReason
	}
	return Acked{}, frame.DropUnexpected
}

// receiveRequest sorts by PSN: the expected one is executed. IBTA 9.7.4.1.
func (q *QP) receiveRequest(p *ib.Packet) {
	r := &q.resp
	switch d := p.BTH.PSN().Sub(r.expected); {
	case d < 0: // executed before: acknowledge again, IBTA 9.7.5.1.1
		q.counters.DuplicateRequest++
		r.ackOwed = true
		return
	case d > 0:
		q.counters.OutOfSequence++
		if !r.nakSent {
			r.nak, r.nakSent = ib.NAKSequence, true
		}
		return
	}
	r.nakSent, r.nak = false, 0
	if syn := q.execute(p); syn != ib.SyndromeACK {
		r.nak, r.nakSent = syn, true
		if !syn.IsRNR() {
			q.refuse(syn)
		}
		return
	}
	r.expected = r.expected.Add(1)
	r.ackOwed = r.ackOwed || p.BTH.AckReq()
}

// execute places one packet and returns ACK, or why not. RNR changes nothing, so that the packet
// can come again; any other refusal ends the QP.
func (q *QP) execute(p *ib.Packet) ib.Syndrome {
	r, i := &q.resp, p.Info
	if (r.verb == ib.NoVerb) != i.Place.Starts() || (r.verb != ib.NoVerb && r.verb != i.Verb) ||
		!q.lengthFits(len(p.Payload), i.Place) || i.Has.IETH {
		return ib.NAKInvalidRequest
	}
	needsReceive := i.Verb == ib.Send && i.Place.Starts() || i.Verb == ib.Write && i.Has.Imm
	if needsReceive && r.queue.len() == 0 {
		q.counters.OutOfBuffer++
		return ib.RNR(q.cfg.MinRNRTimer)
	}
	if i.Place.Starts() {
		if syn := q.begin(p); syn != ib.SyndromeACK {
			return syn
		}
	}
	if needsReceive {
		r.take()
	}
	if len(p.Payload) > len(r.dest) {
		return ib.NAKInvalidRequest
	}
	if i.Verb == ib.Write && i.Place.Ends() && len(p.Payload) != len(r.dest) {
		return ib.NAKInvalidRequest // shorter than its RETH said
	}
	n := copy(r.dest, p.Payload)
	r.dest, r.total = r.dest[n:], r.total+n
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

// begin finds out where a new message goes.
func (q *QP) begin(p *ib.Packet) ib.Syndrome {
	r := &q.resp
	if p.Info.Verb == ib.Send {
		r.dest = r.queue.at(r.queue.head).data
	} else {
		n := p.RETH.Length()
		if n > MaxMessage {
			return ib.NAKInvalidRequest
		}
		dest, ok := q.mem.remoteWrite(q.cfg.PD, p.RETH.RKey(), p.RETH.VA(), int(n))
		if !ok {
			return ib.NAKRemoteAccess
		}
		r.dest = dest
		q.counters.RxWriteRequests++
	}
	r.verb, r.total = p.Info.Verb, 0
	return ib.SyndromeACK
}

// end counts the message and completes the receive that it used.
func (q *QP) end(p *ib.Packet) {
	r := &q.resp
	r.msn, r.verb, r.dest = r.msn.Next(), ib.NoVerb, nil
	if r.holds {
		q.completeReceive(Success, p.Imm)
	}
}

func (q *QP) completeReceive(s Status, imm *ib.ImmDt) {
	r := &q.resp
	c := Completion{ID: r.held.id, QPN: q.cfg.QPN, Op: Receive, Status: s, Bytes: r.total}
	if imm != nil {
		c.Imm, c.HasImm = imm.Value(), true
	}
	*q.cq.ring.push() = c
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
	if syn == ib.NAKRemoteAccess {
		q.counters.RespRemoteAccessErrors++
	} else {
		q.counters.RespRemoteInvalidRequest++
	}
	if q.resp.holds && q.resp.verb == ib.Send {
		q.counters.RespLocalLengthError++
		q.completeReceive(LocalLength, nil)
	}
	q.flush()
}

// HasResponse reports whether NextResponse has a packet.
func (q *QP) HasResponse() bool { return q.resp.nak != 0 || q.resp.ackOwed }

// NextResponse fills in the next answer to the peer and reports whether there is one. Whatever
// was asked for since the last answer is answered by one: an ACK stands for all before it, and
// a NAK acknowledges what came before the packet it names.
func (q *QP) NextResponse(o *ib.Outgoing) bool {
	r := &q.resp
	if !q.HasResponse() {
		return false
	}
	*o = ib.Outgoing{Opcode: ib.Acknowledge}
	o.AETH.MSN = r.msn
	if r.nak != 0 {
		o.PSN, o.AETH.Syndrome = r.expected, r.nak
	} else {
		o.PSN, o.AETH.Syndrome = r.expected.Add(-1), ib.SyndromeACK
	}
	r.nak, r.ackOwed = 0, false
	return true
}
