package check

import (
	"fmt"
	"slices"

	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/pipeline"
	"github.com/rocelab/rocelab/switchd/thresholds"
)

// The checks of the buffer: can it hold what a lossless class sends?

// each calls fn for every port of every switch.
func (f *Fabric) each(fn func(s *Switch, i int, p *pipeline.Port)) {
	for _, s := range f.Switches {
		for i := range s.Machine.Ports {
			fn(s, i, &s.Machine.Ports[i])
		}
	}
}

// place is a port, and a group or queue of it.
func (s *Switch) place(p *pipeline.Port, what string, n int) string {
	return fmt.Sprintf("%s:%s %s %d", s.Name, p.Name, what, n)
}

// groups calls fn for every lossless group of every port, in order.
func (f *Fabric) groups(fn func(s *Switch, i int, p *pipeline.Port, g int)) {
	f.each(func(s *Switch, i int, p *pipeline.Port) {
		paused := lossless(p)
		for g := range mmu.Groups {
			if _, ok := paused[g]; ok && p.Groups[g].Lossless {
				fn(s, i, p, g)
			}
		}
	})
}

// headroom compares each group's with what can still arrive: on one of our links exactly, on a
// real one by SONiC's formula, if its cable is known.
func headroom(f *Fabric, w *warnings) {
	f.groups(func(s *Switch, i int, p *pipeline.Port, g int) {
		l := &s.Links[i]
		have, at := p.Groups[g].Headroom, s.place(p, "group", g)
		switch {
		case l.Delay > 0:
			need := thresholds.ForPort(p, link.Config{Rate: p.Rate, Delay: l.Delay},
				thresholds.Traffic{Frame: l.frame(), Reverse: l.frame(), Reaction: l.Peer.React,
					Cell: s.Machine.Cell})
			w.unless(have >= need, at, "headroom %d < %d bytes that still arrive at %v over %v, "+
				"peer reacts in %v, frames of %d", have, need, p.Rate, l.Delay, l.Peer.React,
				l.frame())
		case l.Cable > 0:
			frame := unit.Bytes(l.MTU)
			real := thresholds.Hardware{Rate: p.Rate, Cable: l.Cable, MTU: frame, Lossless: frame}
			need := real.XOFF()
			w.unless(have >= need, at, "headroom %d < %d bytes that still arrive at %v over %d m, "+
				"MTU %d (SONiC's formula, without cells)", have, need, p.Rate, l.Cable, l.MTU)
		}
	})
}

// pools calls fn with the sums of what is set aside in each ingress pool.
func (f *Fabric) pools(fn func(s *Switch, p *mmu.Pool, reserved, headroom unit.Bytes)) {
	for _, s := range f.Switches {
		for i := range s.Machine.Pools {
			reserved, headroom := s.aside(i)
			fn(s, &s.Machine.Pools[i], reserved, headroom)
		}
	}
}

// aside is what the groups of a pool have reserved, and their headroom.
func (s *Switch) aside(pool int) (reserved, headroom unit.Bytes) {
	for i := range s.Machine.Ports {
		for _, g := range s.Machine.Ports[i].Groups {
			if g.Pool == pool {
				reserved += g.Reserved
				headroom += g.Headroom
			}
		}
	}
	return reserved, headroom
}

func poolDivision(f *Fabric, w *warnings) {
	f.pools(func(s *Switch, p *mmu.Pool, reserved, headroom unit.Bytes) {
		kind := "headroom"
		if p.SharedHeadroom > 0 {
			kind, headroom = "shared headroom", p.SharedHeadroom
		}
		w.unless(reserved+headroom <= p.Size, s.Name+" pool "+p.Name,
			"reserved %d + %s %d > size %d", reserved, kind, headroom, p.Size)
	})
}

func sharedHeadroom(f *Fabric, w *warnings) {
	f.pools(func(s *Switch, p *mmu.Pool, _, headroom unit.Bytes) {
		w.unless(p.SharedHeadroom == 0 || headroom <= p.SharedHeadroom, s.Name+" pool "+p.Name,
			"headroom of all groups %d > shared headroom pool %d: it drops if all go to XOFF "+
				"at once",
			headroom, p.SharedHeadroom)
	})
}

