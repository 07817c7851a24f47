package fluid

import "math"

// flow is the state of one flow, or the change of it in a second: [DCQCN] table 1.
type flow struct {
	alpha   float64
	target  float64 // R_T, packets a second
	current float64 // R_C, packets a second
}

// marking is equation 5: the probability that a packet is marked where q packets wait.
func (c *coefficients) marking(q float64) float64 {
	switch {
	case q <= c.kmin:
		return 0
	case q > c.kmax:
		return 1
	}
	return (q - c.kmin) / (c.kmax - c.kmin) * c.pmax
}

// some is 1 - (1-p)^n: the probability that of n packets one at least is marked.
func some(p, n float64) float64 {
	if n == 0 || p == 0 {
		return 0
	}
	return -math.Expm1(n * math.Log1p(-p))
}

// none is (1-p)^n: the probability that of n packets none is marked.
func none(p, n float64) float64 { return 1 - some(p, n) }

// events is how often in a second n packets pass without a mark, at a rate of r packets a second:
//
//	r p / ((1-p)^-n - 1)
//
// of equations 8 and 9. It is r/n without marks, 0 if all are marked, and of n = T r there is a
// limit as r goes to 0, 1/T, because with x = -n ln(1-p) it is (r/n) (p / -ln(1-p)) (x / (e^x-1)).
func events(perSecond, n, p float64) float64 {
	if p == 0 {
		return perSecond
	}
	l := -math.Log1p(-p)
	x := n * l
	if x == 0 {
		return perSecond * p / l
	}
	if math.IsInf(x, 1) {
		return 0
	}
	return perSecond * p / l * x / math.Expm1(x)
}

// change is equations 7 to 9 for a flow: f is its state, p the marking and rate its rate of one
// loop's delay ago.
func (c *coefficients) change(f flow, p, rate float64) (d flow) {
	d.alpha = c.g / c.alphaTimer * (some(p, c.alphaTimer*rate) - f.alpha)

	decrease := some(p, c.cnp*rate) / c.cnp // notifications a second
	counter := events(rate/c.counter, c.counter, p)
	timer := events(1/c.timer, c.timer*rate, p)

	d.target = float64(-(f.target-f.current)*decrease) +
		float64(c.step*c.additive(counter, timer, p, rate))
	d.current = float64(-f.current*f.alpha/2*decrease) +
		float64((f.target-f.current)/2*(counter+timer))
	return d
}

// additive is how often in a second a flow is beyond fast recovery when its counter or its timer
// ends a round: the two last terms of equation 8.
func (c *coefficients) additive(counter, timer, p, rate float64) float64 {
	return float64(counter*none(p, c.recovery*c.counter)) +
		float64(timer*none(p, c.recovery*c.timer*rate))
}
