package pipeline

import (
	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/mmu"
)

// Wait says that a priority group in XOFF waits for an egress queue: what the group pauses cannot
// go on before the queue has sent what it holds of the group. Where the queue is paused itself,
// the wait is a link of a chain that may close to a deadlock; the other links are in other
// switches, and package deadlock joins them.
type Wait struct {
	In     dataplane.PortID // the ingress, which pauses its peer
	Group  mmu.PG
	Pauses pfc.Set   // priorities that the group pauses
	Since  unit.Time // when the peer was told

	Out      dataplane.PortID // the egress, which holds frames of the group
	Queue    mmu.Queue
	Frames   int // of the group in the queue
	Bytes    unit.Bytes
	PausedBy pfc.Set   // priorities of Out's peer that stop the queue; 0 if it can send
	OutSince unit.Time // since when the queue is stopped; unit.Never if it is not
}
