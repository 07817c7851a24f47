package pipeline

import (
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/qos"
)

// Transmit returns the frame that the port sends next: a PFC frame before all others, because
// the headroom counts on it.
func (s *Switch) Transmit(now unit.Time, id dataplane.PortID) *frame.Frame {
	p := &s.ports[id]
	if !p.up {
		return nil
	}
	if p.tx.Pending(now) {
		if f := s.pause(now, p); f != nil {
			return f
		}
	}
	for {
		ready := p.backlog
		if paused := p.rx.Paused(now); paused != 0 {
			ready &^= p.stopped(paused)
		}
		if ready == 0 {
			return nil
		}
		if f := s.send(now, p, ready); f != nil {
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

// send takes the scheduler's choice out of the buffer; nil if WRED dropped it there.
func (s *Switch) send(now unit.Time, p *port, ready qos.QueueSet) *frame.Frame {
	to := p.sched.Pick(ready, &p.heads)
	q := &p.queues[to]
	f := s.dequeue(now, p, to)
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
	q.stats.Sent.Add(f.Len())
	if p.watch.dog.Stormed() != 0 {
		p.watch.countTX(to, pfc.Tally{OK: 1})
	}
	p.stats.sent[f.Meta.Class.TC].Add(f.Len())
	s.ledger.Sent.Add(f.Len())
	return f
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
