package link

import (
	"errors"
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
)

// Effect is what a rule does to a frame.
type Effect uint8

// The effects. Zero is none, and no rule may have it.
const (
	NoEffect  Effect = iota
	Lose             // the frame occupies the wire and never arrives
	Corrupt          // bits of it are flipped, and the frame check sequence is right again
	Duplicate        // it is sent twice, one right behind the other
	Reorder          // it is held back while others pass
	Delay            // it takes longer, and so does everything behind it under the same rule
	Mark             // an ECN-capable packet is marked CE (RFC 3168 section 5)
)

// Rule is one fault of a wire: which frames it hits, and what happens to them.
//
// A frame meets first the rules that lose frames, then the others, in the order they were added.
// The rule takes those that Match; of these it picks the Nth, or each Every-th, or all; of these it
// hits each with Chance, until it has hit Limit. A lost frame meets no further rule, and a frame is
// doubled once at most.
type Rule struct {
	Effect Effect
	Match  Match

	Nth    uint64  // only the Nth frame that matches, from 1; 0: all
	Every  uint64  // each Every-th frame that matches; 0: all
	Chance float64 // 0 to 1; 0 means 1
	Limit  uint64  // hits after which the rule is spent; 0: never
	Seed   uint64  // of the dice; 0: from the link's seed

	Flip   Flip          // of Corrupt
	By     time.Duration // of Reorder: held so long; of Delay: the fixed part
	Jitter time.Duration // of Delay: uniform from 0 to this is added
	Behind int           // of Reorder, instead of By: held until so many frames have passed
	Within time.Duration // of Reorder with Behind: but not longer than this

	// Faults is what a frame that was hit remembers it by; empty for a wire's own badness.
	Faults frame.Faults
}

// Flip says which bits a corruption flips. The zero value is one bit anywhere in the frame.
type Flip struct {
	Fixed bool   // the byte at offset Byte, instead of any
	Byte  uint16 // counts from the destination address; shorter frames do not match
	Mask  uint8  // the bits that are flipped in it; 0: one, drawn
}

// maxHold bounds what a rule may hold a frame back for: virtual hours are not a network's.
const maxHold = time.Hour

// Validate returns why the rule means nothing.
func (r *Rule) Validate() error {
	switch {
	case r.Effect == NoEffect || r.Effect > Mark:
		return errors.New("no effect")
	case !(r.Chance >= 0 && r.Chance <= 1):
		return fmt.Errorf("probability %v: want above 0 and at most 1", r.Chance)
	case r.Nth > 0 && r.Every > 0:
		return errors.New("either the nth or every nth, not both")
	case r.Flip != Flip{} && (r.Effect != Corrupt || !r.Flip.Fixed):
		return errors.New("bits to flip are a matter of corruption at a place")
	case (r.By != 0 || r.Jitter != 0) && r.Effect != Delay && r.Effect != Reorder,
		r.Jitter != 0 && r.Effect == Reorder:
		return errors.New("time is a matter of delay and reordering, jitter of delay alone")
	case r.By < 0 || r.Jitter < 0 || r.Within < 0 || r.Behind < 0:
		return errors.New("extra delay only adds: it is never negative")
	case r.By > maxHold || r.Jitter > maxHold || r.Within > maxHold:
		return fmt.Errorf("frames are held for %v at most", maxHold)
	case r.Effect == Delay && r.By+r.Jitter == 0:
		return errors.New("a delay of nothing")
	}
	if err := r.reorder(); err != nil {
		return err
	}
	return r.Match.Validate()
}

// maxBehind bounds how many frames may pass one that is held back.
const maxBehind = 1 << 16

func (r *Rule) reorder() error {
	if r.Effect != Reorder {
		if r.Behind != 0 || r.Within != 0 {
			return errors.New("frames that pass are a matter of reordering")
		}
		return nil
	}
	switch {
	case (r.By > 0) == (r.Behind > 0):
		return errors.New("held back either for a time or for a number of frames")
	case r.Behind > maxBehind:
		return fmt.Errorf("held back for %d frames: at most %d", r.Behind, maxBehind)
	case (r.Behind > 0) != (r.Within > 0):
		return errors.New("a frame that waits for others needs a longest time, and only that one")
	}
	return nil
}

// Selective reports whether the rule leaves some frames alone.
func (r *Rule) Selective() bool {
	return r.Match != Match{} || r.Nth > 0 || r.Every > 0 || r.Limit > 0 ||
		(r.Chance > 0 && r.Chance < 1)
}
