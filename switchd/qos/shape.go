package qos

import (
	"errors"
	"fmt"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/ratelimit"
	"github.com/rocelab/rocelab/switchd/mmu"
)

// Unit is what a scheduler's weights, or a shaper's meter, count.
type Unit uint8

// The units.
const (
	Bytes   Unit = iota // SAI_SCHEDULING_TYPE_DWRR, SAI_METER_TYPE_BYTES
	Packets             // SAI_SCHEDULING_TYPE_WRR, SAI_METER_TYPE_PACKETS
)

func (u Unit) String() string { return [...]string{"bytes", "packets"}[u&1] }

func (u Unit) validate() error {
	if u > Packets {
		return fmt.Errorf("unit %d, want bytes or packets", uint8(u))
	}
	return nil
}

// Shape is how much a queue or a port is promised and allowed. SONiC's cir, pir, cbs and pbs in
// SCHEDULER, of which cir and pir are bytes a second; SAI_SCHEDULER_ATTR_MIN_BANDWIDTH_RATE,
// MAX_BANDWIDTH_RATE and their BURST_RATE. The zero value promises nothing and allows all.
//
// What is metered is the frame from its destination address to its FCS, padded to the minimum.
// SAI does not say; this is what switches do that are not told to count the preamble and the gap
// between frames too, by a number of bytes as in ShaperConfig.Overhead.
//
// Where Meter is Packets each frame counts as one byte: PacketRate(1000) is a thousand frames a
// second, and a burst of 10 bytes is ten frames.
type Shape struct {
	// Min is the guaranteed rate; 0 is none.
	Min unit.Rate
	// Max is the rate that is not exceeded; 0 is no limit.
	Max unit.Rate
	// MinBurst and MaxBurst are how much of either rate an idle queue saves up. Any stretch of
	// time t carries at most Max*t + MaxBurst and one frame. A queue that waits for the wire
	// while its rate would let it send gets its rate in full only if a burst covers the wait. So 0
	// is not none but a largest frame for each queue of the port, which covers one from each
	// other.
	MinBurst, MaxBurst unit.Bytes
	Meter              Unit
}

// PacketRate is a rate of n frames a second, for a Shape whose Meter is Packets.
func PacketRate(n int64) unit.Rate { return 8 * unit.Rate(n) }

// Validate says what is wrong with the shape.
func (s Shape) Validate() error {
	switch {
	case s.Min < 0 || s.Max < 0:
		return fmt.Errorf("rates %v and %v, want them not negative", s.Min, s.Max)
	case s.Max != 0 && s.Min > s.Max:
		return fmt.Errorf("minimum rate %v above the maximum %v", s.Min, s.Max)
	case s.MinBurst < 0 || s.MaxBurst < 0 || max(s.MinBurst, s.MaxBurst) > ratelimit.MaxBurst:
		return fmt.Errorf("bursts %v and %v, want 0 to %v", s.MinBurst, s.MaxBurst,
			ratelimit.MaxBurst)
	}
	return s.Meter.validate()
}

// ShaperConfig shapes a port and its queues.
type ShaperConfig struct {
	Queues [mmu.Queues]Shape
	Port   Shape // only its maximum: nothing is above a port that could promise it a rate
	// Overhead is counted with each frame: 20 bytes for preamble and gap make the rates those of
	// the line, 0 is what switches come with.
	Overhead unit.Bytes
}

// maxOverhead bounds Overhead.
const maxOverhead = 64 * unit.Bytes(1)

// Validate returns every fault.
func (c *ShaperConfig) Validate() error {
	var faults []error
	for q, s := range c.Queues {
		if err := s.Validate(); err != nil {
			faults = append(faults, fmt.Errorf("shaper: queue %d: %w", q, err))
		}
	}
	if err := c.Port.Validate(); err != nil {
		faults = append(faults, fmt.Errorf("shaper: port: %w", err))
	}
	if c.Port.Min != 0 {
		faults = append(faults, fmt.Errorf("shaper: port: a minimum rate of %v, want none",
			c.Port.Min))
	}
	if c.Overhead < 0 || c.Overhead > maxOverhead {
		faults = append(faults, fmt.Errorf("shaper: overhead %v, want 0 to %v", c.Overhead,
			maxOverhead))
	}
	return errors.Join(faults...)
}
