package qos

import (
	"fmt"
	"math/bits"

	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/switchd/mmu"
)

// QueueSet is a set of egress queues of one port. The zero value is empty.
type QueueSet uint8

// Has reports whether q is in the set.
func (s QueueSet) Has(q mmu.Queue) bool { return s&(1<<(q&7)) != 0 }

// With returns the set with q in it.
func (s QueueSet) With(q mmu.Queue) QueueSet { return s | 1<<(q&7) }

// Without returns the set without q.
func (s QueueSet) Without(q mmu.Queue) QueueSet { return s &^ (1 << (q & 7)) }

// after returns the next queue of the set in a ring of all, q itself last. The set is not empty.
func (s QueueSet) after(q mmu.Queue) mmu.Queue {
	next := q + 1
	ahead := bits.RotateLeft8(uint8(s), -int(next)) // bit n is queue next+n, modulo 8
	return (next + mmu.Queue(bits.TrailingZeros8(ahead))) % mmu.Queues
}

// Map says where each traffic class goes.
type Map struct {
	Group [classify.Classes]mmu.PG
	Queue [classify.Classes]mmu.Queue
}

// Identity sends class n to group n and queue n.
func Identity() (m Map) {
	for tc := range m.Group {
		m.Group[tc], m.Queue[tc] = mmu.PG(tc), mmu.Queue(tc)
	}
	return m
}

// Validate returns an error that names the first entry out of range.
func (m *Map) Validate() error {
	for tc := range m.Group {
		if m.Group[tc] >= mmu.Groups {
			return fmt.Errorf("traffic class %d: priority group %d, want 0 to %d", tc, m.Group[tc],
				mmu.Groups-1)
		}
		if m.Queue[tc] >= mmu.Queues {
			return fmt.Errorf("traffic class %d: queue %d, want 0 to %d", tc, m.Queue[tc],
				mmu.Queues-1)
		}
	}
	return nil
}
