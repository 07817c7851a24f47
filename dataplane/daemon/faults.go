package daemon

import (
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// The control calls for faults, of every daemon:
//
//	POST /v1/fault         FaultRequest   -> FaultAdded
//	GET  /v1/fault                        -> FaultList
//	POST /v1/fault/clear   FaultClear     -> FaultCleared

// FaultRequest makes something go wrong at a port. Times are virtual.
type FaultRequest struct {
	Port  string     `json:"port"`
	Fault fault.Spec `json:"fault"`  // in the text form of package fault
	AtNs  int64      `json:"at_ns"`  // since the clock's start; what has passed is now
	ForNs int64      `json:"for_ns"` // 0: until it is cleared
}

// FaultAdded is the answer to POST /v1/fault.
type FaultAdded struct {
	ID int `json:"id"`
}

// FaultList is the answer to GET /v1/fault: by id, those that have ended for a while as well.
type FaultList struct {
	Faults []FaultStatus `json:"faults"`
}

// FaultStatus is one fault so far.
type FaultStatus struct {
	ID      int        `json:"id"`
	Port    string     `json:"port"`
	Fault   fault.Spec `json:"fault"`
	Phase   string     `json:"phase"`            // pending, active or ended
	BeginNs int64      `json:"begin_ns"`         // when it began, or will
	EndNs   *int64     `json:"end_ns,omitempty"` // when it ended, or will; absent: when cleared
	Hits    uint64     `json:"hits"`             // frames it did something to
}

// FaultClear ends a fault, or keeps it from beginning; 0 is all there are.
type FaultClear struct {
	ID int `json:"id"`
}

// FaultCleared is the answer to POST /v1/fault/clear.
type FaultCleared struct {
	Cleared int `json:"cleared"` // how many
}

func (d *Daemon) handleFaults() {
	Handle(d.Control, "POST /v1/fault", d.addFault)
	Handle(d.Control, "GET /v1/fault", d.listFaults)
	Handle(d.Control, "POST /v1/fault/clear", d.clearFaults)
}

// do runs fn on the loop's thread and returns its error, or the loop's.
func (d *Daemon) do(fn func(now unit.Time) error) error {
	var err error
	if e := d.Loop.Do(func(now unit.Time) { err = fn(now) }); e != nil {
		return e
	}
	return err
}

func (d *Daemon) addFault(r FaultRequest) (added FaultAdded, err error) {
	err = d.do(func(now unit.Time) (err error) {
		added.ID, err = d.Loop.Faults().Add(now, fault.Entry{Port: r.Port, Fault: r.Fault,
			At: time.Duration(r.AtNs), For: time.Duration(r.ForNs)})
		return err
	})
	return added, err
}

func (d *Daemon) listFaults(struct{}) (FaultList, error) {
	out := FaultList{Faults: []FaultStatus{}}
	err := d.Loop.Do(func(unit.Time) {
		for _, s := range d.Loop.Faults().List() {
			st := FaultStatus{ID: s.ID, Port: s.Entry.Port, Fault: s.Entry.Fault,
				Phase: s.Phase.String(), BeginNs: int64(s.Begin), Hits: s.Hits}
			if s.End != unit.Never {
				end := int64(s.End)
				st.EndNs = &end
			}
			out.Faults = append(out.Faults, st)
		}
	})
	return out, err
}

func (d *Daemon) clearFaults(r FaultClear) (out FaultCleared, err error) {
	err = d.do(func(now unit.Time) error {
		if r.ID == 0 {
			out.Cleared = d.Loop.Faults().ClearAll(now)
			return nil
		}
		out.Cleared = 1
		return d.Loop.Faults().Clear(now, r.ID)
	})
	return out, err
}

// onFault puts into the event log that a fault began, ended, or did something to a frame.
func (d *Daemon) onFault(h fault.Happening) {
	e := Event{AtNs: int64(h.At), Source: "fault", Port: h.Fault.Entry.Port,
		Detail: h.Fault.Comment()}
	switch h.What {
	case fault.Began:
		e.Kind = "fault_begin"
	case fault.Finished:
		e.Kind = "fault_end"
	case fault.Hit:
		e.Kind = "fault_" + h.Fault.Entry.Fault.Kind.String()
		e.Detail += ": " + fault.Describe(h.Frame.Bytes())
		if h.Lost {
			e.Detail += ", lost"
		}
	}
	d.Record(e)
}

// onLink puts into the event log that a port's device went away or came back.
func (d *Daemon) onLink(at unit.Time, port dataplane.PortID, up bool, why string) {
	e := Event{AtNs: int64(at), Source: "link", Port: d.spec.Ports[port].Name, Kind: "link_down",
		Detail: why}
	if up {
		e.Kind = "link_up"
	}
	d.Record(e)
}
