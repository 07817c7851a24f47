package mmu

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// Groups and Queues are how many of each a port has.
const (
	Groups = 8
	Queues = 8
)

// PG is an ingress priority group of a port, 0 to 7.
type PG uint8

// Queue is an egress queue of a port, 0 to 7.
type Queue uint8

// Config is the division of the buffer.
type Config struct {
	Pools       []Pool // ingress: PGs take from them
	EgressPools []Pool // queues take from them; without any, only Max limits a queue
	// Cell is the unit of the memory: a frame takes whole cells. Sizes and limits stay bytes, as
	// in SONiC. 0 is a memory of bytes.
	Cell   unit.Bytes
	Groups [][Groups]Profile      // by port
	Queues [][Queues]QueueProfile // by port; as many as Groups
}

// Pool is a part of the buffer that some PGs share, or some queues. SAI_BUFFER_POOL_ATTR_*.
type Pool struct {
	Name string
	Size unit.Bytes // of all parts: reserved, headroom and shared
	// SharedHeadroom is headroom that all PGs of an ingress pool share, each up to its own
	// Headroom: SAI_BUFFER_POOL_ATTR_XOFF_SIZE, SONiC BUFFER_POOL xoff. 0: every PG's Headroom is
	// set aside for it alone.
	SharedHeadroom unit.Bytes
}

// Profile is what a PG may store. SAI_BUFFER_PROFILE_ATTR_*.
type Profile struct {
	Pool     int        // index into Config.Pools
	Reserved unit.Bytes // its own, whatever others do
	Limit    Limit      // of its use of shared
	// Lossless PGs go to XOFF at the limit and store up to Headroom more; others drop.
	Lossless bool
	Headroom unit.Bytes // for what arrives until XOFF has taken effect: t_flight
	// Back to XON when shared use is at most XON, or at most the limit less XONOffset.
	XON       unit.Bytes
	XONOffset unit.Bytes // [DCQCN] section 4: two MTU
}

// Limit bounds the shared use of a PG: Static if Den is zero, else Num/Den of what is free.
type Limit struct {
	Num, Den int64 // alpha
	Static   unit.Bytes
}

// Alpha is the dynamic limit num/den times what is free.
func Alpha(num, den int64) Limit { return Limit{Num: num, Den: den} }

// QueueProfile is what a queue may store. SAI_BUFFER_PROFILE_ATTR_*. Reserved and Limit count only
// where there are egress pools. A frame that has no place there is dropped, lossless or not: SONiC
// sets a lossless queue's static limit to the size of the pool, so that the ingress decides alone.
type QueueProfile struct {
	Pool     int // index into Config.EgressPools; ignored while there are none
	Reserved unit.Bytes
	Limit    Limit      // of its use of shared
	Max      unit.Bytes // of all that it stores; 0 is no limit of its own
}

// allows reports whether use is within the limit: use <= Num*free/Den, without dividing.
func (l *Limit) allows(use, free unit.Bytes) bool {
	if l.Den == 0 {
		return use <= l.Static
	}
	return use*unit.Bytes(l.Den) <= unit.Bytes(l.Num)*free
}

// of is the limit in bytes, rounded down.
func (l *Limit) of(free unit.Bytes) unit.Bytes {
	if l.Den == 0 {
		return l.Static
	}
	return unit.Bytes(l.Num) * free / unit.Bytes(l.Den)
}

// maxSize and maxAlpha keep alpha times size within 63 bits; maxCell is well above any real one.
const (
	maxSize  = 1 << 40
	maxAlpha = 1 << 20
	maxCell  = 1 << 16
)

// Validate returns every fault.
func (c *Config) Validate() error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if len(c.Queues) != len(c.Groups) {
		add("queues of %d ports, groups of %d", len(c.Queues), len(c.Groups))
	}
	if c.Cell < 0 || c.Cell > maxCell {
		add("cell %v, want 0 to %d", c.Cell, maxCell)
	}
	for i := range c.Pools {
		faults = append(faults, c.Pools[i].validate("pool", i))
	}
	for i := range c.EgressPools {
		faults = append(faults, c.EgressPools[i].validate("egress pool", i))
		if c.EgressPools[i].SharedHeadroom != 0 {
			add("egress pool %d (%s): headroom at the egress", i, c.EgressPools[i].Name)
		}
	}
	names := make(map[string]bool)
	for _, p := range slices.Concat(c.Pools, c.EgressPools) {
		if names[p.Name] {
			add("two pools are called %q", p.Name)
		}
		names[p.Name] = true
	}
	for port := range c.Groups {
		for pg := range c.Groups[port] {
			if err := c.Groups[port][pg].validate(len(c.Pools)); err != nil {
				add("port %d group %d: %w", port, pg, err)
			}
		}
	}
	for port := range c.Queues {
		for q := range c.Queues[port] {
			if err := c.Queues[port][q].validate(len(c.EgressPools)); err != nil {
				add("port %d queue %d: %w", port, q, err)
			}
		}
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	return c.validateSums()
}

