package pfc

import (
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// Receiver holds back the priorities that the other end of a link has paused.
//
//	         frame with time > 0                    (again: the new time counts)
//	running ----------------------> paused until t
//	   ^                                 |
//	   +---------------------------------+
//	     t has passed, or frame with time 0
type Receiver struct {
	rate   unit.Rate
	obeyed Set

	paused   Set
	until    [wire.Priorities]unit.Time
	since    [wire.Priorities]unit.Time
	next     unit.Time // the earliest until, or Never
	counters ReceiverCounters
}

// ReceiverCounters is what a Receiver counted, by priority. Frames also counts priorities that
// are not obeyed, so that a storm on one is seen.
type ReceiverCounters struct {
	Frames      [wire.Priorities]uint64        // PFC frames with the class enabled
	Paused      [wire.Priorities]time.Duration // held back, up to now
	Transitions [wire.Priorities]uint64        // from paused to running
}

// NewReceiver returns the receiver of a link of this rate, which obeys the priorities in obeyed.
func NewReceiver(rate unit.Rate, obeyed Set) Receiver {
	return Receiver{rate: rate, obeyed: obeyed, next: unit.Never}
}

// Receive obeys a PFC frame. It returns the priorities that were held back and are not any more.
func (r *Receiver) Receive(now unit.Time, f *wire.PFC) (resumed Set) {
	resumed = r.expire(now)
	for enabled := Set(f.Enabled()); enabled != 0; enabled &= enabled - 1 {
		p := enabled.first()
		r.counters.Frames[p]++
		quanta := f.Quanta(uint8(p))
		switch {
		case !r.obeyed.Has(p):
		case quanta != 0:
			r.pause(now, p, now.Add(Duration(quanta, r.rate)))
		case r.paused.Has(p):
			r.resume(now, p)
			resumed = resumed.With(p)
		}
	}
	r.schedule()
	return resumed &^ r.paused
}

// Paused is the set of priorities that are held back at now. It changes nothing: what has ended
// is told by Wake.
func (r *Receiver) Paused(now unit.Time) Set {
	paused := r.paused
	if now >= r.next {
		for p := range r.paused.All() {
			if r.until[p] <= now {
				paused = paused.Without(p)
			}
		}
	}
	return paused
}

// NextWake is when the earliest pause ends.
func (r *Receiver) NextWake() unit.Time { return r.next }

// Wake ends the pauses whose time has passed and returns their priorities.
func (r *Receiver) Wake(now unit.Time) (resumed Set) {
	resumed = r.expire(now)
	r.schedule()
	return resumed
}

// Reset forgets all pauses, as when the link goes down. It returns what was held back.
func (r *Receiver) Reset(now unit.Time) (resumed Set) {
	resumed = r.expire(now) | r.paused
	for r.paused != 0 {
		r.resume(now, r.paused.first())
	}
	r.next = unit.Never
	return resumed
}

// Counters returns the counters, with the pauses that go on counted up to now.
func (r *Receiver) Counters(now unit.Time) ReceiverCounters {
	c := r.counters
	for s := r.paused; s != 0; s &= s - 1 {
		p := s.first()
		c.Paused[p] += min(now, r.until[p]).Sub(r.since[p])
	}
	return c
}

func (r *Receiver) pause(now unit.Time, p Priority, until unit.Time) {
	if !r.paused.Has(p) {
		r.paused = r.paused.With(p)
		r.since[p] = now
	}
	r.until[p] = until
}

func (r *Receiver) resume(at unit.Time, p Priority) {
	r.paused = r.paused.Without(p)
	r.counters.Paused[p] += at.Sub(r.since[p])
	r.counters.Transitions[p]++
}

// expire ends what has passed. A pause ends when its time is over, however late we are told.
func (r *Receiver) expire(now unit.Time) (resumed Set) {
	if now < r.next {
		return 0
	}
	for s := r.paused; s != 0; s &= s - 1 {
		if p := s.first(); r.until[p] <= now {
			r.resume(r.until[p], p)
			resumed = resumed.With(p)
		}
	}
	return resumed
}

func (r *Receiver) schedule() {
	r.next = unit.Never
	for s := r.paused; s != 0; s &= s - 1 {
		r.next = min(r.next, r.until[s.first()])
	}
}
