package link

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// active is a rule at work.
type active struct {
	Rule
	rng  *rand.Rand
	seen uint64    // frames that matched
	hits uint64    // frames that were hit
	last unit.Time // of Delay: when the latest frame was through
}

// Fate is what the rules decided about one frame. Flipped bits and marks are in it already.
type Fate struct {
	Lost bool
	Hold time.Duration // longer on the way than the propagation delay
	// Behind is how many frames pass before it goes on its way, but not longer than Within.
	Behind int
	Within time.Duration
	// Twin says that a copy follows right behind, remembered by TwinBy.
	Twin   bool
	TwinBy frame.Faults
}

// Add puts a rule behind those there are, for the frames to come. It must be valid. Rules that lose
// frames come before all others.
func (s *Sender) Add(r Rule) {
	if err := r.Validate(); err != nil {
		panic("link: rule: " + err.Error())
	}
	s.added++
	dice := rand.NewPCG(s.cfg.Seed, s.added)
	if r.Seed != 0 {
		dice = rand.NewPCG(r.Seed, 0)
	}
	at := len(s.rules)
	if r.Effect == Lose {
		at = slices.IndexFunc(s.rules, func(o *active) bool { return o.Effect != Lose })
		if at < 0 {
			at = len(s.rules)
		}
	}
	s.rules = slices.Insert(s.rules, at, &active{Rule: r, rng: rand.New(dice)})
}

// Remove ends the rules that frames remember by any of these.
func (s *Sender) Remove(by frame.Faults) {
	s.rules = slices.DeleteFunc(s.rules, func(r *active) bool {
		if r.Faults&by == 0 {
			return false
		}
		if r.Effect == Delay && !r.Selective() {
			s.floor = max(s.floor, r.last) // what comes now does not pass what was delayed
		}
		return true
	})
}

// Faulty reports whether Judge has anything to decide.
func (s *Sender) Faulty() bool { return len(s.rules) > 0 || s.floor > 0 }

// Judge decides about f, whose last bit leaves at left, changes what is to be changed in it, and
// counts. Call it for every frame, in order, while the wire is Faulty.
func (s *Sender) Judge(left unit.Time, f *frame.Frame) (fate Fate) {
	h := look(f)
	through := left
	for _, r := range s.rules {
		if (fate.Twin && r.Effect == Duplicate) || !r.picks(&h, int(f.Len())) {
			continue
		}
		r.hits++
		if r.Effect == Duplicate {
			s.Stats.Duplicated++
			fate.Twin, fate.TwinBy = true, r.Faults
			continue
		}
		f.Meta.Faults |= r.Faults
		switch r.Effect {
		case Lose:
			s.Stats.Lost++
			return Fate{Lost: true}
		case Corrupt:
			s.Stats.Corrupted++
			r.flip(f.Bytes())
			// The peer's program sees what has become of it, and so must we: who takes which
			// kind of frame is agreed between the two ends.
			h = look(f)
			f.Meta.Class.Kind = h.Kind
		case Reorder:
			s.Stats.Reordered++
			fate.Hold += r.By
			fate.Behind, fate.Within = fate.Behind+r.Behind, fate.Within+r.Within
		case Delay:
			s.Stats.Delayed++
			r.last = max(r.last, through.Add(r.By+r.jitter()))
			through = r.last
		case Mark:
			s.Stats.Marked++
			mark(f.Head(), &h)
		}
	}
	if s.floor <= left {
		s.floor = 0 // everybody is through
	}
	fate.Hold += max(through, s.floor).Sub(left)
	return fate
}

// picks reports whether the rule hits a frame.
func (r *active) picks(h *headers, size int) bool {
	switch {
	case r.Limit > 0 && r.hits >= r.Limit,
		!r.Match.takes(h),
		r.Flip.Fixed && int(r.Flip.Byte) >= size,
		r.Effect == Mark && !(h.onIP() && (h.ECN == wire.ECT0 || h.ECN == wire.ECT1)):
		return false
	}
	r.seen++
	switch {
	case r.Nth > 0 && r.seen != r.Nth, r.Every > 0 && r.seen%r.Every != 0:
		return false
	}
	return r.Chance == 0 || r.rng.Float64() < r.Chance
}

func (r *active) flip(b []byte) {
	at, mask := int(r.Flip.Byte), r.Flip.Mask
	if !r.Flip.Fixed {
		at = r.rng.IntN(len(b))
	}
	if mask == 0 {
		mask = 1 << r.rng.IntN(8)
	}
	b[at] ^= mask
}

func (r *active) jitter() time.Duration {
	if r.Jitter == 0 {
		return 0
	}
	return time.Duration(r.rng.Int64N(int64(r.Jitter) + 1))
}

// mark sets the congestion codepoint of a packet to CE. The invariant CRC of RoCEv2 leaves the
// field out (IBTA A17.3), so nothing else changes.
func mark(b []byte, h *headers) {
	h.ECN = wire.CE
	if ip, ok := wire.AsIPv6(b[h.L3Off:]); ok && ip.Version() == 6 {
		ip.SetECN(wire.CE)
		return
	}
	if ip, ok := wire.AsIPv4(b[h.L3Off:]); ok {
		ip.SetECN(wire.CE)
	}
}