// validateSums holds what is set aside against the pools.
func (c *Config) validateSums() error {
	var faults []error
	for i, p := range c.Pools {
		if aside := c.setAside(i); aside > p.Size {
			faults = append(faults, fmt.Errorf("pool %d (%s): reserved and headroom take %v of %v",
				i, p.Name, aside, p.Size))
		}
	}
	for i, p := range c.EgressPools {
		if aside := c.setAsideEgress(i); aside > p.Size {
			faults = append(faults, fmt.Errorf("egress pool %d (%s): reserved takes %v of %v",
				i, p.Name, aside, p.Size))
		}
	}
	return errors.Join(faults...)
}

func (p *Pool) validate(kind string, index int) error {
	if p.Size <= 0 || p.Size > maxSize {
		return fmt.Errorf("%s %d (%s): size %v, want 1 to %d", kind, index, p.Name, p.Size,
			int64(maxSize))
	}
	if p.SharedHeadroom < 0 || p.SharedHeadroom > p.Size {
		return fmt.Errorf("%s %d (%s): shared headroom %v, want 0 to %v", kind, index, p.Name,
			p.SharedHeadroom, p.Size)
	}
	return nil
}

func (p *Profile) validate(pools int) error {
	switch {
	case p.Pool < 0 || p.Pool >= pools:
		return fmt.Errorf("pool %d of %d", p.Pool, pools)
	case min(p.Reserved, p.Headroom, p.XON, p.XONOffset) < 0:
		return errors.New("a negative size")
	case max(p.Reserved, p.Headroom, p.XON, p.XONOffset) > maxSize:
		return fmt.Errorf("a size above %d", int64(maxSize))
	case !p.Lossless && p.Headroom != 0:
		return errors.New("headroom in a lossy group")
	}
	return p.Limit.validate()
}

func (p *QueueProfile) validate(pools int) error {
	switch {
	case pools > 0 && (p.Pool < 0 || p.Pool >= pools):
		return fmt.Errorf("egress pool %d of %d", p.Pool, pools)
	case min(p.Reserved, p.Max) < 0:
		return errors.New("a negative size")
	case max(p.Reserved, p.Max) > maxSize:
		return fmt.Errorf("a size above %d", int64(maxSize))
	}
	return p.Limit.validate()
}

func (l *Limit) validate() error {
	switch {
	case l.Static < 0 || l.Static > maxSize:
		return fmt.Errorf("static limit %v, want 0 to %d", l.Static, int64(maxSize))
	case min(l.Num, l.Den) < 0 || max(l.Num, l.Den) > maxAlpha:
		return fmt.Errorf("alpha %d/%d, want parts from 0 to %d", l.Num, l.Den, maxAlpha)
	}
	return nil
}

// setAside is what of an ingress pool is not shared.
func (c *Config) setAside(pool int) unit.Bytes {
	sum := c.headroom(pool)
	for port := range c.Groups {
		for pg := range c.Groups[port] {
			if p := &c.Groups[port][pg]; p.Pool == pool {
				sum += p.Reserved
			}
		}
	}
	return sum
}

// headroom is what a pool has of it for all its groups together.
func (c *Config) headroom(pool int) (sum unit.Bytes) {
	if shared := c.Pools[pool].SharedHeadroom; shared != 0 {
		return shared
	}
	for port := range c.Groups {
		for pg := range c.Groups[port] {
			if p := &c.Groups[port][pg]; p.Pool == pool {
				sum += p.Headroom
			}
		}
	}
	return sum
}

// setAsideEgress is what of an egress pool is not shared.
func (c *Config) setAsideEgress(pool int) (sum unit.Bytes) {
	for port := range c.Queues {
		for q := range c.Queues[port] {
			if p := &c.Queues[port][q]; p.Pool == pool {
				sum += p.Reserved
			}
		}
	}
	return sum
}
