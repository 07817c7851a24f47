package fault

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// State is what faults make of a port, all of them together. The zero value is a sound port.
type State struct {
	Down    frame.Faults // the faults by which the link is down
	Frozen  bool
	Storm   pfc.Set
	StormBy frame.Faults // the faults that make the storm
}

// Port is a port of a device as faults act on it. A driver has them.
type Port interface {
	Link() *link.Sender
	SetState(State)
}

// Place is a link: the port a fault is named by, and the other end if the same driver has it. A
// link is down at both ends.
type Place struct{ Near, Far Port }

// Driver is what an executor needs of a driver.
type Driver interface {
	// At has call called at a time that is not before now.
	At(at unit.Time, call func(now unit.Time))
	// Place finds a port by its name.
	Place(port string) (Place, error)
}

// Phase is how far a fault is.
type Phase uint8

// The phases.
const (
	Pending Phase = iota
	Active
	Ended
)

func (p Phase) String() string { return [...]string{"pending", "active", "ended"}[p] }

// Status is one fault so far.
type Status struct {
	ID    int // from 1, never used again
	Entry Entry
	Phase Phase
	Begin unit.Time // when it began, or will
	End   unit.Time // when it ended, or will; unit.Never until cleared
	Hits  uint64    // frames it did something to
}

// Comment is what the capture and the log say about a frame that the fault hit.
func (s *Status) Comment() string {
	return "fault=" + s.Entry.Fault.Kind.String() + " rule=" +
		strconv.Quote(s.Entry.Fault.String()) + " id=" + strconv.Itoa(s.ID)
}

// Happening is what an executor tells: that a fault began or ended, or that it hit a frame.
type Happening struct {
	At    unit.Time
	What  What
	Fault *Status
	Frame *frame.Frame // of Hit; good until the call returns
	Lost  bool         // of Hit: the frame is lost, by this fault or another one
}

// What has happened.
type What uint8

// The happenings.
const (
	Began What = iota
	Finished
	Hit
)

// keptEnded is how many faults that have ended are still listed.
const keptEnded = 256

// Executor carries out faults on the ports of one driver. It is a machine: it is told the time, and
// has its driver call it when a fault begins or ends.
type Executor struct {
	drv    Driver
	notify func(Happening)
	all    []*running // by id
	slots  [frame.MaxFaults]*running
	used   int // slots are taken in turn, so that one is not used again soon
	last   int // id
}

type running struct {
	Status
	place   Place
	slot    int
	comment string
}

func (r *running) bit() frame.Faults { return 1 << r.slot }

// NewExecutor returns an executor without faults. notify may be nil.
func NewExecutor(drv Driver, notify func(Happening)) *Executor {
	if notify == nil {
		notify = func(Happening) {}
	}
	return &Executor{drv: drv, notify: notify}
}

// Add takes up a fault and returns its id. One whose time has passed begins now.
func (x *Executor) Add(now unit.Time, e Entry) (id int, err error) {
	if err := e.Validate(); err != nil {
		return 0, err
	}
	r := &running{Status: Status{Entry: e, Begin: e.begin(now), End: e.end(now)}}
	if r.place, err = x.drv.Place(e.Port); err != nil {
		return 0, fmt.Errorf("fault %v: %w", e.Fault, err)
	}
	if !x.takeSlot(r) {
		return 0, fmt.Errorf("fault %v: %d faults are pending or active; clear some", e.Fault,
			len(x.slots))
	}
	x.last++
	r.ID = x.last
	r.comment = r.Comment()
	x.all = append(x.all, r)
	x.forget()
	if r.Begin <= now {
		x.begin(now, r)
	} else {
		x.drv.At(r.Begin, func(now unit.Time) { x.begin(now, r) })
	}
	return r.ID, nil
}

// takeSlot gives the fault a free slot, that which has been free for longest.
func (x *Executor) takeSlot(r *running) bool {
	for range x.slots {
		slot := x.used % len(x.slots)
		x.used++
		if old := x.slots[slot]; old == nil || old.Phase == Ended {
			x.slots[slot], r.slot = r, slot
			return true
		}
	}
	return false
}

