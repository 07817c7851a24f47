package pipeline

import (
	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/mmu"
)

// EventKind says what happened.
type EventKind uint8

// The kinds of events.
const (
	EventStorm    EventKind = iota // the watchdog of a priority found a pause storm
	EventRestored                  // the storm is over
)

var eventNames = [...]string{"pfcwd_storm", "pfcwd_restored"}

func (k EventKind) String() string { return eventNames[k] }

// Event is something rare that an operator wants to know of. The switch logs nothing itself.
type Event struct {
	At       unit.Time
	Port     dataplane.PortID
	Kind     EventKind
	Priority pfc.Priority
	Queue    mmu.Queue  // that the priority stops
	Action   pfc.Action // of the port's watchdog
}

// SetNotify has every event told to fn, on the driver's thread, before the call that caused it
// returns. fn may look at the switch, but not change it; nil ends it.
func (s *Switch) SetNotify(fn func(Event)) { s.notify = fn }
