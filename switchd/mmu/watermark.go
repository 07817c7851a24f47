package mmu

import "github.com/rocelab/rocelab/dataplane/unit"

// Watermark is a kind of watermark. Both are the most that was stored since their kind was last
// cleared, each on its own.
type Watermark uint8

// The kinds.
const (
	UserWatermark       Watermark = iota // SONiC: USER_WATERMARKS
	PersistentWatermark                  // SONiC: PERSISTENT_WATERMARKS

	kinds
)

// Object is a kind of thing that has watermarks, cleared together as sonic-clear does.
type Object uint8

// The objects, with SONiC's command that clears them.
const (
	GroupShared   Object = iota // sonic-clear priority-group watermark shared
	GroupHeadroom               // sonic-clear priority-group watermark headroom
	QueueStored                 // sonic-clear queue watermark all
	PoolStored                  // sonic-clear buffer_pool watermark; ingress and egress
	PoolHeadroom                // sonic-clear headroom-pool watermark

	objects
)

// The data path keeps one peak for both kinds: the most since any clear. What was before that
// clear is in kept, by kind.

// ClearWatermark lets the watermarks of a kind start again from what is stored now.
func (b *Buffer) ClearWatermark(kind Watermark, of Object) {
	for i := range b.kept[of][kind] {
		now, peak := b.peak(of, i)
		for k := range b.kept[of] {
			b.kept[of][k][i] = max(b.kept[of][k][i], *peak)
		}
		b.kept[of][kind][i], *peak = now, now
	}
}

// ClearWatermarks lets all user watermarks start again from what is stored now.
func (b *Buffer) ClearWatermarks() {
	for of := range objects {
		b.ClearWatermark(UserWatermark, of)
	}
}

// watermark is the most since the kind was cleared.
func (b *Buffer) watermark(kind Watermark, of Object, i int) unit.Bytes {
	_, peak := b.peak(of, i)
	return max(b.kept[of][kind][i], *peak)
}

// peak is what is stored now at an object, and the most since any clear.
func (b *Buffer) peak(of Object, i int) (now unit.Bytes, peak *unit.Bytes) {
	switch of {
	case GroupShared:
		return b.groups[i].shared(), &b.groups[i].peakShared
	case GroupHeadroom:
		return b.groups[i].headroom, &b.groups[i].peakHeadroom
	case QueueStored:
		return b.queues[i].used, &b.queues[i].peak
	case PoolHeadroom:
		return b.pools[i].headroom, &b.pools[i].peakHeadroom
	}
	p := b.pool(i)
	return p.stored, &p.peak
}

// pool counts the egress pools after the ingress pools.
func (b *Buffer) pool(i int) *pool {
	if i < len(b.pools) {
		return &b.pools[i]
	}
	return &b.egress[i-len(b.pools)]
}

// keep makes the memory of the watermarks.
func (b *Buffer) keep() {
	n := [objects]int{GroupShared: len(b.groups), GroupHeadroom: len(b.groups),
		QueueStored: len(b.queues), PoolStored: len(b.pools) + len(b.egress),
		PoolHeadroom: len(b.pools)}
	for of := range b.kept {
		for kind := range b.kept[of] {
			b.kept[of][kind] = make([]unit.Bytes, n[of])
		}
	}
}
