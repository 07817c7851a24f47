package qos

import (
	"fmt"
	"math/bits"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/mmu"
)

// Heads is the length of the first frame of each queue of a port.
type Heads [mmu.Queues]unit.Bytes

// Scheduler decides which queue of a port sends next. To add one: a file with a type and a
// constructor, and a case where the configuration names it.
type Scheduler interface {
	// Pick returns a queue of those that are ready, which are not empty, not paused and not above
	// their maximum rate. ready is never empty. Those of below have not had their minimum rate,
	// and go before the others of their level. Picking again without Sent or Gone gives the same
	// queue.
	Pick(ready, below QueueSet, heads *Heads) mmu.Queue
	// Sent tells that the first frame of q, of n bytes, left in its turn; more says that others
	// follow it.
	Sent(q mmu.Queue, n unit.Bytes, more bool)
	// Gone tells that the first frame of q left out of turn, because q was below its minimum rate
	// or because the frame was dropped: it does not count against the queue's share.
	Gone(q mmu.Queue, more bool)
}

// DWRRConfig is a scheduler of strict queues above weighted ones.
type DWRRConfig struct {
	Strict QueueSet        // served first, the highest number before all others
	Weight [mmu.Queues]int // of the other queues, at least 1
	MTU    unit.Bytes      // a weight of 1 is this many bytes a round; the largest frame
	Unit   Unit            // Bytes: DWRR. Packets: WRR, a weight of 1 is one frame a round
}

// Validate says what is wrong with the configuration.
func (c *DWRRConfig) Validate() error {
	if err := c.Unit.validate(); err != nil {
		return fmt.Errorf("scheduler: %w", err)
	}
	if c.MTU <= 0 {
		return fmt.Errorf("scheduler: MTU %d, want it positive", c.MTU)
	}
	for q, w := range c.Weight {
		if !c.Strict.Has(mmu.Queue(q)) && (w < 1 || w > maxWeight) {
			return fmt.Errorf("scheduler: queue %d: weight %d, want 1 to %d", q, w, maxWeight)
		}
	}
	return nil
}

// maxWeight is SONiC's.
const maxWeight = 100

// DWRR is deficit weighted round robin below strict priority. A queue's turn gives it credit of
// its weight times the MTU; it sends while the credit covers its first frame and carries the rest
// over to the next round, so that in the long run bytes are shared exactly by weight, whatever
// the frames' lengths. A queue that runs empty loses its credit; a paused one keeps it. Counted
// in packets it is weighted round robin, which shares frames by weight.
//
// Queues below their minimum rate take turns frame by frame before the weighted ones, and above
// the minimum the rest is shared by weight: a queue gets its minimum and its share of what is
// left. A minimum means nothing to a strict queue, which is alone at its level.
type DWRR struct {
	strict  QueueSet
	packets bool
	quantum [mmu.Queues]unit.Bytes
	credit  [mmu.Queues]unit.Bytes
	turn    mmu.Queue
	granted bool // the queue whose turn it is has had its credit
	gone    mmu.Queue
}

// NewDWRR returns the scheduler of a valid configuration.
func NewDWRR(c DWRRConfig) *DWRR {
	s := &DWRR{strict: c.Strict, packets: c.Unit == Packets}
	round := c.MTU
	if s.packets {
		round = 1
	}
	for q, w := range c.Weight {
		s.quantum[q] = unit.Bytes(w) * round
	}
	return s
}

// Pick serves the highest strict queue, else a queue below its minimum rate, else the queue whose
// turn it is or comes to be.
func (s *DWRR) Pick(ready, below QueueSet, heads *Heads) mmu.Queue {
	if first := ready & s.strict; first != 0 {
		return mmu.Queue(bits.Len8(uint8(first)) - 1)
	}
	if below &= ready; below != 0 {
		return below.after(s.gone)
	}
	if !ready.Has(s.turn) {
		s.pass(ready)
	}
	for {
		if !s.granted {
			s.granted = true
			s.credit[s.turn] += s.quantum[s.turn]
		}
		if s.cost(heads[s.turn]) <= s.credit[s.turn] {
			return s.turn
		}
		s.pass(ready)
	}
}

// pass gives the turn to the next ready queue, which may be the same one again.
func (s *DWRR) pass(ready QueueSet) {
	s.turn = ready.after(s.turn)
	s.granted = false
}

// cost is what a frame of n bytes takes off a credit.
func (s *DWRR) cost(n unit.Bytes) unit.Bytes {
	if s.packets {
		return 1
	}
	return n
}

// Sent takes the frame off the queue's credit.
func (s *DWRR) Sent(q mmu.Queue, n unit.Bytes, more bool) {
	if s.strict.Has(q) {
		return
	}
	s.credit[q] -= s.cost(n)
	if !more {
		s.credit[q] = 0
	}
}

// Gone leaves the credit alone, unless the queue ran empty.
func (s *DWRR) Gone(q mmu.Queue, more bool) {
	s.gone = q
	if !more {
		s.credit[q] = 0
	}
}
