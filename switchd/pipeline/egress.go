package pipeline

import (
	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/qos"
)

// flood sends f to every port of the bridge but the one it came from, in a class that is not
// lossless.
func (s *Switch) flood(now unit.Time, p *port, f *frame.Frame) verdict {
	if c := &f.Meta.Class; p.lossless[c.TC] {
		c.TC = s.floodClass
	}
	return s.floodTo(now, p, f, s.macs.Flood())
}

// floodTo sends copies of f to every port of a set that is up, but not back, and f itself to the
// last of them.
func (s *Switch) floodTo(now unit.Time, p *port, f *frame.Frame, set *dataplane.PortSet) verdict {
	var last *port
	for id, ok := set.Next(0); ok; id, ok = set.Next(id + 1) {
		out := &s.ports[id]
		if out == p || !out.up || p.isolatedFrom(out) {
			continue
		}
		if last != nil {
			s.copyTo(now, p, last, f)
		}
		last = out
	}
	if last == nil {
		return verdict{why: frame.DropNoRoute}
	}
	s.enqueue(now, p, last, f)
	return verdict{do: done}
}

// isolatedFrom reports whether nothing that came in on p may be bridged to out. SAI:
// SAI_ISOLATION_GROUP_TYPE_BRIDGE_PORT, each member of a group being bound to that group.
func (p *port) isolatedFrom(out *port) bool { return p.isolated != 0 && p.isolated == out.isolated }

// copyTo sends a copy of f to out. A copy for which there is no frame is counted like one that
// was made and lost.
func (s *Switch) copyTo(now unit.Time, p, out *port, f *frame.Frame) {
	if dup := s.make(p, f.Meta.Class.TC, f.Bytes()); dup != nil {
		dup.Meta = f.Meta
		s.enqueue(now, p, out, dup)
	}
}

// make returns a frame with these bytes; nil if there is none, which is counted under p like one
// that was made and lost.
func (s *Switch) make(p *port, tc uint8, b []byte) *frame.Frame {
	n := unit.Bytes(len(b))
	s.ledger.Generated.Add(n)
	f := s.frames.Get()
	if f != nil && f.Set(b) {
		return f
	}
	s.ledger.Dropped[frame.DropNoFrame].Add(n)
	p.stats.dropped[tc][frame.DropNoFrame]++
	if f != nil {
		f.Release()
	}
	return nil
}

// enqueue stores f for out if WRED and the buffer let it, and marks it on the way.
func (s *Switch) enqueue(now unit.Time, p, out *port, f *frame.Frame) {
	m := &f.Meta
	group, to := p.qmap.Group[m.Class.TC], out.qmap.Queue[m.Class.TC]
	m.Port, m.Out, m.Queue, m.PG = p.id, out.id, uint8(to), uint8(group)
	q := &out.queues[to]
	if !out.up {
		s.refuse(out, q, f, frame.DropLinkDown)
		return
	}
	if f.Len() > out.longest {
		s.refuse(out, q, f, frame.DropOversize)
		return
	}
	if out.watch.drain.Has(to) {
		s.refuseStormed(out, to, f)
		return
	}
	judged := qos.Pass
	if q.wred.At == qos.AtEnqueue {
		judged = q.wred.Judge(s.buffer.QueueBytes(out.id, to), m.Class.ECN, s.rng)
	}
	if judged == qos.Drop {
		s.refuse(out, q, f, frame.DropWRED)
		return
	}
	n := charge(f)
	why := s.buffer.Admit(where(p.id, group, out.id, to), n)
	s.flowControl(now)
	if why != frame.NoReason {
		lost := p // by the ingress's limits
		if why == frame.DropQueueFull || why == frame.DropEgressBuffer {
			lost = out
		}
		s.refuse(lost, q, f, why)
		return
	}
	if judged == qos.Mark {
		q.mark(f)
	}
	s.ledger.Buffered.Add(f.Len())
	if !out.backlog.Has(to) {
		out.backlog = out.backlog.With(to)
		out.heads[to] = f.Len()
		s.ready.Add(out.id)
	}
	q.frames.Push(f)
	stored := s.buffer.QueueBytes(out.id, to)
	q.length.Set(now, stored)
	if q.qcn != nil {
		s.sample(p, q.qcn, f, stored)
	}
}

// refuse drops a frame that was meant for a queue.
func (s *Switch) refuse(p *port, q *queue, f *frame.Frame, why frame.Reason) {
	q.stats.Dropped[why]++
	q.stats.DroppedBytes[why] += uint64(f.Len())
	s.drop(p, f, why)
}

// dequeue takes the first frame out of a queue and out of the buffer. The caller then sees to
// flow control, and tells the scheduler.
func (s *Switch) dequeue(now unit.Time, p *port, to mmu.Queue) *frame.Frame {
	q := &p.queues[to]
	f := q.frames.Pop()
	s.buffer.Release(where(f.Meta.Port, mmu.PG(f.Meta.PG), p.id, to), charge(f))
	s.ledger.Buffered.Sub(f.Len())
	head := q.frames.Head()
	if head == nil {
		p.backlog = p.backlog.Without(to)
	} else {
		p.heads[to] = head.Len()
	}
	q.length.Set(now, s.buffer.QueueBytes(p.id, to))
	return f
}

func where(in dataplane.PortID, g mmu.PG, out dataplane.PortID, q mmu.Queue) mmu.Where {
	return mmu.Where{In: in, Group: g, Out: out, Queue: q}
}

// mark sets the congestion experienced codepoint.
func (q *queue) mark(f *frame.Frame) {
	c := &f.Meta.Class
	network := f.Head()[c.L3Off:]
	switch c.Kind {
	case frame.IPv4, frame.RoCE4:
		ip, ok := wire.AsIPv4(network)
		if !ok {
			return
		}
		ip.SetECN(frame.CE)
	case frame.IPv6, frame.RoCE6:
		ip, ok := wire.AsIPv6(network)
		if !ok {
			return
		}
		ip.SetECN(frame.CE)
	default:
		return
	}
	c.ECN = frame.CE
	q.stats.Marked.Add(f.Len())
}
