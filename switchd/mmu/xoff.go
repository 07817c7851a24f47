package mmu

import (
	"math"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// Change is a PG going to XOFF or back.
type Change struct {
	Port  frame.PortID
	Group PG
	XOFF  bool
}

// Changed reports whether NextChange may have something to tell.
func (b *Buffer) Changed() bool { return len(b.changed) > 0 }

// NextChange returns what Admit, Release and Reconfigure changed, one at a time, false when that is
// all. A group that went to XOFF and came back in between is not told.
func (b *Buffer) NextChange() (c Change, ok bool) {
	for len(b.changed) > 0 {
		last := len(b.changed) - 1
		index := b.changed[last]
		b.changed = b.changed[:last]
		g := &b.groups[index]
		g.asked = false
		if g.xoff != g.told {
			g.told = g.xoff
			return Change{frame.PortID(index / Groups), PG(index % Groups), g.xoff}, true
		}
	}
	return Change{}, false
}

func (b *Buffer) change(index int32, xoff bool) {
	g := &b.groups[index]
	g.xoff = xoff
	if !g.asked {
		g.asked = true
		b.changed = append(b.changed, index)
	}
}

// enterXOFF notes that a group has passed its limit.
func (b *Buffer) enterXOFF(index int32) {
	g := &b.groups[index]
	if g.xoff {
		return
	}
	b.change(index, true)
	b.pools[g.Pool].hold(index, g.resumeFree())
}

// hold notes a group in XOFF that can resume when so much is free.
func (p *pool) hold(index int32, resume unit.Bytes) {
	if len(p.xoff) == 0 {
		p.resume = never
	}
	p.xoff = append(p.xoff, index)
	p.resume = min(p.resume, resume)
}

// leaveXOFF takes every group that can resume out of XOFF, in the order they entered, and finds
// out how much must be free for the next.
func (b *Buffer) leaveXOFF(p *pool) {
	free := p.free()
	stay := p.xoff[:0]
	p.resume = never
	for _, index := range p.xoff {
		g := &b.groups[index]
		need := g.resumeFree()
		if free >= need {
			b.change(index, false)
			continue
		}
		stay = append(stay, index)
		p.resume = min(p.resume, need)
	}
	p.xoff = stay
}

// never is more than can be free.
const never unit.Bytes = math.MaxInt64

// resumeFree is how much of shared must be free for the group to resume, as long as nothing of
// its own moves. Shared use must be at most XON, or at most XONOffset below the limit, whichever
// is larger (SAI_BUFFER_PROFILE_ATTR_XON_OFFSET_TH), and what came after XOFF must be gone.
func (g *group) resumeFree() unit.Bytes {
	used := g.shared()
	switch {
	case g.headroom > 0:
		return never
	case used <= g.XON:
		return 0
	case g.Limit.Den == 0:
		if used+g.XONOffset <= g.Limit.Static {
			return 0
		}
		return never
	case g.Limit.Num == 0:
		return never
	}
	// The least free for which Num*free/Den, rounded down, reaches used+XONOffset.
	num, den := unit.Bytes(g.Limit.Num), unit.Bytes(g.Limit.Den)
	return ((used+g.XONOffset)*den + num - 1) / num
}
