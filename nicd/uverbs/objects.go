package uverbs

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/shm"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/nicd/uverbs/abi"
	"github.com/rocelab/rocelab/roce/qp"
)

// more judges whether the program may have another object of a kind of which it has so many.
func (p *program) more(have int, what string) error {
	if most := p.server.cfg.Limits.Objects; have >= most {
		return fmt.Errorf("%w: %d %s", errLimit, most, what)
	}
	return nil
}

// missing is about a handle that the program does not have.
func missing(what string, h uint32) error {
	return fmt.Errorf("%w: no %s %d", errInvalid, what, h)
}

func (p *program) allocPD(none) (h abi.Handle, err error) {
	return h, p.do(func(unit.Time) error {
		if err := p.more(len(p.pds), "protection domains"); err != nil {
			return err
		}
		h.Handle = p.next()
		p.pds[h.Handle] = p.server.cfg.Host.NIC().AllocPD()
		return nil
	})
}

func (p *program) freePD(h abi.Handle) (none, error) {
	return none{}, p.do(func(unit.Time) error {
		pd, ok := p.pds[h.Handle]
		if !ok {
			return missing("protection domain", h.Handle)
		}
		if err := p.server.cfg.Host.NIC().FreePD(pd); err != nil {
			return err
		}
		delete(p.pds, h.Handle)
		return nil
	})
}

// register makes memory that the program and the NIC share.
func (p *program) register(r abi.Register) (any, []int, error) {
	if r.Size < 1 || r.Size > qp.MaxRegion {
		return nil, nil, fmt.Errorf("%w: memory of %d bytes, want 1 to %d", errInvalid, r.Size,
			qp.MaxRegion)
	}
	g := &region{charge: int64(shm.SegmentSize(r.Size))}
	if err := p.charge(g.charge); err != nil {
		return nil, nil, err
	}
	seg, fd, err := shm.NewSegment("verbs memory", r.Size)
	if err != nil {
		p.memory.Add(-g.charge)
		return nil, nil, err
	}
	g.seg = seg
	err = p.do(func(unit.Time) error {
		pd, ok := p.pds[r.PD]
		if !ok {
			return missing("protection domain", r.PD)
		}
		if err := p.more(len(p.regions), "memory regions"); err != nil {
			return err
		}
		g.mr, err = p.server.cfg.Host.NIC().RegisterMemory(pd, seg.Bytes(), r.Access)
		if err == nil {
			p.regions[g.mr.Key] = g
		}
		return err
	})
	if err != nil {
		p.memory.Add(-g.charge)
		unix.Close(fd)
		seg.Close()
		return nil, nil, err
	}
	return abi.Registered{VA: g.mr.VA, Key: g.mr.Key}, []int{fd}, nil
}

// deregister takes the key; nothing touches the memory once it has returned.
func (p *program) deregister(h abi.Handle) (none, error) {
	var g *region
	err := p.do(func(unit.Time) error {
		if g = p.regions[h.Handle]; g == nil {
			return missing("memory with key", h.Handle)
		}
		p.server.cfg.Host.NIC().DeregisterMR(g.mr)
		delete(p.regions, h.Handle)
		return nil
	})
	if err == nil {
		p.memory.Add(-g.charge)
		g.seg.Close()
	}
	return none{}, err
}

func (p *program) createSRQ(c abi.CreateSRQ) (h abi.Handle, err error) {
	if most := p.server.cfg.Limits.Depth; c.Depth < 1 || c.Depth > most {
		return h, fmt.Errorf("%w: depth %d is not in 1..%d", errInvalid, c.Depth, most)
	}
	q := &sharedQueue{program: p, charge: int64(c.Depth) * receiveBytes}
	if err := p.charge(q.charge); err != nil {
		return h, err
	}
	err = p.do(func(unit.Time) error {
		pd, ok := p.pds[c.PD]
		if !ok {
			return missing("protection domain", c.PD)
		}
		if err := p.more(len(p.srqs), "shared receive queues"); err != nil {
			return err
		}
		if q.srq, err = p.server.cfg.Host.NIC().CreateSRQ(pd, c.Depth); err != nil {
			return err
		}
		q.handle = p.next()
		h.Handle = q.handle
		p.srqs[q.handle], p.server.shared[q.srq] = q, q
		return nil
	})
	if err != nil {
		p.memory.Add(-q.charge)
	}
	return h, err
}

func (p *program) armSRQ(a abi.ArmSRQ) (none, error) {
	return none{}, p.do(func(unit.Time) error {
		q := p.srqs[a.Handle]
		if q == nil {
			return missing("shared receive queue", a.Handle)
		}
		p.server.cfg.Host.NIC().ArmSRQ(q.srq, a.Limit)
		return nil
	})
}

func (p *program) destroySRQ(h abi.Handle) (none, error) {
	return none{}, p.do(func(unit.Time) error {
		q := p.srqs[h.Handle]
		if q == nil {
			return missing("shared receive queue", h.Handle)
		}
		if err := p.server.cfg.Host.NIC().DestroySRQ(q.srq); err != nil {
			return err
		}
		delete(p.srqs, h.Handle)
		delete(p.server.shared, q.srq)
		p.memory.Add(-q.charge)
		return nil
	})
}

func (p *program) createAH(c abi.CreateAH) (h abi.Handle, err error) {
	path, err := p.path(c.Path)
	if err != nil {
		return h, err
	}
	return h, p.do(func(unit.Time) error {
		pd, ok := p.pds[c.PD]
		if !ok {
			return missing("protection domain", c.PD)
		}
		if err := p.more(len(p.ahs), "addresses"); err != nil {
			return err
		}
		ah, err := p.server.cfg.Host.NIC().CreateAH(pd, path)
		if err != nil {
			return err
		}
		h.Handle = p.next()
		p.ahs[h.Handle] = handle{ah: ah, pd: c.PD}
		return nil
	})
}

func (p *program) destroyAH(h abi.Handle) (none, error) {
	return none{}, p.do(func(unit.Time) error {
		a, ok := p.ahs[h.Handle]
		if !ok {
			return missing("address", h.Handle)
		}
		delete(p.ahs, h.Handle)
		return p.server.cfg.Host.NIC().DestroyAH(a.ah)
	})
}

// resolveTime is how long the way to a host may take to be found: the kernel asks a neighbour
// it does not know three times, a second apart, before it gives up (mcast_solicit of Linux
// Documentation/networking/ip-sysctl, retrans 1000 ms of `ip ntable show`), and we a second more.
const resolveTime = 4 * time.Second

// path completes what the program said about the way to a host.
func (p *program) path(a abi.Path) (nic.Path, error) {
	way := nic.Path{Source: a.Source, IP: a.IP.Unmap(), MAC: a.MAC, VLAN: a.VLAN, DSCP: a.DSCP}
	if !way.IP.IsValid() {
		return way, fmt.Errorf("%w: no address", errInvalid)
	}
	if a.MAC != (wire.MAC{}) {
		return way, nil
	}
	if p.server.cfg.Resolve == nil {
		return way, fmt.Errorf("%w to %v: this daemon resolves no addresses", errPath, way.IP)
	}
	ctx, cancel := context.WithTimeout(p.ctx, resolveTime)
	defer cancel()
	found, err := p.server.cfg.Resolve(ctx, way.IP, way.Source)
	if err != nil {
		return way, fmt.Errorf("%w to %v: %w", errPath, way.IP, err)
	}
	way.MAC, way.VLAN, way.Resolved = found.MAC, found.VLAN, found.Resolved
	if !way.Source.IsValid() {
		way.Source = found.Source
	}
	return way, nil
}
