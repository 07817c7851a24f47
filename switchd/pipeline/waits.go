package pipeline

import (
	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/deadlock"
	"github.com/rocelab/rocelab/switchd/mmu"
)

// Wait says that a priority group in XOFF waits for an egress queue: what the group pauses cannot
// go on before the queue has sent what it holds of the group. Where the queue is paused itself,
// the wait is a link of a chain that may close to a deadlock; the other links are in other
// switches, and package deadlock joins them.
type Wait struct {
	In     dataplane.PortID // the ingress, which pauses its peer
	Group  mmu.PG
	Pauses pfc.Set   // priorities that the group pauses
	Since  unit.Time // when the peer was told

	Out      dataplane.PortID // the egress, which holds frames of the group
	Queue    mmu.Queue
	Frames   int // of the group in the queue
	Bytes    unit.Bytes
	PausedBy pfc.Set   // priorities of Out's peer that stop the queue; 0 if it can send
	OutSince unit.Time // since when the queue is stopped; unit.Never if it is not
}

// Waits returns the waits of the switch at now, by egress port and queue, then by ingress. It looks
// at every stored frame and allocates: it is for an operator's question, not for the data path.
func (s *Switch) Waits(now unit.Time) (all []Wait) {
	for i := range s.ports {
		p := &s.ports[i]
		for q := range mmu.Queue(mmu.Queues) {
			if p.backlog.Has(q) {
				all = s.waitsFor(now, p, q, all)
			}
		}
	}
	return all
}

// waitsFor appends the waits for one queue, one for each group in XOFF that has frames in it.
func (s *Switch) waitsFor(now unit.Time, p *port, q mmu.Queue, all []Wait) []Wait {
	held := make([]Wait, len(s.ports)*mmu.Groups)
	p.queues[q].frames.Each(func(f *frame.Frame) {
		w := &held[int(f.Meta.Port)*mmu.Groups+int(f.Meta.PG)]
		w.Frames++
		w.Bytes += charge(f)
	})
	by, since := p.stoppedBy(now, q)
	for i := range held {
		w := &held[i]
		in, group := dataplane.PortID(i/mmu.Groups), mmu.PG(i%mmu.Groups)
		told := s.ports[in].pauses[group] & s.ports[in].tx.Announced()
		if w.Frames == 0 || told == 0 || !s.buffer.Group(in, group).XOFF {
			continue
		}
		w.In, w.Group, w.Pauses, w.Since = in, group, told, unit.Never
		for n := range told.All() {
			w.Since = min(w.Since, s.ports[in].tx.Since(n))
		}
		w.Out, w.Queue, w.PausedBy, w.OutSince = p.id, q, by, since
		all = append(all, *w)
	}
	return all
}

// stoppedBy is the priorities whose pause stops a queue, and since when one of them does.
func (p *port) stoppedBy(now unit.Time, q mmu.Queue) (by pfc.Set, since unit.Time) {
	since = unit.Never
	for n := range p.rx.Paused(now).All() {
		if p.stops[n].Has(q) {
			by, since = by.With(n), min(since, p.rx.Since(n))
		}
	}
	return by, since
}

// Named is the wait with the names of its ports, as package deadlock joins it.
func (w *Wait) Named(name func(dataplane.PortID) string) deadlock.Wait {
	out := deadlock.Wait{In: name(w.In), Group: int(w.Group), Pauses: numbers(w.Pauses),
		SinceNs: int64(w.Since), Out: name(w.Out), Queue: int(w.Queue), Frames: w.Frames,
		Bytes: int64(w.Bytes), PausedBy: numbers(w.PausedBy)}
	if w.PausedBy != 0 {
		out.OutSinceNs = int64(w.OutSince)
	}
	return out
}

func numbers(s pfc.Set) []int {
	list := []int{}
	for n := range s.All() {
		list = append(list, int(n))
	}
	return list
}

// PortName is the configured name of a port.
func (s *Switch) PortName(id dataplane.PortID) string { return s.ports[id].name }
