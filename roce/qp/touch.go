package qp

import "github.com/rocelab/rocelab/roce/ib"

// Touches tells where a packet of a SEND or a WRITE would be placed if it were received now: n
// bytes at offset off of a region. It changes nothing. ok is false if the packet would place
// nothing: it carries no data, is not the expected one, or would be refused for its memory.
//
// It is for models of what a NIC does before it places a packet, such as translating its address.
func (q *QP) Touches(p *ib.Packet) (region *Region, off uint64, n int, ok bool) {
	r, i := &q.resp, p.Info
	if q.state != StateRTR && q.state != StateRTS || i.Verb != ib.Send && i.Verb != ib.Write ||
		p.BTH.PSN() != r.expected || p.PayloadLen() == 0 {
		return nil, 0, 0, false
	}
	at, before := r.dest, r.total
	if i.Place.Starts() {
		at, before = q.destination(p), 0
	}
	if at.mr == nil || !at.live() || p.PayloadLen() > at.len() {
		return nil, 0, 0, false
	}
	return at.mr, at.off + uint64(before), p.PayloadLen(), true
}

// destination is where the message that begins with p goes, nowhere if it would be refused.
func (q *QP) destination(p *ib.Packet) span {
	if p.Info.Verb == ib.Write {
		s, _ := q.target(ib.Write, p.RETH)
		return s
	}
	queue := &q.resp.queue
	if q.srq != nil {
		queue = &q.srq.queue
	}
	switch {
	case q.resp.holds:
		return q.resp.held.local
	case queue.len() == 0:
		return span{}
	}
	return queue.at(queue.head).local
}
