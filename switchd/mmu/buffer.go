package mmu

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// Buffer is the account of what is stored where.
type Buffer struct {
	pools   []pool
	groups  []group
	queues  []queue
	changed []int32 // groups whose XOFF state changed and nobody has asked yet
}

type pool struct {
	size   unit.Bytes
	shared unit.Bytes // size of the shared part
	used   unit.Bytes // of the shared part
	stored unit.Bytes // of all parts
	peak   unit.Bytes // of stored

	xoff   []int32    // groups in XOFF
	resume unit.Bytes // no group of xoff can resume while less than this is free
}

type group struct {
	Profile
	own      unit.Bytes // in reserved and shared together
	headroom unit.Bytes
	xoff     bool
	told     bool // the state that NextChange last told
	asked    bool // in changed

	peakShared, peakHeadroom unit.Bytes
}

type queue struct {
	max, used, peak unit.Bytes
}

// New makes the buffer, or returns every fault of the division.
func New(cfg Config) (*Buffer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	n := len(cfg.Groups) * Groups
	b := &Buffer{
		pools: make([]pool, len(cfg.Pools)), groups: make([]group, n),
		queues: make([]queue, len(cfg.Queues)*Queues), changed: make([]int32, 0, n),
	}
	for i, p := range cfg.Pools {
		b.pools[i] = pool{size: p.Size, shared: p.Size - cfg.setAside(i), xoff: make([]int32, 0, n)}
	}
	for port := range cfg.Groups {
		for pg, profile := range cfg.Groups[port] {
			b.groups[port*Groups+pg].Profile = profile
		}
		for q, profile := range cfg.Queues[port] {
			b.queues[port*Queues+q].max = profile.Max
		}
	}
	return b, nil
}

func groupIndex(port frame.PortID, pg PG) int32   { return int32(port)*Groups + int32(pg) }
func queueIndex(port frame.PortID, q Queue) int32 { return int32(port)*Queues + int32(q) }

// Admit charges a frame of n bytes, or says why there is no room for it. The caller then asks
// NextChange.
func (b *Buffer) Admit(w Where, n unit.Bytes) frame.Reason {
	q := &b.queues[queueIndex(w.Out, w.Queue)]
	if q.max != 0 && q.used+n > q.max {
		return frame.DropQueueFull
	}
	index := groupIndex(w.In, w.Group)
	g := &b.groups[index]
	p := &b.pools[g.Pool]
	before := g.shared()
	more := max(g.own+n-g.Reserved, 0) - before
	switch free := p.shared - p.used; {
	case more == 0 || (more <= free && g.Limit.allows(before+more, free)):
		g.own += n
		p.used += more
		g.peakShared = max(g.peakShared, before+more)
	case !g.Lossless:
		return frame.DropBuffer
	default:
		fits := g.headroom+n <= g.Headroom
		// A frame too large for an empty headroom alone does not mean XOFF.
		if fits || free < g.resumeFree() {
			b.enterXOFF(index)
		}
		if !fits {
			return frame.DropHeadroom
		}
		g.headroom += n
		g.peakHeadroom = max(g.peakHeadroom, g.headroom)
	}
	p.stored += n
	p.peak = max(p.peak, p.stored)
	q.used += n
	q.peak = max(q.peak, q.used)
	return frame.NoReason
}

// Release takes out a frame of n bytes that Admit charged. The caller then asks NextChange.
func (b *Buffer) Release(w Where, n unit.Bytes) {
	index := groupIndex(w.In, w.Group)
	g, q := &b.groups[index], &b.queues[queueIndex(w.Out, w.Queue)]
	p := &b.pools[g.Pool]
	fromHeadroom := min(n, g.headroom)
	before := g.shared()
	g.headroom -= fromHeadroom
	g.own -= n - fromHeadroom
	q.used -= n
	p.stored -= n
	p.used -= before - g.shared()
	if min(g.own, q.used, p.stored, p.used) < 0 {
		panic(fmt.Sprintf("mmu: released %d bytes that are not at %+v: group %+v queue %+v",
			n, w, *g, *q))
	}
	if g.xoff {
		p.resume = min(p.resume, g.resumeFree())
	}
	if len(p.xoff) > 0 && p.shared-p.used >= p.resume {
		b.leaveXOFF(p)
	}
}

// shared is the part of the group's use that is beyond its own reserved part.
func (g *group) shared() unit.Bytes { return max(g.own-g.Reserved, 0) }
