package pfc

import (
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// ReceiverConfig is the constant part of a Receiver.
type ReceiverConfig struct {
	Rate   unit.Rate // of the link
	Obeyed Set       // priorities that PFC frames hold back
	// Pause obeys PAUSE frames, which hold back all priorities. A link has either PAUSE or PFC:
	// Obeyed is empty then. IEEE 802.1Q-2022 36.1.1
	Pause bool
	// Delay is how long after its last bit a frame takes effect, XOFF and XON alike. The standard
	// only says what is too late (MaxResponse); the zero value, at once, is the fastest station
	// that it allows, and no claim about a device that nobody has measured. Headroom has to be
	// computed for the slowest.
	Delay time.Duration
}

// Receiver holds back the priorities that the other end of a link has paused.
//
//	         frame with time > 0                    (again: the new time counts)
//	running ----------------------> paused until t
//	   ^                                 |
//	   +---------------------------------+
//	     t has passed, frame with time 0, or the priority is ignored
//
// A frame takes its effect, and its time starts, when Delay has passed since it came.
type Receiver struct {
	cfg     ReceiverConfig
	orders  pipe // frames that came and have had no effect yet
	ignored Set

	paused   Set
	until    [wire.Priorities]unit.Time
	since    [wire.Priorities]unit.Time
	next     unit.Time // the earliest until or effect, or Never
	news     Set       // resumed, and not yet told
	counters ReceiverCounters
}

// ReceiverCounters is what a Receiver counted, by priority. Frames also counts priorities that
// are not obeyed, so that a storm on one is seen.
type ReceiverCounters struct {
	Frames      [wire.Priorities]uint64        // PFC frames with the class enabled
	Paused      [wire.Priorities]time.Duration // held back, up to now
	Transitions [wire.Priorities]uint64        // from paused to running
	Pause       uint64                         // PAUSE frames, obeyed or not
	// Recent is the length of the latest pause that has ended, RecentAt the time of its end.
	Recent   [wire.Priorities]time.Duration
	RecentAt [wire.Priorities]unit.Time
}

// NewReceiver returns the receiver of a link.
func NewReceiver(cfg ReceiverConfig) Receiver {
	return Receiver{cfg: cfg, orders: newPipe(cfg.Delay, cfg.Rate), next: unit.Never}
}

// Receive obeys a PFC frame whose last bit has come. It returns the priorities that were held
// back and are not any more. The upper octet of the class-enable vector, the times of classes that
// are not enabled, padding and addresses are not looked at. IEEE 802.1Q-2022 36.1.3
func (r *Receiver) Receive(now unit.Time, f *wire.PFC) (resumed Set) {
	o := order{enabled: Set(f.Enabled())}
	for s := o.enabled; s != 0; s &= s - 1 {
		p := s.first()
		r.counters.Frames[p]++
		o.quanta[p] = f.Quanta(uint8(p))
	}
	o.enabled &= r.cfg.Obeyed
	return r.obey(now, o)
}

// ReceivePause obeys a PAUSE frame whose last bit has come, if PAUSE is configured: it is as a PFC
// frame that enables every class. IEEE 802.3-2022 31B.3.3
func (r *Receiver) ReceivePause(now unit.Time, f *wire.Pause) (resumed Set) {
	r.counters.Pause++
	o := order{}
	if r.cfg.Pause {
		o.enabled = everyPriority
	}
	for p := range o.quanta {
		o.quanta[p] = f.Quanta()
	}
	return r.obey(now, o)
}

const everyPriority Set = 0xff

func (r *Receiver) obey(now unit.Time, o order) (resumed Set) {
	r.settle(now)
	switch {
	case o.enabled == 0:
	case r.cfg.Delay == 0:
		r.apply(now, &o)
	default:
		if r.orders.full() {
			// More came than the line can carry. The oldest acts early, so that none is forgotten.
			r.apply(now, r.orders.pop())
		}
		o.at = now.Add(r.cfg.Delay)
		r.orders.push(&o)
	}
	r.schedule()
	return r.tell()
}

// Paused is the set of priorities that are held back at now. What has ended is told by Wake.
func (r *Receiver) Paused(now unit.Time) Set {
	if now >= r.next {
		r.settle(now)
		r.schedule()
	}
	return r.paused
}

// Since is when the present pause of p began; only for priorities that are paused.
func (r *Receiver) Since(p Priority) unit.Time { return r.since[p] }

// NextWake is when the earliest pause ends or a frame takes effect; unit.Never if not at all. It
// is in the past as long as Wake has something to tell.
func (r *Receiver) NextWake() unit.Time {
	if r.news != 0 {
		return 0
	}
	return r.next
}

// Wake ends the pauses whose time has passed and returns the priorities that run again.
func (r *Receiver) Wake(now unit.Time) (resumed Set) {
	r.settle(now)
	r.schedule()
	return r.tell()
}

// Ignore lets the pauses of these priorities, and of no others, have no effect from now on. It
// returns what was held back and is not any more.
func (r *Receiver) Ignore(now unit.Time, priorities Set) (resumed Set) {
	r.settle(now)
	r.ignored = priorities
	for s := r.paused & priorities; s != 0; s &= s - 1 {
		r.resume(now, s.first())
	}
	r.schedule()
	return r.tell()
}

// Reset forgets all pauses, as when the link goes down. It returns what was held back.
func (r *Receiver) Reset(now unit.Time) (resumed Set) {
	r.settle(now)
	r.orders.clear()
	for r.paused != 0 {
		r.resume(now, r.paused.first())
	}
	r.next = unit.Never
	return r.tell()
}

// Counters returns the counters, with the pauses that go on counted up to now.
func (r *Receiver) Counters(now unit.Time) ReceiverCounters {
	r.Paused(now)
	c := r.counters
	for s := r.paused; s != 0; s &= s - 1 {
		p := s.first()
		c.Paused[p] += now.Sub(r.since[p])
	}
	return c
}

// settle does what was due up to now, in order of time, however late we are told.
func (r *Receiver) settle(now unit.Time) {
	for r.next <= now {
		if o := r.orders.head(); o != nil && o.at <= now {
			r.expire(o.at)
			r.apply(o.at, r.orders.pop())
		} else {
			r.expire(now)
		}
		r.schedule()
	}
}

// expire ends the pauses that have passed, at the time when they did.
func (r *Receiver) expire(now unit.Time) {
	for s := r.paused; s != 0; s &= s - 1 {
		if p := s.first(); r.until[p] <= now {
			r.resume(r.until[p], p)
		}
	}
}

func (r *Receiver) apply(at unit.Time, o *order) {
	for s := o.enabled &^ r.ignored; s != 0; s &= s - 1 {
		p := s.first()
		switch quanta := o.quanta[p]; {
		case quanta != 0:
			r.pause(at, p, at.Add(Duration(quanta, r.cfg.Rate)))
		case r.paused.Has(p):
			r.resume(at, p)
		}
	}
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
	lasted := at.Sub(r.since[p])
	r.counters.Paused[p] += lasted
	r.counters.Recent[p], r.counters.RecentAt[p] = lasted, at
	r.counters.Transitions[p]++
	r.news = r.news.With(p)
}

// tell returns what was resumed since it was asked last and has not been paused again.
func (r *Receiver) tell() (resumed Set) {
	resumed, r.news = r.news&^r.paused, 0
	return resumed
}

func (r *Receiver) schedule() {
	r.next = unit.Never
	if o := r.orders.head(); o != nil {
		r.next = o.at
	}
	for s := r.paused; s != 0; s &= s - 1 {
		r.next = min(r.next, r.until[s.first()])
	}
}
