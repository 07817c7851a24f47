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
	ahead   pfc.Set // of classes, those that the driver was told
}

// poll lets the watchdog look, and does what it says.
func (s *Switch) poll(now unit.Time, p *port) {
	if now < p.watch.dog.NextWake() {
		return
	}
	sights := p.sights(now)
	storms, restored := p.watch.dog.Poll(now, &sights)
	if storms|restored != 0 {
		s.enforce(now, p)
	}
	s.foretell(now, p)
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

// foretell tells the driver in which classes it may drop what arrives on a port. A driver that does
// so sees frames before their time, by the delay of the link, and would lose those that arrive when
// the storm is just over. So it hears that a storm may end one poll ahead.
func (s *Switch) foretell(now unit.Time, p *port) {
	w := &p.watch
	if s.verdict == nil || w.classes|w.ahead == 0 {
		return
	}
	frames := p.rx.Counters(now).Frames
	if ahead := w.classes & w.dog.Lasting(&frames); ahead != w.ahead {
		w.ahead = ahead
		s.verdict(p.id, ahead)
	}
}

// SetVerdict has fn told in which classes data frames that arrive on a port may be dropped where
// they do, because the switch would drop them; they are accounted for by Filtered. It is exact if
// links are shorter than a watchdog's poll interval. fn runs on the driver's thread and must not
// call the switch; nil ends it.
func (s *Switch) SetVerdict(fn func(in dataplane.PortID, classes pfc.Set)) { s.verdict = fn }

// Verdict is what the function given to SetVerdict was told last of a port.
func (s *Switch) Verdict(in dataplane.PortID) pfc.Set { return s.ports[in].watch.ahead }

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
// said so: they were received, and dropped, as if the switch had done it. Call it when they arrive.
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

func (s *Switch) tell(now unit.Time, p *port, n pfc.Priority, kind EventKind) {
	if s.notify != nil {
		s.notify(Event{At: now, Port: p.id, Kind: kind, Priority: n, Queue: p.watch.queues[n],
			Action: p.watch.dog.Action()})
	}
}
