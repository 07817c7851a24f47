package mmu

import (
	"errors"
	"fmt"

	"github.com/rocelab/rocelab/dataplane/frame"
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
	Pools  []Pool
	Groups [][Groups]Profile      // by port
	Queues [][Queues]QueueProfile // by port; as many as Groups
}

// Pool is a part of the buffer that some PGs share.
type Pool struct {
	Name string
	Size unit.Bytes
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

// QueueProfile is what a queue may store.
type QueueProfile struct {
	Max unit.Bytes // 0 is no limit of its own
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

// maxSize and maxAlpha keep alpha times size within 63 bits.
const (
	maxSize  = 1 << 40
	maxAlpha = 1 << 20
)

// Validate returns every fault.
func (c *Config) Validate() error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if len(c.Queues) != len(c.Groups) {
		add("queues of %d ports, groups of %d", len(c.Queues), len(c.Groups))
	}
	for i, p := range c.Pools {
		if p.Size <= 0 || p.Size > maxSize {
			add("pool %d (%s): size %v, want 1 to %d", i, p.Name, p.Size, int64(maxSize))
		}
	}
	for port := range c.Groups {
		for pg := range c.Groups[port] {
			if err := c.Groups[port][pg].validate(len(c.Pools)); err != nil {
				add("port %d group %d: %w", port, pg, err)
			}
		}
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	for i, p := range c.Pools {
		if aside := c.setAside(i); aside > p.Size {
			add("pool %d (%s): reserved and headroom take %v of %v", i, p.Name, aside, p.Size)
		}
	}
	return errors.Join(faults...)
}

func (p *Profile) validate(pools int) error {
	switch {
	case p.Pool < 0 || p.Pool >= pools:
		return fmt.Errorf("pool %d of %d", p.Pool, pools)
	case min(p.Reserved, p.Headroom, p.XON, p.XONOffset, p.Limit.Static) < 0:
		return errors.New("a negative size")
	case max(p.Reserved, p.Headroom, p.XON, p.XONOffset, p.Limit.Static) > maxSize:
		return fmt.Errorf("a size above %d", int64(maxSize))
	case min(p.Limit.Num, p.Limit.Den) < 0 || max(p.Limit.Num, p.Limit.Den) > maxAlpha:
		return fmt.Errorf("alpha %d/%d, want parts from 0 to %d",
			p.Limit.Num, p.Limit.Den, maxAlpha)
	case !p.Lossless && p.Headroom != 0:
		return errors.New("headroom in a lossy group")
	}
	return nil
}

// setAside is what of a pool is nobody else's.
func (c *Config) setAside(pool int) (sum unit.Bytes) {
	for port := range c.Groups {
		for pg := range c.Groups[port] {
			if p := &c.Groups[port][pg]; p.Pool == pool {
				sum += p.Reserved + p.Headroom
			}
		}
	}
	return sum
}

// Where names the two places a stored frame is charged to.
type Where struct {
	In    frame.PortID
	Group PG
	Out   frame.PortID
	Queue Queue
}
