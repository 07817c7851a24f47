package mmu

import (
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// GroupUse is what a PG stores now, and the most it stored since ClearWatermarks.
type GroupUse struct {
	Reserved, Shared, Headroom         unit.Bytes
	Limit                              unit.Bytes // of Shared, at this moment
	HeadroomLimit                      unit.Bytes
	SharedWatermark, HeadroomWatermark unit.Bytes
	XOFF                               bool
}

// Use is an occupancy and the most it was since ClearWatermarks.
type Use struct {
	Occupancy, Watermark unit.Bytes
}

// Group returns the use of a PG.
func (b *Buffer) Group(port frame.PortID, pg PG) GroupUse {
	g := &b.groups[groupIndex(port, pg)]
	p := &b.pools[g.Pool]
	return GroupUse{
		Reserved: min(g.own, g.Reserved), Shared: g.shared(), Headroom: g.headroom,
		Limit: g.Limit.of(p.shared - p.used), HeadroomLimit: g.Headroom,
		SharedWatermark: g.peakShared, HeadroomWatermark: g.peakHeadroom, XOFF: g.xoff,
	}
}

// Queue returns the use of an egress queue.
func (b *Buffer) Queue(port frame.PortID, q Queue) Use {
	u := &b.queues[queueIndex(port, q)]
	return Use{u.used, u.peak}
}

// QueueBytes is what a queue stores now: the queue length that marking looks at.
func (b *Buffer) QueueBytes(port frame.PortID, q Queue) unit.Bytes {
	return b.queues[queueIndex(port, q)].used
}

// Pool returns the use of a pool, all its parts together.
func (b *Buffer) Pool(i int) Use { return Use{b.pools[i].stored, b.pools[i].peak} }

// Shared is the size of the shared part of a pool: what reserved and headroom leave.
func (b *Buffer) Shared(i int) unit.Bytes { return b.pools[i].shared }

// ClearWatermarks lets the watermarks start again from what is stored now.
func (b *Buffer) ClearWatermarks() {
	for i := range b.pools {
		b.pools[i].peak = b.pools[i].stored
	}
	for i := range b.groups {
		g := &b.groups[i]
		g.peakShared, g.peakHeadroom = g.shared(), g.headroom
	}
	for i := range b.queues {
		b.queues[i].peak = b.queues[i].used
	}
}
