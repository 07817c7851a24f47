package daemon

import (
	"fmt"
	"net/http"
	"strings"
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

// FaultCalls makes the control calls of a machine whose faults are x's. prefix is what x puts
// before the names of the machine's ports.
func FaultCalls(mux *http.ServeMux, run Executor, x *fault.Executor, prefix string) {
	c := &faultCalls{run, x, prefix}
	Handle(mux, "POST /v1/fault", c.add)
	Handle(mux, "GET /v1/fault", c.list)
	Handle(mux, "POST /v1/fault/clear", c.clear)
}

type faultCalls struct {
	run    Executor
	faults *fault.Executor
	prefix string
}

// do runs fn in the time of the machine and returns its error, or run's.
func (c *faultCalls) do(fn func(now unit.Time) error) error {
	var err error
	if e := c.run.Do(func(now unit.Time) { err = fn(now) }); e != nil {
		return e
	}
	return err
}

func (c *faultCalls) add(r FaultRequest) (added FaultAdded, err error) {
	err = c.do(func(now unit.Time) (err error) {
		added.ID, err = c.faults.Add(now, fault.Entry{Port: c.prefix + r.Port, Fault: r.Fault,
			At: time.Duration(r.AtNs), For: time.Duration(r.ForNs)})
		return err
	})
	return added, err
}

// own are the faults of the machine's ports, with their own names.
func (c *faultCalls) own() (list []fault.Status) {
	for _, s := range c.faults.List() {
		var own bool
		if s.Entry.Port, own = strings.CutPrefix(s.Entry.Port, c.prefix); own {
			list = append(list, s)
		}
	}
	return list
}

func (c *faultCalls) list(struct{}) (FaultList, error) {
	out := FaultList{Faults: []FaultStatus{}}
	err := c.do(func(unit.Time) error {
		for _, s := range c.own() {
			st := FaultStatus{ID: s.ID, Port: s.Entry.Port, Fault: s.Entry.Fault,
				Phase: s.Phase.String(), BeginNs: int64(s.Begin), Hits: s.Hits}
			if s.End != unit.Never {
				end := int64(s.End)
				st.EndNs = &end
			}
			out.Faults = append(out.Faults, st)
		}
		return nil
	})
	return out, err
}

func (c *faultCalls) clear(r FaultClear) (out FaultCleared, err error) {
	err = c.do(func(now unit.Time) error {
		for _, s := range c.own() {
			if s.Phase != fault.Ended && (r.ID == 0 || r.ID == s.ID) {
				if err := c.faults.Clear(now, s.ID); err != nil {
					return err
				}
				out.Cleared++
			}
		}
		if r.ID != 0 && out.Cleared == 0 {
			return fmt.Errorf("no fault %d is pending or active", r.ID)
		}
		return nil
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
