package fluid

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// Point is the fixed point of the model: where nothing changes any more, if it ever gets there.
type Point struct {
	Rate    unit.Rate // of each flow: C/N, equation 10
	Target  unit.Rate
	Alpha   float64
	Marking float64
	Queue   unit.Bytes
}

// FixedPoint solves the model for n flows. It is an error if the marking that it takes is above
// Pmax: then there is none, and the queue swings about Kmax.
func (p *Params) FixedPoint(n int) (Point, error) {
	if err := p.Validate(); err != nil {
		return Point{}, fmt.Errorf("fixed point: %w", err)
	}
	c := p.coefficients()
	rate := c.capacity / float64(n)
	// Equation 8 at rest, with the target of 9: what raises the target grows and what lowers it
	// falls as marking becomes rarer, so there is one root, and bisection finds it.
	low, high := 0.0, 1.0
	for range 200 {
		mid := (low + high) / 2
		if f := c.rest(mid, rate); c.change(f, mid, rate).target > 0 {
			low = mid
		} else {
			high = mid
		}
	}
	if high > p.Pmax || p.Kmin == p.Kmax {
		return Point{}, fmt.Errorf("fixed point of %d flows: marking %.3g is not met below Kmax",
			n, high)
	}
	f, size := c.rest(high, rate), float64(p.Packet)
	queue := c.kmin + float64(high/c.pmax*(c.kmax-c.kmin))
	return Point{p.Capacity / unit.Rate(n), unit.Rate(f.target * size * 8), f.alpha, high,
		unit.Bytes(queue * size)}, nil
}

// rest is the state in which alpha and the current rate do not change: equations 7 and 9 with
// nothing on the left.
func (c *coefficients) rest(p, rate float64) flow {
	f := flow{alpha: some(p, c.alphaTimer*rate), current: rate}
	rounds := events(rate/c.counter, c.counter, p) + events(1/c.timer, c.timer*rate, p)
	f.target = rate + rate*f.alpha*some(p, c.cnp*rate)/c.cnp/rounds
	return f
}
