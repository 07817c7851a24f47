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
// Going back moves next, not highest: packets below highest are retransmissions. A READ takes as
// many PSNs as its answer has packets, but is one packet itself. IBTA 9.7.3.
type requester struct {
	queue   queue[sendWQE]
	sending uint64 // position of the request that next belongs to

	unacked seq // oldest not acknowledged
	next    seq // what Next will send
	highest seq // first never sent
	posted  seq // first not yet given to a work request

	fetching int // READs and atomics between head and sending
	sinceAck int // packets since the last AckReq
	asked    seq // the answer to the last AckReq covers this
	waiting  bool
	ssn      uint64 // of the last posted
	credit   uint64 // the last SSN that the peer has a receive for
	counted  bool   // the peer counts
	inline   []byte // by slot of the queue

	implied bool // went back for a missing answer, and nothing has come since

	deadline  unit.Time // retransmission timer
	heldUntil unit.Time // no sending before: receiver not ready, or slow to go back
	retries   uint8     // used up since the last progress
	rnrTries  uint8
}

// Post appends a work request to the send queue.
func (q *QP) Post(now unit.Time, wr WR) error {
	q.now = now
	r := &q.req
	if wr.Local.Length < 0 || wr.Local.Length > MaxMessage {
		return ErrLength
	}
	if q.broken() || q.state < StateRTS {
		return ErrState
	}
	if wr.Op >= operations || wr.Op.Fetches() && q.cfg.readDepth == 0 {
		return ErrOp
	}
	if wr.Op.Atomic() && wr.Inline == nil && wr.Local.Length != AtomicLen {
		return ErrLength
	}
	local, err := q.source(&wr)
	if err != nil {
		return err
	}
	packets := q.packets(local.len())
	if wr.Op == Read && packets >= seq(ib.MaxPSNWindow) {
		return ErrLength // its answer would not fit half of the PSNs, IBTA 9.7.2
	}
	if r.queue.full() || !q.cq.reserve() {
		return ErrQueueFull
	}
	if wr.Inline != nil {
		local.bytes = r.inlined(wr.Inline, int(q.cfg.maxInline))
	}
	r.ssn++
	*r.queue.push() = sendWQE{id: wr.ID, op: wr.Op, imm: wr.Imm, remote: wr.Remote,
		atomic: wr.Atomic, local: local, ssn: r.ssn, first: r.posted, packets: packets,
		flags: wqeFlags{solicited: wr.Solicited && wr.Op.takesReceive(), fence: wr.Fence}}
	r.posted += packets
	if q.state == StateErr {
		q.completeSend(Flushed)
	}
	return nil
}

// source finds the bytes of a work request.
func (q *QP) source(wr *WR) (span, error) {
	if wr.Inline != nil {
		if len(wr.Inline) > int(q.cfg.maxInline) {
			return span{}, ErrLength
		}
		if wr.Op.Fetches() {
			return span{}, ErrOp
		}
		return span{bytes: wr.Inline}, nil
	}
	find := q.mem.local
	if wr.Op.Atomic() {
		find = q.mem.real
	}
	s, ok := find(q.cfg.pd, wr.Local, wr.Op.Fetches())
	if !ok {
		return span{}, ErrLocal
	}
	return s, nil
}

// inlined copies b to the place that belongs to the next slot of the queue.
func (r *requester) inlined(b []byte, most int) []byte {
	slot := int(r.queue.tail%uint64(len(r.queue.slots))) * most
	dst := r.inline[slot : slot+len(b)]
	copy(dst, b)
	return dst
}

// packets is how many a message of n bytes takes: at least one.
func (q *QP) packets(n int) seq { return seq(max(1, (n+q.mtu()-1)/q.mtu())) }

// Pending reports whether Next has a packet now. window bounds the bytes in flight, counted in
// full packets; zero is no bound.
func (q *QP) Pending(window unit.Bytes) bool { return q.readDue() || q.requestDue(window) }

func (q *QP) requestDue(window unit.Bytes) bool {
	r := &q.req
	if !q.state.sends() || r.next == r.posted || r.heldUntil != unit.Never ||
		q.outstanding() >= q.limit(window) {
		return false
	}
	w := r.queue.at(r.sending)
	if q.state == StateSQD && w.first == r.next && r.next == r.highest {
		return false // a new message
	}
	return q.admits(w)
}

// admits judges what depends on the request itself: the fence, the peer's credit; READs and
// atomics in flight are bounded by what the peer can keep, IBTA 9.4.4, and by the PSNs.
func (q *QP) admits(w *sendWQE) bool {
	r := &q.req
	if w.flags.fence && r.fetching > 0 && r.next == w.first || !q.credited(w) {
		return false
	}
	return !w.op.Fetches() || r.fetching < int(q.cfg.readDepth) &&
		w.end()-r.unacked < seq(ib.MaxPSNWindow)
}

func (q *QP) outstanding() int { return int(q.req.next - q.req.unacked) }

