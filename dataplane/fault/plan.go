package fault

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// Entry is a fault with its place and time. Times are virtual.
type Entry struct {
	Port  string        `yaml:"port"`          // as the driver names it: "swp1", or "sw0:swp1"
	Fault Spec          `yaml:"fault"`         // in the text form
	At    time.Duration `yaml:"at,omitempty"`  // since the clock's start; what has passed is now
	For   time.Duration `yaml:"for,omitempty"` // 0: until it is cleared
}

// Plan is what goes wrong, in any order. Of faults that begin at the same time the first one listed
// comes first.
type Plan []Entry

// Validate returns why the entry cannot be carried out, whatever the ports are.
func (e *Entry) Validate() error {
	switch {
	case e.Port == "":
		return fmt.Errorf("fault %v: no port", e.Fault)
	case e.At < 0 || e.For < 0:
		return fmt.Errorf("fault %v on %s: at and for must not be negative", e.Fault, e.Port)
	}
	if err := e.Fault.Validate(); err != nil {
		return fmt.Errorf("fault %v on %s: %w", e.Fault, e.Port, err)
	}
	return nil
}

// begin and end are when the entry is in force, given at now.
func (e *Entry) begin(now unit.Time) unit.Time { return max(unit.Time(e.At), now) }

func (e *Entry) end(now unit.Time) unit.Time {
	if e.For == 0 {
		return unit.Never
	}
	return e.begin(now).Add(e.For)
}
