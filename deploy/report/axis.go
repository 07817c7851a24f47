package report

import (
	"math"
	"strconv"
)

// axis maps values from 0 to Max onto a length, with ticks at round numbers.
type axis struct {
	max   float64 // in the unit
	unit  step
	ticks []float64 // in the unit
}

// newAxis covers 0 to largest, given in the base unit, with about want ticks. With room it ends
// at a tick; otherwise at largest itself, as a time axis does.
func newAxis(s scale, largest float64, want int, room bool) axis {
	if !known(largest) || largest <= 0 {
		largest = 1
	}
	u := s.fit(largest)
	a := axis{max: largest / u.size, unit: u}
	by := roundStep(a.max / float64(want))
	if room {
		a.max = by * math.Ceil(a.max/by-1e-9)
	}
	for i := 0; float64(i)*by <= a.max*(1+1e-9); i++ {
		a.ticks = append(a.ticks, float64(i)*by)
	}
	return a
}

// roundStep returns the smallest of 1, 2, 5 times a power of ten that is at least v.
func roundStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// at returns where a value in the base unit lies: 0 at the origin, 1 at the end.
func (a axis) at(v float64) float64 { return v / a.unit.size / a.max }

// label prints a tick without needless digits.
func (a axis) label(tick float64) string {
	return strconv.FormatFloat(math.Round(tick*1e6)/1e6, 'f', -1, 64)
}

// text prints a value in the unit of the axis, to three digits.
func (a axis) text(v float64) string {
	v /= a.unit.size
	if v >= 100 {
		return withUnit(strconv.FormatFloat(v, 'f', 0, 64), a.unit.name)
	}
	return withUnit(strconv.FormatFloat(v, 'g', 3, 64), a.unit.name)
}
