package qos

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// Curve is a probability by queue length: 0 up to Kmin, linear from there to Pmax at Kmax, 1
// above. [DCQCN] equation 5 and figure 5. The zero value is a curve that is always 0.
type Curve struct {
	Kmin, Kmax unit.Bytes
	Pmax       float64 // 0 to 1
}

// Step marks everything behind a queue longer than k, and nothing else: the marking of DCTCP,
// which [DCQCN] section 5.2 calls cut-off.
func Step(k unit.Bytes) Curve { return Curve{Kmin: k, Kmax: k, Pmax: 1} }

// Validate says what is wrong with the curve.
func (c Curve) Validate() error {
	switch {
	case c.Kmin < 0 || c.Kmax < c.Kmin || c.Kmax > maxCurve:
		return fmt.Errorf("thresholds %v and %v: want 0 <= minimum <= maximum <= %v",
			c.Kmin, c.Kmax, maxCurve)
	case !(c.Pmax >= 0 && c.Pmax <= 1):
		return fmt.Errorf("probability %v: want 0 to 1", c.Pmax)
	}
	return nil
}

// maxCurve keeps the product in chance within 64 bits.
const maxCurve unit.Bytes = 1 << 31

// Probability is the curve as a number, for reports and tests.
func (c Curve) Probability(queue unit.Bytes) float64 {
	l := newLine(c)
	return float64(l.chance(queue)) / certain
}

// line is a curve in 32-bit fixed point.
type line struct {
	min, max, span unit.Bytes
	pmax           uint64
	on             bool
}

// certain is the chance of what happens always.
const certain = 1 << 32

func newLine(c Curve) line {
	return line{min: c.Kmin, max: c.Kmax, span: c.Kmax - c.Kmin,
		pmax: uint64(math.Round(c.Pmax * certain)), on: c != Curve{}}
}

// chance is the probability in parts of certain.
func (l *line) chance(queue unit.Bytes) uint64 {
	switch {
	case !l.on || queue <= l.min:
		return 0
	case queue > l.max:
		return certain
	}
	return l.pmax * uint64(queue-l.min) / uint64(l.span)
}

// Point is where a frame is judged.
type Point uint8

// The points.
const (
	// AtEnqueue judges a frame that arrives by the queue in front of it: [DCQCN] section 3.1, "an
	// arriving packet is ECN-marked if the queue length exceeds a threshold".
	AtEnqueue Point = iota
	// AtDequeue judges a frame that leaves by the queue behind it, which tells the sender sooner.
	AtDequeue
)

// WREDConfig is the profile of a queue. SAI_WRED_ATTR_*.
type WREDConfig struct {
	Mark Curve // for frames that are ECN-capable
	Drop Curve // for those that are not
	At   Point
}

// Validate says what is wrong with the profile.
func (c WREDConfig) Validate() error {
	if err := c.Mark.Validate(); err != nil {
		return fmt.Errorf("mark: %w", err)
	}
	if err := c.Drop.Validate(); err != nil {
		return fmt.Errorf("drop: %w", err)
	}
	return nil
}

// WRED marks or drops by the length of the queue at this moment, not its average.
type WRED struct {
	At         Point
	mark, drop line
}

// NewWRED returns the machine of a valid profile.
func NewWRED(c WREDConfig) WRED {
	return WRED{At: c.At, mark: newLine(c.Mark), drop: newLine(c.Drop)}
}

// Verdict is what happens to a frame.
type Verdict uint8

// The verdicts.
const (
	Drop Verdict = iota
	Mark         // set CE
	Pass
)

// Judge decides about one frame. A frame that is marked already passes; only a chance between
// never and always draws a number.
func (w *WRED) Judge(queue unit.Bytes, ecn frame.ECN, rng *rand.Rand) Verdict {
	switch ecn {
	case frame.CE:
		return Pass
	case frame.NotECT:
		if happens(w.drop.chance(queue), rng) {
			return Drop
		}
	default:
		if happens(w.mark.chance(queue), rng) {
			return Mark
		}
	}
	return Pass
}

func happens(chance uint64, rng *rand.Rand) bool {
	switch chance {
	case 0:
		return false
	case certain:
		return true
	}
	return uint64(rng.Uint32()) < chance
}
