package mmu

import (
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// GroupID names a PG of a switch.
type GroupID struct {
	Port  frame.PortID
	Group PG
}

// Shared is the size of the shared part of an ingress pool: what reserved and headroom leave.
func (c *Config) Shared(pool int) unit.Bytes { return c.Pools[pool].Size - c.setAside(pool) }

// EgressShared is the size of the shared part of an egress pool: what reserved leaves.
func (c *Config) EgressShared(pool int) unit.Bytes {
	return c.EgressPools[pool].Size - c.setAsideEgress(pool)
}

// Most is an upper bound of what some PGs can store together, headroom included, when no frame is
// larger than mtu: each by its own limits, and all of a pool by what the pool has.
func (c *Config) Most(groups []GroupID, mtu unit.Bytes) (sum unit.Bytes) {
	mtu = c.cells(mtu)
	for i := range c.Pools {
		var reserved, shared, headroom unit.Bytes
		size := c.Shared(i)
		for _, id := range groups {
			p := &c.Groups[id.Port][id.Group]
			if p.Pool == i {
				reserved += p.Reserved
				shared += p.Limit.alone(size, mtu)
				headroom += p.Headroom
			}
		}
		sum += reserved + min(shared, size) + min(headroom, c.headroom(i))
	}
	return sum
}

// MostOfQueue is an upper bound of what a queue can store of its egress pool's shared part, and in
// all.
func (c *Config) MostOfQueue(port frame.PortID, q Queue, mtu unit.Bytes) (shared, all unit.Bytes) {
	p := &c.Queues[port][q]
	shared, all = maxSize, maxSize
	if len(c.EgressPools) > 0 {
		shared = p.Limit.alone(c.EgressShared(p.Pool), c.cells(mtu))
		all = p.Reserved + shared
	}
	if p.Max != 0 {
		all = min(all, p.Max)
	}
	return min(shared, all), all
}

// alone is what the limit comes to for one user of a pool of which nobody else uses anything: it
// shrinks as the user fills the pool, alpha/(1+alpha) of it. The frame that was admitted last was
// judged by what was free before it.
func (l *Limit) alone(size, mtu unit.Bytes) unit.Bytes {
	if l.Den == 0 {
		return min(l.Static, size)
	}
	return min(size, unit.Bytes(l.Num)*(size+mtu)/unit.Bytes(l.Num+l.Den))
}

// Sure is how much one user is sure of while a pool has size for it: it is admitted up to there.
func (l *Limit) Sure(size unit.Bytes) unit.Bytes {
	if l.Den == 0 {
		return min(l.Static, size)
	}
	return unit.Bytes(l.Num) * size / unit.Bytes(l.Num+l.Den)
}

// cells is what a frame of n bytes takes.
func (c *Config) cells(n unit.Bytes) unit.Bytes {
	if c.Cell == 0 {
		return n
	}
	return (n + c.Cell - 1) / c.Cell * c.Cell
}
