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
//
// By hand, for marks so rare that none falls into most rounds: equation 7 at rest is
// alpha = p tau' r, with r = R_C in packets a second, and a flow is told to slow down p r times a
// second, as often as it has a mark. The timer alone ends 1/T rounds a second, all of them of
// additive increase. Equation 9 at rest is then R_T - R_C = R_C alpha p r T, and equation 8
// (R_T - R_C) p r = R_AI / T, so that
//
//	p^3 = R_AI / (R_C r^3 tau' T^2)
//
// With R_C = C/N that is p = 4.0e-4 N^(4/3) for figure 14's parameters at 40 Gb/s with packets of
// 1106 bytes: 1 %, figure 14's Pmax, at 11 flows. What was left out, rounds of fast recovery first
// of all, makes it less: 0.93 % at 13 flows and 1.02 % at 14, 1.6 % at 20.
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
