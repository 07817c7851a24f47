package mmu

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// Where names the two places a stored frame is charged to.
type Where struct {
	In    frame.PortID
	Group PG
	Out   frame.PortID
	Queue Queue
}

// Buffer is the account of what is stored where.
type Buffer struct {
	cell    unit.Bytes // 0: a byte
	pools   []pool
	egress  []pool
	groups  []group
	queues  []queue
	dropped []uint64 // by group
	changed []int32  // groups whose XOFF state changed and nobody has asked yet
	kept    [objects][kinds][]unit.Bytes
}

// pool is an ingress or an egress pool; headroom and XOFF are the ingress's.
type pool struct {
	shared unit.Bytes // size of the shared part
	used   unit.Bytes // of the shared part
	stored unit.Bytes // of all parts
	peak   unit.Bytes // of stored

	headroomSize unit.Bytes // what all headroom together can be
	headroom     unit.Bytes
	peakHeadroom unit.Bytes

	xoff   []int32    // groups in XOFF
	resume unit.Bytes // no group of xoff can resume while less than this is free
	size   unit.Bytes
	name   string
}

// group is two cache lines, queue one: every frame touches both.
type group struct {
	own      unit.Bytes // in reserved and shared together
	headroom unit.Bytes
	Profile
	admitted     dataplane.Count
	peakShared   unit.Bytes
	peakHeadroom unit.Bytes
	xoff         bool
	told         bool // the state that NextChange last told
	asked        bool // in changed
}

type queue struct {
	QueueProfile
	used, peak unit.Bytes
}

// New makes the buffer, or returns every fault of the division.
func New(cfg Config) (*Buffer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	n := len(cfg.Groups) * Groups
	b := &Buffer{
		cell: cfg.Cell, pools: make([]pool, len(cfg.Pools)),
		egress: make([]pool, len(cfg.EgressPools)),
		groups: make([]group, n), queues: make([]queue, len(cfg.Queues)*Queues),
		dropped: make([]uint64, n), changed: make([]int32, 0, n),
	}
	for i, p := range cfg.Pools {
		b.pools[i] = pool{name: p.Name, size: p.Size, shared: p.Size - cfg.setAside(i),
			headroomSize: cfg.headroom(i), xoff: make([]int32, 0, n)}
	}
	for i, p := range cfg.EgressPools {
		b.egress[i] = pool{name: p.Name, size: p.Size, shared: p.Size - cfg.setAsideEgress(i)}
	}
	for port := range cfg.Groups {
		for pg, profile := range cfg.Groups[port] {
			b.groups[port*Groups+pg].Profile = profile
		}
		for q, profile := range cfg.Queues[port] {
			b.queues[port*Queues+q].QueueProfile = profile
		}
	}
	b.keep()
	return b, nil
}

func groupIndex(port frame.PortID, pg PG) int32   { return int32(port)*Groups + int32(pg) }
func queueIndex(port frame.PortID, q Queue) int32 { return int32(port)*Queues + int32(q) }

// cells is what a frame of n bytes takes: whole cells.
func (b *Buffer) cells(n unit.Bytes) unit.Bytes {
	if b.cell == 0 {
		return n
	}
	return (n + b.cell - 1) / b.cell * b.cell
}

// Admit charges a frame of n bytes, or says why there is no room for it: the egress is asked
// first, because it changes nothing. The caller then asks NextChange.
func (b *Buffer) Admit(w Where, n unit.Bytes) frame.Reason {
	size := b.cells(n)
	q := &b.queues[queueIndex(w.Out, w.Queue)]
	if q.Max != 0 || len(b.egress) > 0 {
		if why := b.egressRoom(q, size); why != frame.NoReason {
			return why
		}
	}
	index := groupIndex(w.In, w.Group)
	g := &b.groups[index]
	p := &b.pools[g.Pool]
	before := g.shared()
	more := max(g.own+size-g.Reserved, 0) - before
	switch free := p.free(); {
	case more == 0 || (more <= free && g.Limit.allows(before+more, free)):
		g.own += size
		p.used += more
		g.peakShared = max(g.peakShared, before+more)
	case !g.Lossless:
		b.dropped[index]++
		return frame.DropBuffer
	case !b.toHeadroom(index, size):
		b.dropped[index]++
		return frame.DropHeadroom
	}
	g.admitted.Add(n)
	p.stored += size
	p.peak = max(p.peak, p.stored)
	b.chargeEgress(q, size)
	return frame.NoReason
}

// toHeadroom charges a frame that is beyond the group's limit to headroom, and takes the group to
// XOFF. It reports false if the frame is lost: neither the group's own headroom nor what the pool
// has for all may be exceeded.
func (b *Buffer) toHeadroom(index int32, size unit.Bytes) bool {
	g := &b.groups[index]
	p := &b.pools[g.Pool]
	own, all := g.headroom+size <= g.Headroom, p.headroom+size <= p.headroomSize
	// A frame that is lost means XOFF only if something that is stored can end it: a frame may be
	// too large for an empty headroom.
	if own && (all || p.headroom > 0) || p.free() < g.resumeFree() {
		b.enterXOFF(index)
	}
	if !own || !all {
		return false
	}
	g.headroom += size
	p.headroom += size
	g.peakHeadroom = max(g.peakHeadroom, g.headroom)
	p.peakHeadroom = max(p.peakHeadroom, p.headroom)
	return true
}

// Release takes out a frame of n bytes that Admit charged. The caller then asks NextChange.
func (b *Buffer) Release(w Where, n unit.Bytes) {
	size := b.cells(n)
	g, q := &b.groups[groupIndex(w.In, w.Group)], &b.queues[queueIndex(w.Out, w.Queue)]
	p := &b.pools[g.Pool]
	fromHeadroom := min(size, g.headroom)
	before := g.shared()
	g.headroom -= fromHeadroom
	p.headroom -= fromHeadroom
	g.own -= size - fromHeadroom
	p.stored -= size
	p.used -= before - g.shared()
	if min(g.own, q.used-size, p.stored, p.used) < 0 {
		panic(fmt.Sprintf("mmu: released %d bytes that are not at %+v: group %+v queue %+v",
			size, w, *g, *q))
	}
	b.releaseEgress(q, size)
	if g.xoff {
		p.resume = min(p.resume, g.resumeFree())
	}
	if len(p.xoff) > 0 && p.free() >= p.resume {
		b.leaveXOFF(p)
	}
}

// shared is the part of the group's use that is beyond its own reserved part.
func (g *group) shared() unit.Bytes { return max(g.own-g.Reserved, 0) }

// free is what nobody uses of shared. After Reconfigure it is below zero until what is stored fits
// into the new division.
func (p *pool) free() unit.Bytes { return p.shared - p.used }
