package pipeline

import (
	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/qos"
)

// watch is a port's watchdog and what its verdicts come to.
type watch struct {
	dog    pfc.Watchdog
	queues [wire.Priorities]mmu.Queue // that each priority stops
	// classes from this port, and queues of this port, whose frames are dropped.
	classes pfc.Set
	drain   qos.QueueSet
}

// poll lets the watchdog look, and does what it says.
func (s *Switch) poll(now unit.Time, p *port) {
	if now < p.watch.dog.NextWake() {
		return
	}
	sights := p.sights(now)
	storms, restored := p.watch.dog.Poll(now, &sights)
	if storms|restored == 0 {
		return
	}
	s.enforce(now, p)
	for n := range storms.All() {
		s.tell(now, p, n, EventStorm)
	}
	for n := range restored.All() {
		s.tell(now, p, n, EventRestored)
	}
}

// sights is what the watchdog sees. A group of the other end's that is in XOFF for good keeps its
// pause frames coming, and the queue that they stop from sending.
func (p *port) sights(now unit.Time) (sights [wire.Priorities]pfc.Sight) {
	rx, paused := p.rx.Counters(now), p.rx.Paused(now)
	for n := range sights {
		q := p.watch.queues[n]
		sights[n] = pfc.Sight{Frames: rx.Frames[n], Transitions: rx.Transitions[n],
			Paused: paused.Has(pfc.Priority(n)), Backlog: p.backlog.Has(q),
			Sent: p.queues[q].stats.Sent.Frames}
	}
	return sights
}

// enforce puts the verdicts into force. In a storm that is acted on, the priority is not lossless
// on this port: its pauses are ignored and none are sent. What a storm has stopped is let go, or
// dropped, so that the groups it fills empty and the port's neighbours run again.
// [RDMA at scale] section 4.3; SONiC: pfcactionhandler.cpp
func (s *Switch) enforce(now unit.Time, p *port) {
	w := &p.watch
	stormed := w.dog.Stormed()
	if w.dog.Action() == pfc.Alert {
		return
	}
	p.rx.Ignore(now, stormed)
	p.tx.Silence(stormed)
	s.ready.Add(p.id)
	s.arm(p.rx.NextWake())
	if w.dog.Action() != pfc.Drop {
		return
	}
	w.classes, w.drain = stormed, p.stopped(stormed)
	for q := range mmu.Queue(mmu.Queues) {
		for w.drain.Has(q) && p.backlog.Has(q) {
			f := s.dequeue(now, p, q)
			p.sched.Gone(q, p.backlog.Has(q))
			s.refuseStormed(p, q, f)
		}
	}
	s.flowControl(now)
}

// refuseStormed drops a frame for a queue that a storm has stopped.
func (s *Switch) refuseStormed(p *port, q mmu.Queue, f *frame.Frame) {
	p.watch.countTX(q, pfc.Tally{Dropped: 1})
	s.refuse(p, &p.queues[q], f, frame.DropWatchdog)
}

// countTX counts what became of a frame of a queue, for each stormed priority that stops it.
func (w *watch) countTX(q mmu.Queue, t pfc.Tally) {
	for n := range w.dog.Stormed().All() {
		if w.queues[n] == q {
			w.dog.CountTX(n, t)
		}
	}
}

// guard drops data from a port in a class that is stormed there, and counts what it lets in.
func (s *Switch) guard(_ unit.Time, p *port, f *frame.Frame) verdict {
	n := pfc.Priority(f.Meta.Class.TC)
	if p.watch.classes.Has(n) {
		p.watch.dog.CountRX(n, pfc.Tally{Dropped: 1})
		return verdict{why: frame.DropWatchdog}
	}
	if p.watch.dog.Stormed().Has(n) {
		p.watch.dog.CountRX(n, pfc.Tally{OK: 1})
	}
	return verdict{do: next}
}

// Filtered counts data frames of a class that the driver dropped on arrival because the watchdog
// said so: they were received, and dropped, as if the switch had done it.
func (s *Switch) Filtered(in dataplane.PortID, class uint8, n dataplane.Count) {
	p := &s.ports[in]
	class &= classify.Classes - 1
	p.stats.received[class].Frames += n.Frames
	p.stats.received[class].Bytes += n.Bytes
	p.stats.dropped[class][frame.DropWatchdog] += n.Frames
	lost := &s.ledger.Dropped[frame.DropWatchdog]
	for _, c := range []*dataplane.Count{&s.ledger.Received, lost} {
		c.Frames += n.Frames
		c.Bytes += n.Bytes
	}
	p.watch.dog.CountRX(pfc.Priority(class), pfc.Tally{Dropped: n.Frames})
}

// StormedClasses is the classes of a port whose data frames a driver may drop on arrival.
func (s *Switch) StormedClasses(in dataplane.PortID) pfc.Set { return s.ports[in].watch.classes }

func (s *Switch) tell(now unit.Time, p *port, n pfc.Priority, kind EventKind) {
	if s.notify != nil {
		s.notify(Event{At: now, Port: p.id, Kind: kind, Priority: n, Queue: p.watch.queues[n],
			Action: p.watch.dog.Action()})
	}
}
