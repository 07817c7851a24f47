package mmu

import (
	"fmt"
	"slices"
)

// Reconfigure divides the buffer anew and loses nothing: what is stored stays charged to its PG
// and queue, whatever pool these take from now, counters and watermarks go on. Limits count at
// once. A lossless group that is beyond its limit goes to XOFF, one that may resume to XON, and in
// between it stays what it was; a group that becomes lossy goes to XON. The caller then asks
// NextChange. Groups and pools may be over their new sizes until what is stored has left; they
// take nothing in until then.
//
// It fails, and changes nothing, if cfg is not valid or is a division of another chip: the number
// of ports and the cell stay.
func (b *Buffer) Reconfigure(cfg Config) error {
	if ports := len(b.groups) / Groups; len(cfg.Groups) != ports {
		return fmt.Errorf("groups of %d ports, the buffer has %d", len(cfg.Groups), ports)
	}
	if cfg.Cell != b.cell {
		return fmt.Errorf("cell %v: the memory has cells of %v", cfg.Cell, b.cell)
	}
	next, err := New(cfg)
	if err != nil {
		return err
	}
	next.adopt(b)
	*b = *next
	return nil
}

// adopt takes over what is stored in old.
func (b *Buffer) adopt(old *Buffer) {
	b.changed = append(b.changed, old.changed...)
	copy(b.dropped, old.dropped)
	for i := range b.groups {
		g := &b.groups[i]
		profile := g.Profile
		*g = old.groups[i]
		g.Profile = profile
		if !g.Lossless {
			g.own, g.headroom = g.own+g.headroom, 0
		}
		p := &b.pools[g.Pool]
		p.used += g.shared()
		p.headroom += g.headroom
		p.stored += g.own + g.headroom
	}
	for i := range b.queues {
		q := &b.queues[i]
		q.used, q.peak = old.queues[i].used, old.queues[i].peak
		if len(b.egress) > 0 {
			p := &b.egress[q.Pool]
			p.used += q.shared()
			p.stored += q.used
		}
	}
	for i := range b.groups {
		b.judge(int32(i))
	}
	b.adoptWatermarks(old)
}

// judge puts a group into the state that the new limits mean for what it stores.
func (b *Buffer) judge(index int32) {
	g := &b.groups[index]
	was := g.xoff
	p := &b.pools[g.Pool]
	free, shared := p.free(), g.shared()
	switch {
	case !g.Lossless || free >= g.resumeFree():
		g.xoff = false
	case g.headroom > 0 || shared > 0 && !g.Limit.allows(shared, free):
		g.xoff = true
	}
	if g.xoff != was {
		b.change(index, g.xoff)
	}
	if g.xoff {
		p.hold(index, g.resumeFree())
	}
}

// adoptWatermarks carries the watermarks on, those of pools by name: an old pool that is gone takes
// its own along, and a new one starts from what is stored.
func (b *Buffer) adoptWatermarks(old *Buffer) {
	for i := range b.pools {
		if from := slices.IndexFunc(old.pools, b.pools[i].named); from >= 0 {
			b.pools[i].peak = old.pools[from].peak
			b.pools[i].peakHeadroom = old.pools[from].peakHeadroom
			b.copyKept(old, PoolStored, i, from)
			b.copyKept(old, PoolHeadroom, i, from)
		}
	}
	for i := range b.egress {
		if from := slices.IndexFunc(old.egress, b.egress[i].named); from >= 0 {
			b.egress[i].peak = old.egress[from].peak
			b.copyKept(old, PoolStored, len(b.pools)+i, len(old.pools)+from)
		}
	}
	for _, of := range []Object{GroupShared, GroupHeadroom, QueueStored} {
		for i := range b.kept[of][UserWatermark] {
			b.copyKept(old, of, i, i)
		}
	}
	for of := range objects { // The division may have moved what is stored from part to part.
		for i := range b.kept[of][UserWatermark] {
			now, peak := b.peak(of, i)
			*peak = max(*peak, now)
		}
	}
}

func (b *Buffer) copyKept(old *Buffer, of Object, to, from int) {
	for kind := range b.kept[of] {
		b.kept[of][kind][to] = old.kept[of][kind][from]
	}
}

func (p *pool) named(other pool) bool { return p.name == other.name }
