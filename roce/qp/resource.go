package qp

import (
	"encoding/binary"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/roce/ib"
)

// MaxResources bounds what a QP keeps: the connection manager has eight bits for it. IBTA 12.7.
const MaxResources = 255

// resource is a READ or an atomic of the peer. It stays when it is answered, until newer ones
// need its place: the peer may have lost the answer and ask again. IBTA 9.4.4, 9.4.5.
//
// An atomic's answer stands here; that of a READ is read from memory as it goes out, each time.
type resource struct {
	mr     *Region // of a READ; nil if it is of no bytes
	value  uint64  // READ: offset in mr; atomic: what it found
	length uint32  // READ
	psn    ib.PSN
	msn    ib.MSN
	sent   uint32 // packets of the answer
	from   uint32 // where the latest request for it began
	atomic bool
	whole  bool // the answer went out to its end, if not again since it was asked for again
}

// packets is how many the answer has.
func (q *QP) answerPackets(e *resource) uint32 {
	if e.atomic {
		return 1
	}
	return uint32(q.packets(int(e.length)))
}

// source is what a READ reads; false if its region is no more.
func (e *resource) source() (span, bool) {
	switch {
	case e.mr == nil:
		return span{}, true
	case e.mr.Bytes == nil:
		return span{void: int(e.length)}, !e.mr.gone
	}
	return span{bytes: e.mr.Bytes[e.value : e.value+uint64(e.length)]}, !e.mr.gone
}

// keep executes an atomic, or begins to answer a READ.
func (q *QP) keep(p *ib.Packet) fault {
	r := &q.resp
	if r.verb != ib.NoVerb {
		return faultSequence
	}
	// More in flight than was agreed: IBTA 9.7.4.1.
	if q.cfg.resources == 0 || r.kept.full() && !r.kept.at(r.kept.head).whole {
		return faultTooMany
	}
	e := resource{psn: p.BTH.PSN(), atomic: p.Info.Verb == ib.Atomic}
	var f fault
	if e.atomic {
		q.counters.RxAtomicRequests++
		e.value, f = q.atomic(p)
	} else {
		q.counters.RxReadRequests++
		var target span
		target, f = q.target(ib.Read, p.RETH)
		e.mr, e.value, e.length = target.mr, target.off, uint32(target.len())
	}
	if f != noFault {
		return f
	}
	if r.kept.full() { // the peer has the oldest answer, or it would not ask for more
		r.kept.head++
		r.due = max(r.due, r.kept.head)
		q.answered()
	}
	r.msn = r.msn.Next()
	e.msn = r.msn
	*r.kept.push() = e
	r.expected = r.expected.Add(int(q.answerPackets(&e)))
	r.acknowledged() // the answer acknowledges what came before
	return noFault
}

// atomic carries out FETCH_ADD or CMP_SWAP and returns what was there. IBTA 9.4.5.
func (q *QP) atomic(p *ib.Packet) (original uint64, f fault) {
	h := p.Atomic
	if h.VA()%AtomicLen != 0 {
		return 0, faultAlignment
	}
	at := Remote{VA: h.VA(), RKey: h.RKey()}
	s, ok := q.mem.remote(q.cfg.pd, at, AtomicLen, ib.Atomic)
	if !ok || s.void > 0 {
		return 0, faultAccess
	}
	original = binary.NativeEndian.Uint64(s.bytes)
	switch {
	case p.BTH.Opcode() == ib.FetchAdd:
		binary.NativeEndian.PutUint64(s.bytes, original+h.SwapAdd())
	case original == h.Compare():
		binary.NativeEndian.PutUint64(s.bytes, h.SwapAdd())
	}
	return original, noFault
}

// again answers a READ or an atomic that was executed before. A READ may name what is left of the
// first: it resumes in the middle. What does not match what was asked then is not answered.
func (q *QP) again(p *ib.Packet) frame.Reason {
	r := &q.resp
	for pos := r.kept.head; pos != r.kept.tail; pos++ {
		e := r.kept.at(pos)
		i := p.BTH.PSN().Sub(e.psn)
		if i < 0 || i >= int(q.answerPackets(e)) {
			continue
		}
		if e.atomic != (p.Info.Verb == ib.Atomic) || !e.atomic && !q.resumes(e, i, p.RETH) {
			break
		}
		e.sent, e.from, e.msn = uint32(i), uint32(i), r.msn
		r.due = min(r.due, pos)
		return frame.NoReason
	}
	q.counters.UnmatchedDuplicate++
	return frame.DropUnexpected
}

// resumes reports whether h asks for what is left of e from packet i on. For no bytes, key and
// address mean nothing.
func (q *QP) resumes(e *resource, i int, h *ib.RETH) bool {
	off := i * q.mtu()
	return int(h.Length()) == int(e.length)-off && (e.mr == nil ||
		h.RKey() == e.mr.Key && h.VA() == e.mr.VA+e.value+uint64(off))
}

// readDue reports whether Next has a packet of the answer to a READ.
func (q *QP) readDue() bool {
	r := &q.resp
	return r.due != r.kept.tail && !r.kept.at(r.due).atomic
}

// answered moves on to the next resource that is owed an answer.
func (q *QP) answered() {
	for r := &q.resp; r.due != r.kept.tail; r.due++ {
		e := r.kept.at(r.due)
		if e.sent < q.answerPackets(e) {
			return
		}
		e.whole = true
	}
}

// readResponse fills in the next packet of the answer to a READ.
func (q *QP) readResponse(o *ib.Outgoing) bool {
	r := &q.resp
	e := r.kept.at(r.due)
	i := e.sent
	source, live := e.source()
	if !live { // deregistered since it began
		r.nak, r.nakPSN, r.gap = ib.NAKRemoteOperational, e.psn.Add(int(i)), true
		r.due = r.kept.tail
		q.refuse(faultLocal)
		return q.NextResponse(o)
	}
	piece := q.piece(&source, int(i))
	*o = ib.Outgoing{Opcode: readOpcodes[place(i == e.from, i == q.answerPackets(e)-1)],
		PSN: e.psn.Add(int(i)), AETH: ib.Acknowledgement{Syndrome: ib.SyndromeACK, MSN: e.msn},
		Payload: piece.bytes, Zeros: piece.void}
	e.sent++
	q.Stats.PacketsSent++
	q.Stats.BytesSent += uint64(o.PayloadLen())
	q.answered()
	return true
}

var readOpcodes = places(ib.ReadResponseOnly, ib.ReadResponseFirst, ib.ReadResponseMiddle,
	ib.ReadResponseLast)
