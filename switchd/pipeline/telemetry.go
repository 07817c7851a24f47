package pipeline

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/qos"
)

// Telemetry says which frames tell on their way what they met: at dequeue each gets a record of
// the time, the queue and the link. The zero value is off.
type Telemetry struct {
	// Queues are the egress queues, of every port, whose frames are stamped.
	Queues qos.QueueSet
	// Switch tells this switch from the others of a fabric.
	Switch uint32
	// Hops is how many records a frame may carry, 1 to 15; one that has them gets no other.
	Hops int
	// MaxFrame is the largest frame that the links carry, without FCS; a record that would make
	// a frame longer is left out.
	MaxFrame unit.Bytes
}

// maxHops bounds what a frame can grow by.
const maxHops = 15

// Validate says what is wrong with the configuration.
func (t *Telemetry) Validate() error {
	switch {
	case *t == Telemetry{}:
		return nil
	case t.Hops < 1 || t.Hops > maxHops:
		return fmt.Errorf("telemetry: %d hops, want 1 to %d", t.Hops, maxHops)
	case t.MaxFrame < wire.MinFrame:
		return fmt.Errorf("telemetry: largest frame %v, want at least %v", t.MaxFrame,
			wire.MinFrame)
	}
	return nil
}
