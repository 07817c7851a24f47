// Package link models one direction of a wire: serialisation, propagation delay, faults.
//
// Everything happens on the sending side, in both drivers: a frame handed to Start occupies the
// wire until it is free and has arrived, last bit included, the propagation delay later. What
// Rules do to frames on the way is decided by Judge. Each rule throws dice of its own, seeded by
// the link's seed and the rule's place in the order they were added, so a fault moves no other's
// dice, neither on this link nor on another.
package link

import (
	"hash/fnv"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// Config describes one direction of a link.
type Config struct {
	Rate   unit.Rate     // line rate; must be positive
	Delay  time.Duration // propagation delay
	Faults Faults        // from the start on
	Seed   uint64        // of the dice of all rules
}

// SeedOf is the seed of a port's link by the port's name, as in "sw0:swp1", so that the same faults
// on the same fabric hit the same frames under every driver.
func SeedOf(port string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(port)) // never fails, it says
	return h.Sum64()
}

// Faults are probabilities per frame, 0 to 1: a wire that is bad for good, as a short form of the
// rules that do the same. The zero value is a perfect wire.
type Faults struct {
	Loss      float64
	Corrupt   float64 // one random bit of the frame is flipped
	Duplicate float64
	Reorder   float64       // the frame is held back for ReorderBy
	ReorderBy time.Duration // extra delay of a reordered frame
}

func (f *Faults) rules() (list []Rule) {
	for _, r := range []Rule{{Effect: Lose, Chance: f.Loss}, {Effect: Corrupt, Chance: f.Corrupt},
		{Effect: Reorder, Chance: f.Reorder, By: f.ReorderBy},
		{Effect: Duplicate, Chance: f.Duplicate}} {
		if r.Chance > 0 {
			list = append(list, r)
		}
	}
	return list
}

// Stats counts what the rules did to frames, over all rules there ever were.
type Stats struct{ Lost, Corrupted, Duplicated, Reordered, Delayed, Marked uint64 }

// Sender is one direction of a wire.
type Sender struct {
	Stats Stats

	cfg    Config
	rate   unit.Rate // now
	serial unit.Serial

	rules []*active
	added uint64    // rules there ever were
	floor unit.Time // no frame may be through before it: what a removed delay has held back
}

// NewSender returns the sending side of a wire.
func NewSender(cfg Config) *Sender {
	s := &Sender{cfg: cfg, rate: cfg.Rate}
	for _, r := range cfg.Faults.rules() {
		s.Add(r)
	}
	return s
}

// Config returns what the wire was set to at the start.
func (s *Sender) Config() Config { return s.cfg }

// Rate is the line rate now.
func (s *Sender) Rate() unit.Rate { return s.rate }

// SetRate changes the line rate for the frames to come; 0 gives back the configured one.
func (s *Sender) SetRate(r unit.Rate) {
	if s.rate = r; r == 0 {
		s.rate = s.cfg.Rate
	}
}

// Start puts n bytes of frame on the wire at now. The wire is free again at free, and the last
// bit arrives at arrive. Preamble, FCS and inter-frame gap are added here; frames below the
// minimum are padded as a MAC would.
func (s *Sender) Start(now unit.Time, n unit.Bytes) (free, arrive unit.Time) {
	free = now.Add(s.serial.Time(wire.OnLine(n), s.rate))
	return free, free.Add(s.cfg.Delay)
}
