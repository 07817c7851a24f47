package ratelimit

import "github.com/rocelab/rocelab/dataplane/unit"

// Priorities is the number of priorities a pacer serves, IEEE 802.1Q's.
const Priorities = 8

// Flow is one paced sender. Init it before use; it must not be copied afterwards.
type Flow struct {
	Bucket Bucket
	Owner  uint32 // for whoever gets it from Next

	timer TimerID

	priority   uint8
	state      flowState
	next, prev *Flow
}

type flowState uint8

const (
	idle flowState = iota
	waiting
	ready
)

// Init sets what does not change: who the flow is, its timer in the pacer's wheel, its priority.
func (f *Flow) Init(now unit.Time, owner uint32, timer TimerID, priority uint8, r unit.Rate,
	burst unit.Bytes) {
	*f = Flow{Bucket: NewBucket(now, r, burst), Owner: owner, timer: timer, priority: priority}
}

// Active reports whether the flow waits or is ready.
func (f *Flow) Active() bool { return f.state != idle }

// Pacer puts flows that have something to send into the order in which they may. It shares its
// wheel with other users, who hand it back the timers of its flows.
type Pacer struct {
	wheel *Wheel
	rings [Priorities]ring
	mask  uint8 // priorities with a ready flow
	turn  uint8 // the priority asked first
}

type ring struct{ head, tail *Flow }

// NewPacer makes a pacer whose flows wait in w.
func NewPacer(w *Wheel) *Pacer { return &Pacer{wheel: w} }

// Ready is the set of priorities that have a flow ready to send, one bit each.
func (p *Pacer) Ready() uint8 { return p.mask }

// Activate tells that the flow has something to send. It does nothing if the pacer knows.
func (p *Pacer) Activate(now unit.Time, f *Flow) {
	if f.state == idle {
		p.place(now, f)
	}
}

// Deactivate tells that the flow has nothing to send. Its bucket goes on.
func (p *Pacer) Deactivate(f *Flow) {
	p.take(f)
	f.state = idle
}

// SetRate changes the flow's rate. If it waits, it waits for the new time.
func (p *Pacer) SetRate(now unit.Time, f *Flow, r unit.Rate) {
	if r == f.Bucket.Rate() {
		return
	}
	f.Bucket.SetRate(now, r)
	if f.state == waiting {
		p.take(f)
		p.place(now, f)
	}
}

// Expired takes the flow whose timer the wheel gave out.
func (p *Pacer) Expired(now unit.Time, f *Flow) {
	if f.state == waiting {
		p.place(now, f)
	}
}

// Next returns the flow to serve among the allowed priorities (one bit each), nil if none is
// ready. Priorities take turns, and so do the flows of one. The caller then calls Sent or
// Deactivate for it.
func (p *Pacer) Next(allowed uint8) *Flow {
	m := p.mask & allowed
	if m == 0 {
		return nil
	}
	for range Priorities {
		prio := p.turn
		p.turn = (p.turn + 1) % Priorities
		if m&(1<<prio) != 0 {
			return p.rings[prio].head
		}
	}
	return nil
}

// Sent charges n bytes to the flow and lets the others go first.
func (p *Pacer) Sent(now unit.Time, f *Flow, n unit.Bytes) {
	f.Bucket.Take(now, n)
	if f.state != idle {
		p.take(f)
		p.place(now, f)
	}
}

// place puts an unplaced flow where its bucket says.
func (p *Pacer) place(now unit.Time, f *Flow) {
	if at := f.Bucket.Ready(now); at > now {
		f.state = waiting
		p.wheel.Set(f.timer, at)
		return
	}
	f.state = ready
	r := &p.rings[f.priority]
	if r.head == nil {
		r.head = f
		p.mask |= 1 << f.priority
	} else {
		r.tail.next = f
	}
	f.prev, f.next, r.tail = r.tail, nil, f
}

// take removes a flow from ring or wheel.
func (p *Pacer) take(f *Flow) {
	switch f.state {
	case waiting:
		p.wheel.Cancel(f.timer)
	case ready:
		r := &p.rings[f.priority]
		if f.prev != nil {
			f.prev.next = f.next
		} else {
			r.head = f.next
		}
		if f.next != nil {
			f.next.prev = f.prev
		} else {
			r.tail = f.prev
		}
		if r.head == nil {
			p.mask &^= 1 << f.priority
		}
		f.next, f.prev = nil, nil
	}
}
