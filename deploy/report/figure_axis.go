package report

import (
	"math"
	"slices"
	"strconv"

	"github.com/rocelab/rocelab/deploy/suite"
)

// span is an axis of a figure: values between two ends, linear or logarithmic, or names at 0, 1,
// 2, ... In contrast to axis its values come with their unit, and need not begin at 0.
type span struct {
	low, high float64 // as place makes them
	log       bool
	ticks     []tickAt
}

// tickAt is a labelled value of an axis.
type tickAt struct {
	value float64
	label string
}

// place turns a value into what is linear on paper.
func (s *span) place(v float64) float64 {
	if s.log {
		return math.Log10(v) // what has no logarithm is below every axis
	}
	return v
}

// at returns where a value lies: 0 at the beginning, 1 at the end.
func (s *span) at(v float64) float64 {
	at := (s.place(v) - s.low) / (s.high - s.low)
	if math.IsNaN(at) {
		return math.Inf(-1)
	}
	return at
}

// newSpan covers values with about want ticks. With room it ends at ticks, as upright axes do.
func newSpan(a suite.Axis, values []float64, want int, room bool) *span {
	s := &span{log: a.Log}
	placed := []float64{}
	for _, v := range values {
		if v = s.place(v); known(v) {
			placed = append(placed, v)
		}
	}
	if len(placed) == 0 {
		placed = []float64{0, 1}
	}
	s.low, s.high = slices.Min(placed), slices.Max(placed)
	if s.low == s.high { // a single value stands in the middle
		off := max(math.Abs(s.low)/10, 0.5)
		s.low, s.high = s.low-off, s.high+off
	}
	switch {
	case len(a.Names) > 0:
		s.low, s.high = min(s.low, 0), max(s.high, float64(len(a.Names)-1))
		for i, name := range a.Names {
			s.ticks = append(s.ticks, tickAt{float64(i), name})
		}
	case a.Log:
		s.logTicks(room)
	default:
		s.linearTicks(want, room)
	}
	return s
}

// widen leaves room at both ends, in the measure of place.
func (s *span) widen(by float64) { s.low, s.high = s.low-by, s.high+by }

// linearTicks begins at 0 where that costs less than half of the paper.
func (s *span) linearTicks(want int, room bool) {
	if room && s.low > 0 && s.low < s.high/2 {
		s.low = 0
	}
	by := roundStep((s.high - s.low) / float64(want))
	if room {
		s.low, s.high = by*math.Floor(s.low/by+1e-9), by*math.Ceil(s.high/by-1e-9)
	}
	for i := math.Ceil(s.low/by - 1e-9); i*by <= s.high+by*1e-9; i++ {
		v := i*by + 0 // and not -0
		s.ticks = append(s.ticks, tickAt{v, tickLabel(v)})
	}
}

// logTicks puts ticks at powers of ten, and with few of those at 2 and 5 times them as well. With
// many it leaves some out.
func (s *span) logTicks(room bool) {
	const near = 1e-9
	if room {
		s.low, s.high = math.Floor(s.low+near), math.Ceil(s.high-near)
	}
	factors, every := []float64{1}, 1.0
	switch decades := s.high - s.low; {
	case decades <= 2:
		factors = []float64{1, 2, 5}
	case decades > 7:
		every = math.Ceil(decades / 7)
	}
	for decade := math.Floor(s.low); decade <= s.high+near; decade += every {
		for _, f := range factors {
			v := f * math.Pow(10, decade)
			if at := math.Log10(v); at >= s.low-near && at <= s.high+near {
				s.ticks = append(s.ticks, tickAt{v, tickLabel(v)})
			}
		}
	}
}

// tickLabel prints a value shortly.
func tickLabel(v float64) string {
	if size := math.Abs(v); size >= 1e5 || size < 1e-3 && size > 1e-12 {
		mantissa, exponent := v, 0
		for ; math.Abs(mantissa) >= 10*(1-1e-9); mantissa /= 10 {
			exponent++
		}
		for ; math.Abs(mantissa) < 1-1e-9; mantissa *= 10 {
			exponent--
		}
		return trimZeros(strconv.FormatFloat(mantissa, 'f', 3, 64)) + "e" +
			strconv.Itoa(exponent)
	}
	return trimZeros(strconv.FormatFloat(v, 'f', 6, 64))
}