// forget drops the oldest that have ended if there are too many.
func (x *Executor) forget() {
	for over := len(x.all) - keptEnded; over > 0; over-- {
		i := slices.IndexFunc(x.all, func(r *running) bool { return r.Phase == Ended })
		if i < 0 {
			return
		}
		x.all = slices.Delete(x.all, i, i+1)
	}
}

func (x *Executor) begin(now unit.Time, r *running) {
	if r.Phase != Pending {
		return // cleared before it began
	}
	r.Phase, r.Begin = Active, now
	x.notify(Happening{At: now, What: Began, Fault: &r.Status})
	if r.Entry.Fault.OnFrames() {
		rule := r.Entry.Fault.Rule
		rule.Faults = r.bit()
		r.place.Near.Link().Add(rule)
	} else {
		x.apply(r)
	}
	if r.End != unit.Never {
		x.drv.At(r.End, func(now unit.Time) { x.end(now, r) })
	}
}

func (x *Executor) end(now unit.Time, r *running) {
	was := r.Phase
	if was == Ended {
		return // cleared before
	}
	r.Phase, r.End = Ended, now
	if was == Active {
		if r.Entry.Fault.OnFrames() {
			r.place.Near.Link().Remove(r.bit())
		} else {
			x.apply(r)
		}
	}
	x.notify(Happening{At: now, What: Finished, Fault: &r.Status})
}

// apply makes of the ports of a fault what all active faults on them make together. Of several
// rates that which began last counts.
func (x *Executor) apply(changed *running) {
	for _, port := range []Port{changed.place.Near, changed.place.Far} {
		if port == nil {
			continue
		}
		var s State
		rate, began := unit.Rate(0), unit.Time(0)
		for _, r := range x.all {
			if r.Phase != Active {
				continue
			}
			near := r.place.Near == port
			switch k := r.Entry.Fault.Kind; {
			case k == Down && (near || r.place.Far == port):
				s.Down |= r.bit()
			case k == Freeze && near:
				s.Frozen = true
			case k == Storm && near:
				s.Storm, s.StormBy = s.Storm|r.Entry.Fault.Storm, s.StormBy|r.bit()
			case k == Rate && near && r.Begin >= began:
				rate, began = r.Entry.Fault.Rate, r.Begin
			}
		}
		if changed.Entry.Fault.Kind == Rate {
			port.Link().SetRate(rate)
			continue
		}
		port.SetState(s)
	}
}

// Clear ends a fault now, or keeps it from beginning.
func (x *Executor) Clear(now unit.Time, id int) error {
	for _, r := range x.all {
		if r.ID == id && r.Phase != Ended {
			x.end(now, r)
			return nil
		}
	}
	return fmt.Errorf("no fault %d is pending or active", id)
}

// ClearAll ends all faults and returns how many there were.
func (x *Executor) ClearAll(now unit.Time) (n int) {
	for _, r := range slices.Clone(x.all) {
		if r.Phase != Ended {
			x.end(now, r)
			n++
		}
	}
	return n
}

// List returns all faults that are pending or active, and the latest that have ended, by id.
func (x *Executor) List() []Status {
	list := make([]Status, 0, len(x.all))
	for _, r := range x.all {
		list = append(list, r.Status)
	}
	return list
}

// Hit counts a frame that faults did something to and tells of it, once for each fault. A driver
// calls it with what the frame remembers.
func (x *Executor) Hit(at unit.Time, f *frame.Frame, lost bool) {
	for set := f.Meta.Faults; set != 0; set &= set - 1 {
		r := x.slots[bits.TrailingZeros64(uint64(set))]
		if r == nil {
			continue
		}
		r.Hits++
		// A delay of everything is told when it begins and ends; the count has the rest.
		if k := r.Entry.Fault.Kind; k != Delay || r.Entry.Fault.Rule.Selective() {
			x.notify(Happening{At: at, What: Hit, Fault: &r.Status, Frame: f, Lost: lost})
		}
	}
}

// Comment is what is to be said about a frame in a capture; empty for nearly all frames.
func (x *Executor) Comment(set frame.Faults) (text string) {
	for ; set != 0; set &= set - 1 {
		if r := x.slots[bits.TrailingZeros64(uint64(set))]; r != nil && text == "" {
			text = r.comment
		} else if r != nil {
			text += "; " + r.comment
		}
	}
	return text
}