func (q *QP) limit(window unit.Bytes) int {
	if window == 0 {
		return int(q.cfg.maxOutstanding)
	}
	return min(int(q.cfg.maxOutstanding), max(1, int(window)/q.mtu()))
}

// Next fills in the next packet that may be large, a request or an answer to a READ, and reports
// whether there is one: what congestion control paces. o.Payload is memory of a region, to be
// copied at once. Requests and answers take turns.
func (q *QP) Next(now unit.Time, window unit.Bytes, o *ib.Outgoing) bool {
	q.now = now
	if q.broken() {
		return false
	}
	request := q.requestDue(window)
	if q.readDue() && !(request && q.resp.served) {
		q.resp.served = true
		return q.readResponse(o)
	}
	q.resp.served = false
	return request && q.nextRequest(now, window, o)
}

func (q *QP) nextRequest(now unit.Time, window unit.Bytes, o *ib.Outgoing) bool {
	r := &q.req
	w := r.queue.at(r.sending)
	if !w.local.live() {
		q.failSending(LocalProtection)
		return false
	}
	i := r.next - w.first
	*o = ib.Outgoing{PSN: r.next.psn(), Imm: w.imm, Atomic: w.atomic,
		RDMA: ib.RDMA{VA: w.remote.VA, RKey: w.remote.RKey, Length: uint32(w.local.len())}}
	taken := seq(1)
	if w.op.Fetches() {
		o.Opcode, taken = fetchOpcodes[w.op], w.packets-i
		o.RDMA.VA += uint64(i) * uint64(q.cfg.mtu) // resumed behind what has come
		o.RDMA.Length -= uint32(i) * uint32(q.cfg.mtu)
		r.fetching++
	} else {
		piece := q.piece(&w.local, int(i))
		o.Opcode, o.Payload, o.Zeros = w.opcode(i), piece.bytes, piece.void
	}
	last := i+taken == w.packets
	if i == 0 {
		w.flags.waits = r.limited(w)
	}
	o.Solicited = last && w.flags.solicited
	if o.AckReq = q.asks(w, last, window); o.AckReq {
		q.asked(now, r.next+taken-1)
	}
	q.sent(o.PayloadLen(), taken)
	if last {
		r.sending++
	}
	return true
}

// piece is the payload of packet i of a message.
func (q *QP) piece(s *span, i int) span { return s.cut(i*q.mtu(), (i+1)*q.mtu()) }

// asks decides whether the next packet asks for an acknowledgement: the last of a message does,
// one in every AckEvery, the one that exhausts the window; and each if congestion control has a
// window of its own, which may shrink below what is in flight.
func (q *QP) asks(w *sendWQE, last bool, window unit.Bytes) bool {
	q.req.sinceAck++
	return last || w.op.Fetches() || window != 0 || w.flags.waits && q.req.next == w.first ||
		q.req.sinceAck >= int(q.cfg.ackEvery) ||
		q.outstanding()+1 >= int(q.cfg.maxOutstanding)
}

// asked starts the retransmission timer if none runs. It measures the wait for an answer, and so
// runs only while one was asked for: however slow the pacing, it does not run out in between.
func (q *QP) asked(now unit.Time, until seq) {
	r := &q.req
	r.sinceAck, r.asked, r.waiting = 0, until, true
	if t := q.cfg.ackTimeout(); r.deadline == unit.Never && t > 0 {
		r.deadline = now.Add(t)
	}
}

func (q *QP) sent(n int, taken seq) {
	r := &q.req
	q.Stats.PacketsSent++
	q.Stats.BytesSent += uint64(n)
	if r.next < r.highest {
		q.Stats.PacketsRetransmitted++
		q.Stats.BytesRetransmitted += uint64(n)
	}
	r.next += taken
	r.highest = max(r.highest, r.next)
}

// opcodes by operation and place in the message.
var opcodes = [WriteImm + 1][4]ib.Opcode{
	Send:     places(ib.SendOnly, ib.SendFirst, ib.SendMiddle, ib.SendLast),
	SendImm:  places(ib.SendOnlyImm, ib.SendFirst, ib.SendMiddle, ib.SendLastImm),
	Write:    places(ib.WriteOnly, ib.WriteFirst, ib.WriteMiddle, ib.WriteLast),
	WriteImm: places(ib.WriteOnlyImm, ib.WriteFirst, ib.WriteMiddle, ib.WriteLastImm),
}

var fetchOpcodes = [operations]ib.Opcode{
	Read: ib.ReadRequest, FetchAdd: ib.FetchAdd, CmpSwap: ib.CmpSwap}

func places(only, first, middle, last ib.Opcode) [4]ib.Opcode {
	return [4]ib.Opcode{ib.Only: only, ib.First: first, ib.Middle: middle, ib.Last: last}
}

// opcode is that of the i-th packet.
func (w *sendWQE) opcode(i seq) ib.Opcode {
	return opcodes[w.op][place(i == 0, i == w.packets-1)]
}

func place(first, last bool) ib.Place {
	switch {
	case first && last:
		return ib.Only
	case first:
		return ib.First
	case last:
		return ib.Last
	}
	return ib.Middle
}
