package mmu

import (
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// egressRoom says why a frame of so much has no place in a queue.
func (b *Buffer) egressRoom(q *queue, size unit.Bytes) frame.Reason {
	if q.Max != 0 && q.used+size > q.Max {
		return frame.DropQueueFull
	}
	if len(b.egress) == 0 {
		return frame.NoReason
	}
	before := q.shared()
	more := max(q.used+size-q.Reserved, 0) - before
	free := b.egress[q.Pool].free()
	if more == 0 || (more <= free && q.Limit.allows(before+more, free)) {
		return frame.NoReason
	}
	return frame.DropEgressBuffer
}

func (b *Buffer) chargeEgress(q *queue, size unit.Bytes) {
	if len(b.egress) > 0 {
		p := &b.egress[q.Pool]
		p.used += max(q.used+size-q.Reserved, 0) - q.shared()
		p.stored += size
		p.peak = max(p.peak, p.stored)
	}
	q.used += size
	q.peak = max(q.peak, q.used)
}

func (b *Buffer) releaseEgress(q *queue, size unit.Bytes) {
	before := q.shared()
	q.used -= size
	if len(b.egress) > 0 {
		p := &b.egress[q.Pool]
		p.used -= before - q.shared()
		p.stored -= size
	}
}

// shared is the part of the queue's use that is beyond its own reserved part.
func (q *queue) shared() unit.Bytes { return max(q.used-q.Reserved, 0) }
