package qp

import (
	"encoding/binary"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/roce/ib"
)

// maxResources bounds what a QP keeps: the connection manager has eight bits for it. IBTA 12.7.
const maxResources = 255

// resource is a READ or an atomic of the peer. It stays when it is answered, until newer ones
// need its place: the peer may have lost the answer and ask again. IBTA 9.4.4, 9.4.5.
//
// An atomic's answer stands here; that of a READ is read from memory as it goes out, each time.
type resource struct {
	verb     ib.Verb
	whole    bool // the answer went out to its end, if not again since it was asked for again
	psn      ib.PSN
	msn      ib.MSN
	packets  uint32 // of the answer
	sent     uint32 // of them
	from     uint32 // where the latest request for it began
	key      uint32
	original uint64 // atomic: what it found
	va       uint64
	target   span
}

func (r *resource) owed() bool { return r.sent < r.packets }

// keep executes an atomic, or begins to answer a READ.
func (q *QP) keep(p *ib.Packet) ib.Syndrome {
	r := &q.resp
	if r.verb != ib.NoVerb || q.cfg.Resources == 0 {
		return ib.NAKInvalidRequest
	}
	if r.kept.full() && !r.kept.at(r.kept.head).whole {
		return ib.NAKInvalidRequest // more in flight than was agreed: IBTA 9.7.4.1
	}
	e := resource{verb: p.Info.Verb, psn: p.BTH.PSN(), packets: 1}
	var syn ib.Syndrome
	if e.verb == ib.Read {
		q.counters.RxReadRequests++
		e.key, e.va = p.RETH.RKey(), p.RETH.VA()
		e.target, syn = q.target(ib.Read, p.RETH)
		e.packets = uint32(q.packets(len(e.target.bytes)))
	} else {
		q.counters.RxAtomicRequests++
		e.original, syn = q.atomic(p)
	}
	if syn != ib.SyndromeACK {
		return syn
	}
	if r.kept.full() { // the peer has the oldest answer, or it would not ask for more
		r.kept.head++
		r.due = max(r.due, r.kept.head)
		r.answered()
	}
	r.msn = r.msn.Next()
	e.msn = r.msn
	*r.kept.push() = e
	r.expected = r.expected.Add(int(e.packets))
	r.ackOwed = false // the answer acknowledges what came before
	return ib.SyndromeACK
}

// atomic carries out FETCH_ADD or CMP_SWAP and returns what was there. IBTA 9.4.5.
func (q *QP) atomic(p *ib.Packet) (original uint64, syn ib.Syndrome) {
	h := p.Atomic
	if h.VA()%AtomicLen != 0 {
		return 0, ib.NAKInvalidRequest
	}
	at := Remote{VA: h.VA(), RKey: h.RKey()}
	s, ok := q.mem.remote(q.cfg.PD, at, AtomicLen, ib.Atomic)
	if !ok {
		return 0, ib.NAKRemoteAccess
	}
	original = binary.NativeEndian.Uint64(s.bytes)
	switch {
	case p.BTH.Opcode() == ib.FetchAdd:
		binary.NativeEndian.PutUint64(s.bytes, original+h.SwapAdd())
	case original == h.Compare():
		binary.NativeEndian.PutUint64(s.bytes, h.SwapAdd())
	}
	return original, ib.SyndromeACK
}

// again answers a READ or an atomic that was executed before. A READ may name what is left of the
// first: it resumes in the middle. What does not match what was asked then is not answered.
func (q *QP) again(p *ib.Packet) frame.Reason {
	r := &q.resp
	for pos := r.kept.head; pos != r.kept.tail; pos++ {
		e := r.kept.at(pos)
		i := p.BTH.PSN().Sub(e.psn)
		if i < 0 || i >= int(e.packets) {
			continue
		}
		if e.verb != p.Info.Verb || e.verb == ib.Read && !q.resumes(e, i, p.RETH) {
			return frame.DropUnexpected
		}
		e.sent, e.from = uint32(i), uint32(i)
		r.due = min(r.due, pos)
		return frame.NoReason
	}
	return frame.DropUnexpected
}

// resumes reports whether h asks for what is left of e from packet i on.
func (q *QP) resumes(e *resource, i int, h *ib.RETH) bool {
	off := i * q.cfg.MTU
	return h.RKey() == e.key && h.VA() == e.va+uint64(off) &&
		int(h.Length()) == len(e.target.bytes)-off
}

// HasResponse reports whether NextResponse has a packet. Answers keep the order of the requests:
// while part of a READ's is still to go by Next, nothing overtakes it.
func (q *QP) HasResponse() bool {
	r := &q.resp
	if r.due != r.kept.tail {
		return r.kept.at(r.due).verb == ib.Atomic
	}
	return r.nak != 0 || r.ackOwed
}

// readDue reports whether Next has a packet of the answer to a READ.
func (q *QP) readDue() bool {
	r := &q.resp
	return r.due != r.kept.tail && r.kept.at(r.due).verb == ib.Read
}

// answered moves on to the next resource that is owed an answer.
func (r *responder) answered() {
	for r.due != r.kept.tail && !r.kept.at(r.due).owed() {
		r.kept.at(r.due).whole = true
		r.due++
	}
}

// readResponse fills in the next packet of the answer to a READ.
func (q *QP) readResponse(o *ib.Outgoing) bool {
	r := &q.resp
	e := r.kept.at(r.due)
	i := e.sent
	if !e.target.live() { // deregistered since it began
		r.nak, r.nakPSN, r.nakSent = ib.NAKRemoteOperational, e.psn.Add(int(i)), true
		r.due = r.kept.tail
		q.refuse(ib.NAKRemoteOperational)
		return q.NextResponse(o)
	}
	*o = ib.Outgoing{Opcode: readOpcodes[place(i == e.from, i == e.packets-1)],
		PSN: e.psn.Add(int(i)), AETH: ib.Acknowledgement{Syndrome: ib.SyndromeACK, MSN: e.msn},
		Payload: q.piece(e.target.bytes, int(i))}
	e.sent++
	q.Stats.PacketsSent++
	q.Stats.BytesSent += uint64(len(o.Payload))
	r.answered()
	return true
}

var readOpcodes = places(ib.ReadResponseOnly, ib.ReadResponseFirst, ib.ReadResponseMiddle,
	ib.ReadResponseLast)

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
		o.AETH = ib.Acknowledgement{Syndrome: ib.SyndromeACK, MSN: e.msn, Original: e.original}
		e.sent++
		r.answered()
		return true
	case r.nak != 0:
		o.PSN, o.AETH.Syndrome = r.nakPSN, r.nak
	default:
		o.PSN, o.AETH.Syndrome = r.expected.Add(-1), q.ackSyndrome()
	}
	o.AETH.MSN = r.msn
	r.nak, r.ackOwed = 0, false
	return true
}
