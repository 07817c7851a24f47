package pipeline

import (
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/qos"
)

// Transmit returns the frame that the port sends next.
func (s *Switch) Transmit(now unit.Time, id dataplane.PortID) *frame.Frame {
	p := &s.ports[id]
	if !p.up {
		return nil
	}
	f := s.transmit(now, p)
	if f != nil && (p.backlog != 0 || p.cnms.Len() > 0 || p.tx.Pending(now)) {
		s.ready.Add(id)
	}
	return f
}

// transmit takes a PFC frame before all others, because the headroom counts on it, then a CNM.
func (s *Switch) transmit(now unit.Time, p *port) *frame.Frame {
	if p.tx.Pending(now) {
		if f := s.pause(now, p); f != nil {
			return f
		}
	}
	if p.cnms.Len() > 0 {
		if f := s.sendCNM(now, p); f != nil {
			return f
		}
	}
	for {
		ready := p.backlog
		if paused := p.rx.Paused(now); paused != 0 {
			ready &^= p.stopped(paused)
		}
		var below qos.QueueSet
		if p.shaper != nil {
			ready, below = s.shape(now, p, ready)
		}
		if ready == 0 {
			return nil
		}
		if f := s.send(now, p, ready, below); f != nil {
			return f
		}
	}
}

// pauseRetry is when a PFC frame is tried again for which there was no frame.
const pauseRetry = time.Microsecond

// pause builds the pending PFC frame; nil if there is no frame for it.
func (s *Switch) pause(now unit.Time, p *port) *frame.Frame {
	f := s.pauses.Get()
	if f == nil {
		f = s.frames.Get()
	}
	if f == nil {
		s.arm(now.Add(pauseRetry))
		return nil
	}
	if !p.tx.Build(now, f) {
		f.Release()
		return nil
	}
	s.arm(p.tx.NextWake())
	s.ledger.Generated.Add(f.Len())
	s.ledger.Sent.Add(f.Len())
	p.stats.controlSent.Add(f.Len())
	return f
}

// shape leaves the queues of ready that their rates and the port's let send, and tells which have
// not had their minimum. If it leaves none, the port is woken when there is one.
func (s *Switch) shape(now unit.Time, p *port, ready qos.QueueSet) (allowed, below qos.QueueSet) {
	if ready == 0 {
		return 0, 0
	}
	allowed, from := p.shaper.Allowed(now, ready)
	if allowed == 0 {
		p.heldUntil = from
		s.arm(from)
	}
	return allowed, p.shaper.Below(now)
}

// send takes the scheduler's choice out of the buffer; nil if WRED dropped it there.
func (s *Switch) send(now unit.Time, p *port, ready, below qos.QueueSet) *frame.Frame {
	to := p.sched.Pick(ready, below, &p.heads)
	q := &p.queues[to]
	f := s.dequeue(now, p, to)
	if below.Has(to) {
		p.sched.Gone(to, p.backlog.Has(to))
	} else {
		p.sched.Sent(to, f.Len(), p.backlog.Has(to))
	}
	s.flowControl(now)
	if q.wred.At == qos.AtDequeue {
		switch q.wred.Judge(s.buffer.QueueBytes(p.id, to), f.Meta.Class.ECN, s.rng) {
		case qos.Drop:
			s.refuse(p, q, f, frame.DropWRED)
			return nil
		case qos.Mark:
			q.mark(f)
		}
	}
	if s.cfg.Telemetry.Queues.Has(to) {
		s.stamp(now, p, to, f)
	}
	if p.shaper != nil {
		p.meter(now, to, f, below.Has(to))
	}
	q.stats.Sent.Add(f.Len())
	if p.watch.dog.Stormed() != 0 {
		p.watch.countTX(to, pfc.Tally{OK: 1})
	}
	p.stats.sent[f.Meta.Class.TC].Add(f.Len())
	s.ledger.Sent.Add(f.Len())
	return f
}

// meter charges a frame to the rates of its queue and of the port.
func (p *port) meter(now unit.Time, from mmu.Queue, f *frame.Frame, below bool) {
	st := &p.queues[from].stats
	above := p.shaper.Sent(now, from, f.Len(), below)
	if below {
		st.Guaranteed.Add(f.Len())
	}
	if above && p.backlog.Has(from) {
		st.Shaped.Add(p.heads[from])
	}
}

// flowControl tells the generators which groups went to XOFF or came back: few frames change that.
func (s *Switch) flowControl(now unit.Time) {
	if s.buffer.Changed() {
		s.tellChanges(now)
	}
}

func (s *Switch) tellChanges(now unit.Time) {
	for {
		c, ok := s.buffer.NextChange()
		if !ok {
			return
		}
		p := &s.ports[c.Port]
		for tc := range p.pauses[c.Group].All() {
			if c.XOFF {
				p.tx.XOFF(tc)
			} else {
				p.tx.XON(tc)
			}
		}
		if p.tx.Pending(now) {
			s.ready.Add(c.Port)
		}
	}
}
