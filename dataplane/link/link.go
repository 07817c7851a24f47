// Package link models one direction of a wire: serialisation, propagation delay, faults.
//
// Everything happens on the sending side, in both drivers: a frame handed to Send occupies the
// wire until Free and has arrived, last bit included, at Arrive. Faults are drawn per frame from
// a generator of the link's own, so adding a fault to one link moves no other link's dice.
package link

import (
	"math/rand/v2"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// Config describes one direction of a link.
type Config struct {
	Rate   unit.Rate     // line rate; must be positive
	Delay  time.Duration // propagation delay
	Faults Faults
	Seed   uint64 // of the fault generator
}

// Faults are probabilities per frame, 0 to 1. The zero value is a perfect wire.
type Faults struct {
	Loss      float64
	Corrupt   float64 // one random bit of the frame is flipped
	Duplicate float64
	Reorder   float64       // the frame is held back for ReorderBy
	ReorderBy time.Duration // extra delay of a reordered frame
}

// Stats counts what the faults did.
type Stats struct{ Lost, Corrupted, Duplicated, Reordered uint64 }

// Sender is one direction of a wire.
type Sender struct {
	Stats Stats

	cfg    Config
	serial unit.Serial
	rng    *rand.Rand
}

// NewSender returns the sending side of a wire.
func NewSender(cfg Config) *Sender {
	return &Sender{cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 0x6c696e6b))}
}

// Config returns what the wire is set to.
func (s *Sender) Config() Config { return s.cfg }

// SetFaults changes the faults for the frames to come.
func (s *Sender) SetFaults(f Faults) { s.cfg.Faults = f }

// SetRate changes the line rate for the frames to come.
func (s *Sender) SetRate(r unit.Rate) { s.cfg.Rate = r }

// Start puts n bytes of frame on the wire at now. The wire is free again at free, and the last
// bit arrives at arrive. Preamble, FCS and inter-frame gap are added here; frames below the
// minimum are padded as a MAC would.
func (s *Sender) Start(now unit.Time, n unit.Bytes) (free, arrive unit.Time) {
	free = now.Add(s.serial.Time(wire.OnLine(n), s.cfg.Rate))
	return free, free.Add(s.cfg.Delay)
}

// Fate is what the faults decide about one frame.
type Fate struct {
	Lost      bool
	Duplicate bool
	FlipBit   int // bit to flip, or -1
	Hold      time.Duration
}

// Judge draws the fate of a frame of n bytes and counts it.
func (s *Sender) Judge(n unit.Bytes) Fate {
	fate := Fate{FlipBit: -1}
	f := &s.cfg.Faults
	if *f == (Faults{}) {
		return fate
	}
	if s.hit(f.Loss) {
		s.Stats.Lost++
		fate.Lost = true
		return fate
	}
	if s.hit(f.Corrupt) {
		s.Stats.Corrupted++
		fate.FlipBit = s.rng.IntN(int(n) * 8)
	}
	if s.hit(f.Reorder) {
		s.Stats.Reordered++
		fate.Hold = f.ReorderBy
	}
	if s.hit(f.Duplicate) {
		s.Stats.Duplicated++
		fate.Duplicate = true
	}
	return fate
}

func (s *Sender) hit(p float64) bool { return p > 0 && s.rng.Float64() < p }
