package mmu

import (
	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// GroupUse is what a PG stores now, the most it stored since its watermarks were cleared, and what
// it counted. Sizes are of whole cells.
type GroupUse struct {
	Reserved, Shared, Headroom         unit.Bytes
	Limit                              unit.Bytes // of Shared, at this moment
	HeadroomLimit                      unit.Bytes // its own; the pool may have less
	SharedWatermark, HeadroomWatermark unit.Bytes // UserWatermark
	SharedPersistent                   unit.Bytes // PersistentWatermark
	HeadroomPersistent                 unit.Bytes
	XOFF                               bool

	Admitted dataplane.Count // frames charged, and their bytes without regard to cells
	Dropped  uint64          // frames: at its limit if lossy, for lack of headroom if lossless
}

// Use is an occupancy and the most it was since the watermark of each kind was cleared.
type Use struct {
	Occupancy  unit.Bytes
	Watermark  unit.Bytes // UserWatermark
	Persistent unit.Bytes // PersistentWatermark
}

// Group returns the use of a PG.
func (b *Buffer) Group(port frame.PortID, pg PG) GroupUse {
	i := int(groupIndex(port, pg))
	g := &b.groups[i]
	return GroupUse{
		Reserved: min(g.own, g.Reserved), Shared: g.shared(), Headroom: g.headroom,
		Limit:         g.Limit.of(max(b.pools[g.Pool].free(), 0)),
		HeadroomLimit: g.Headroom, XOFF: g.xoff,
		SharedWatermark:    b.watermark(UserWatermark, GroupShared, i),
		HeadroomWatermark:  b.watermark(UserWatermark, GroupHeadroom, i),
		SharedPersistent:   b.watermark(PersistentWatermark, GroupShared, i),
		HeadroomPersistent: b.watermark(PersistentWatermark, GroupHeadroom, i),
		Admitted:           g.admitted, Dropped: b.dropped[i],
	}
}

// Queue returns the use of an egress queue.
func (b *Buffer) Queue(port frame.PortID, q Queue) Use {
	return b.use(QueueStored, int(queueIndex(port, q)))
}

// QueueLimit is how much of shared a queue may store at this moment; 0 without egress pools.
func (b *Buffer) QueueLimit(port frame.PortID, q Queue) unit.Bytes {
	u := &b.queues[queueIndex(port, q)]
	if len(b.egress) == 0 {
		return 0
	}
	return u.Limit.of(max(b.egress[u.Pool].free(), 0))
}

// QueueBytes is what a queue stores now: the queue length that marking looks at.
func (b *Buffer) QueueBytes(port frame.PortID, q Queue) unit.Bytes {
	return b.queues[queueIndex(port, q)].used
}

// Pool returns the use of an ingress pool, all its parts together.
func (b *Buffer) Pool(i int) Use { return b.use(PoolStored, i) }

// Headroom returns the use of all headroom of an ingress pool, shared or not.
func (b *Buffer) Headroom(i int) Use { return b.use(PoolHeadroom, i) }

// EgressPool returns the use of an egress pool, all its parts together.
func (b *Buffer) EgressPool(i int) Use { return b.use(PoolStored, len(b.pools)+i) }

// Shared is the size of the shared part of an ingress pool: what reserved and headroom leave.
func (b *Buffer) Shared(i int) unit.Bytes { return b.pools[i].shared }

// HeadroomSize is how much headroom the groups of an ingress pool have together.
func (b *Buffer) HeadroomSize(i int) unit.Bytes { return b.pools[i].headroomSize }

// EgressShared is the size of the shared part of an egress pool: what reserved leaves.
func (b *Buffer) EgressShared(i int) unit.Bytes { return b.egress[i].shared }

func (b *Buffer) use(of Object, i int) Use {
	now, _ := b.peak(of, i)
	return Use{now, b.watermark(UserWatermark, of, i), b.watermark(PersistentWatermark, of, i)}
}
