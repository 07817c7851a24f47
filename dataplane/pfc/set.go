package pfc

import (
	"iter"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// Priority is one of the eight classes that PFC tells apart.
type Priority uint8

// Set is a set of priorities. The zero value is empty.
type Set uint8

// SetOf returns the set of the given priorities.
func SetOf(priorities ...Priority) (s Set) {
	for _, p := range priorities {
		s |= s.bit(p)
	}
	return s
}

func (Set) bit(p Priority) Set { return 1 << (p & (wire.Priorities - 1)) }

// Has reports whether p is in the set.
func (s Set) Has(p Priority) bool { return s&s.bit(p) != 0 }

// With returns the set with p in it.
func (s Set) With(p Priority) Set { return s | s.bit(p) }

// Without returns the set without p.
func (s Set) Without(p Priority) Set { return s &^ s.bit(p) }

// All ranges over the set from the lowest priority up.
func (s Set) All() iter.Seq[Priority] {
	return func(yield func(Priority) bool) {
		for ; s != 0; s &= s - 1 {
			if !yield(s.first()) {
				return
			}
		}
	}
}

// first returns the lowest priority of a set that is not empty.
func (s Set) first() Priority { return Priority(bits.TrailingZeros8(uint8(s))) }

// String prints the priorities with commas, as SONiC does: "3,4".
func (s Set) String() string {
	var parts []string
	for ; s != 0; s &= s - 1 {
		parts = append(parts, strconv.Itoa(int(s.first())))
	}
	return strings.Join(parts, ",")
}

// Duration is how long a pause of this many quanta lasts on a link of rate r, rounded up to a
// nanosecond. r must be positive. IEEE 802.3-2022 31B.2.
func Duration(quanta uint16, r unit.Rate) time.Duration { return bitTimes(int64(quanta), r) }

func bitTimes(quanta int64, r unit.Rate) time.Duration {
	const bitsPerSecond = wire.QuantumBits * int64(time.Second)
	return time.Duration((quanta*bitsPerSecond + int64(r) - 1) / int64(r))
}