// egressLimit finds lossless queues whose own limit drops before their groups have gone to XOFF:
// an egress has no headroom.
func egressLimit(f *Fabric, w *warnings) {
	f.each(func(s *Switch, _ int, p *pipeline.Port) {
		for _, q := range losslessQueues(p) {
			most := s.mostLossless(p)
			b, at := &p.Queues[q].Buffer, s.place(p, "queue", q)
			w.unless(b.Max == 0 || b.Max >= most, at, "max_size %d < %d that the ingress may store",
				b.Max, most)
			if len(s.Machine.EgressPools) == 0 {
				continue
			}
			pool := &s.Machine.EgressPools[b.Pool]
			w.unless(pool.Size >= most, at, "egress pool %s of %d < %d that the ingress may store",
				pool.Name, pool.Size, most)
			w.unless(b.Limit.Den == 0, at, "dynamic limit %d/%d of egress pool %s: it drops when "+
				"others fill the pool, before the ingress pauses", b.Limit.Num, b.Limit.Den,
				pool.Name)
			w.unless(b.Limit.Den != 0 || b.Reserved+b.Limit.Static >= most, at,
				"reserved %d + static_th %d < %d that the ingress may store", b.Reserved,
				b.Limit.Static, most)
		}
	})
}

// losslessQueues are the queues of the lossless classes of a port.
func losslessQueues(p *pipeline.Port) (queues []int) {
	for tc := range uint8(8) {
		if q := int(p.Map.Queue[tc]); isLossless(p, tc) && !slices.Contains(queues, q) {
			queues = append(queues, q)
		}
	}
	slices.Sort(queues)
	return queues
}

// mostLossless is the size of the largest ingress pool that lossless groups take from.
func (s *Switch) mostLossless(p *pipeline.Port) (most unit.Bytes) {
	for g := range lossless(p) {
		if pool := p.Groups[g].Pool; p.Groups[g].Lossless && pool < len(s.Machine.Pools) {
			most = max(most, s.Machine.Pools[pool].Size)
		}
	}
	return most
}

// frames compares the pool of frames with what a full buffer is of the shortest: without a frame
// the emulator loses what the switch would store.
func frames(f *Fabric, w *warnings) {
	for _, s := range f.Switches {
		var most unit.Bytes
		for i := range s.Machine.Ports {
			most = max(most, s.mostLossless(&s.Machine.Ports[i]))
		}
		shortest := max(s.Machine.Cell, wire.MinFrame)
		need, have := most/shortest, unit.Bytes(s.Config.Frames)
		w.unless(have == 0 || have >= need, s.Name, "frames %d < %d: buffer %d in frames of %d",
			have, need, most, shortest)
	}
}

func watchdog(f *Fabric, w *warnings) {
	f.each(func(s *Switch, _ int, p *pipeline.Port) {
		c, at := &p.Watchdog, s.Name+":"+p.Name
		w.unless(c.Action == pfc.Off || c.Detection >= c.Poll, at,
			"detection_time %v < poll interval %v", c.Detection, c.Poll)
		w.unless(c.Action == pfc.Off || c.Restoration >= c.Poll, at,
			"restoration_time %v < poll interval %v", c.Restoration, c.Poll)
		refresh := pfc.Duration(wire.MaxQuanta, p.Rate) / 2
		w.unless(c.Action == pfc.Off || c.Rule != pfc.RulePaused || c.Poll >= refresh, at,
			"poll interval %v < %v, after which a pause of %d quanta is usually refreshed: polls "+
				"without a PFC frame end the detection", c.Poll, refresh, wire.MaxQuanta)
	})
}

// machine tells what nothing above has named.
func machine(f *Fabric, w *warnings) {
	for _, s := range f.Switches {
		if err := s.Machine.Validate(); err != nil {
			w.unless(false, s.Name, "%v", err)
		}
	}
}
