package loop

import (
	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/clock"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// Filter is a Wire that can drop data frames of some traffic classes where they arrive, before
// anybody has copied them: the watchdog's verdict, enforced by the XDP program.
//
// What it drops never comes out of Receive. The machine gets its account (Config.Filtered) all the
// same: of frames whose sender told of them, when they arrive. None of the methods but SetFilter
// makes a system call.
type Filter interface {
	// SetFilter has the data frames of these classes dropped, bit n for class n, and no others.
	SetFilter(classes uint8) error
	// Filtered is what was dropped of each class since the wire was opened, without what Dropped
	// shows: that whose arrival nobody tells. See FarEnd.
	Filtered() [classify.Classes]dataplane.Count
	// Dropped is the oldest drop that NextDrop has not passed, of kinds whose arrival the sender
	// tells, in the order in which they came; false if there is none. A drop is shown no later than
	// a frame behind it comes out of Receive, and no earlier than its sender told of it.
	Dropped() (Drop, bool)
	// NextDrop goes on to the next drop.
	NextDrop()
}

// Drop is what is left of a frame that a filter dropped.
type Drop struct {
	Class uint8
	Check clock.Check
	Bytes unit.Bytes
}

// filter is what a port knows of its wire's filter.
type filter struct {
	on      bool // a verdict was given once; drops are looked for from then on
	classes uint8
	seen    [classify.Classes]dataplane.Count // up to what the machine has the account
	due     []Drop                            // scheduled, in the order of their arrival
	past    int                               // of due, those that have arrived
}

// SetFilter has the data frames of these classes dropped as they arrive on a port, also when its
// wire is opened anew, if the wire can do that. For the loop's thread only.
func (l *Loop) SetFilter(id dataplane.PortID, classes uint8) error {
	p := l.ports[id]
	p.filter.classes = classes
	p.filter.on = p.filter.on || classes != 0
	return p.setFilter()
}

func (p *port) setFilter() error {
	if f, ok := p.Wire.(Filter); ok && p.filter.on {
		return f.SetFilter(p.filter.classes)
	}
	return nil
}

// filtering is the port's wire as a filter, nil if there is nothing to be looked for.
func (p *port) filtering() Filter {
	if !p.filter.on {
		return nil
	}
	f, _ := p.Wire.(Filter)
	return f
}

// filtered accounts for what the wire has dropped of frames whose arrival nobody told.
func (p *port) filtered() {
	wire := p.filtering()
	if wire == nil {
		return
	}
	got := wire.Filtered()
	for class, now := range got {
		if last := p.filter.seen[class]; now != last {
			p.account(uint8(class),
				dataplane.Count{Frames: now.Frames - last.Frames, Bytes: now.Bytes - last.Bytes})
		}
	}
	p.filter.seen = got
}

func (p *port) account(class uint8, n dataplane.Count) {
	if p.loop.cfg.Filtered != nil {
		p.loop.cfg.Filtered(p.id, class, n)
	}
}

// dropped takes the frames that the wire dropped off their way, and schedules their account for
// when they arrive. It ends at one that is behind another frame on its way, which is to come first.
//
// Until it has come to a drop, the clock waits for the frame. So when a drop can be seen has no say
// in what the machine counts. Should two frames have the same headers, of which the first comes and
// only the second was dropped, then they change places, which changes nothing: the verdict was
// given between them, and both arrive later than that, so the machine drops the first as well.
func (p *port) dropped() {
	wire := p.filtering()
	if wire == nil {
		return
	}
	for d, ok := wire.Dropped(); ok; d, ok = wire.Dropped() {
		ahead := p.ahead(d.Check)
		if ahead > 0 {
			return
		}
		wire.NextDrop()
		if ahead < 0 { // from somebody who does not tell what others do
			p.account(d.Class, dataplane.Count{Frames: 1, Bytes: uint64(d.Bytes)})
			continue
		}
		l := p.loop
		at, _, _ := l.cfg.Links.Take(p.RxLink, d.Check)
		p.slipped(at)
		p.filter.due = append(p.filter.due, d)
		l.engine.Absent(l.node, p.id, at)
	}
}

// ahead is how many frames are on their way in front of the one with this check, below zero if
// nobody has told of it.
func (p *port) ahead(check clock.Check) int {
	if p.RxLink == NoLink {
		return -1
	}
	return p.loop.cfg.Links.Find(p.RxLink, check)
}

// sift takes what the wire dropped in front of a frame that it let through off its way. A frame in
// front of it that was not dropped and did not come is lost.
func (p *port) sift(check clock.Check) {
	if p.filtering() == nil {
		return
	}
	lost := 0
	for p.dropped(); p.ahead(check) > 0; p.dropped() {
		lost += p.loop.cfg.Links.Forget(p.RxLink, 1)
	}
	if lost > 0 {
		p.forgot(lost)
	}
}

// lastDrops takes all drops that can be seen, and gives up on the frames in front of them. It
// reports whether there was any.
func (p *port) lastDrops() (some bool) {
	wire := p.filtering()
	if wire == nil {
		return false
	}
	for d, ok := wire.Dropped(); ok; d, ok = wire.Dropped() {
		if n := p.ahead(d.Check); n > 0 {
			p.forgot(p.loop.cfg.Links.Forget(p.RxLink, n))
		}
		p.dropped()
		some = true
	}
	return some
}

// absent is when a frame arrives that the wire dropped.
func (p *port) absent(now unit.Time, down frame.Faults) {
	f := &p.filter
	d := f.due[f.past]
	if f.past++; 2*f.past >= len(f.due) {
		f.due = append(f.due[:0], f.due[f.past:]...)
		f.past = 0
	}
	if down == 0 {
		p.account(d.Class, dataplane.Count{Frames: 1, Bytes: uint64(d.Bytes)})
		return
	}
	// The fault was first. Nobody knows the frame's bytes any more; its length is right.
	hit := p.loop.cfg.Pool.Get()
	if hit == nil {
		return
	}
	hit.Resize(min(int(d.Bytes), hit.Cap()))
	clear(hit.Bytes())
	hit.Meta.Faults = down
	p.loop.faults.Hit(now, hit, true)
	hit.Release()
}

// restless reports whether frames may be dropped for which the clock waits. Nobody wakes the loop
// for them, so it does not sleep for long.
func (p *port) restless() bool { return p.filter.classes != 0 && p.RxLink != NoLink }
