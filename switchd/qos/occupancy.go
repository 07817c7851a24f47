package qos

import (
	"math/bits"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// The bins of Occupancy: 1,000 bytes wide up to fine, then subBins to each doubling.
const (
	binWidth unit.Bytes = 1000
	fineBins            = 1024
	subBins             = 64
)

// Occupancy is for how long a queue had which length. The mean is exact, a quantile is exact to
// 1 KB up to 1 MB, and to 1.6 % above.
type Occupancy struct {
	level unit.Bytes
	since unit.Time // of level

	start unit.Time
	max   unit.Bytes
	sumHi uint64 // of length times time, in bytes x ns, 128 bits
	sumLo uint64
	inBin []time.Duration // their sum is since-start; those up to the longest length so far
	bins  int             // that there can be
}

// OccupancySummary is what reports print.
type OccupancySummary struct {
	Span time.Duration // since the last Reset
	Mean float64       // bytes
	P99  unit.Bytes    // not exceeded for 99 % of the time; the upper edge of its bin
	Max  unit.Bytes
}

// QuantileStep is how far apart quantiles are, in percent.
const QuantileStep = 5

// Quantiles are lengths that were not exceeded for 0, 5, 10 to 100 % of the time: the distribution
// of the length.
type Quantiles [100/QuantileStep + 1]unit.Bytes

// At is the length that was not exceeded for so many percent of the time, a multiple of
// QuantileStep.
func (q *Quantiles) At(percent int) unit.Bytes { return q[percent/QuantileStep] }

// NewOccupancy makes an account of lengths up to most; longer ones count as the longest.
func NewOccupancy(most unit.Bytes) *Occupancy {
	return &Occupancy{bins: binOf(most) + 1}
}

// Grow lets the account tell lengths up to most apart. It never shrinks.
func (o *Occupancy) Grow(most unit.Bytes) {
	o.bins = max(o.bins, binOf(most)+1)
}

// Set tells that the length is level from now on.
func (o *Occupancy) Set(now unit.Time, level unit.Bytes) {
	o.pass(now)
	o.level = level
	o.max = max(o.max, level)
}

// pass accounts for the time up to now at the present level.
func (o *Occupancy) pass(now unit.Time) {
	d := now.Sub(o.since)
	if d == 0 {
		return
	}
	o.since = now
	bin := min(binOf(o.level), o.bins-1)
	if bin >= len(o.inBin) {
		o.inBin = append(o.inBin, make([]time.Duration, bin+1-len(o.inBin))...)
	}
	o.inBin[bin] += d
	hi, lo := bits.Mul64(uint64(o.level), uint64(d))
	var carry uint64
	o.sumLo, carry = bits.Add64(o.sumLo, lo, 0)
	o.sumHi += hi + carry
}

// Reset starts anew at the present level.
func (o *Occupancy) Reset(now unit.Time) {
	clear(o.inBin)
	o.start, o.since, o.max = now, now, o.level
	o.sumHi, o.sumLo = 0, 0
}

// Summary tells what was since the last Reset.
func (o *Occupancy) Summary(now unit.Time) OccupancySummary {
	o.pass(now)
	s := OccupancySummary{Span: now.Sub(o.start), Max: o.max}
	if s.Span == 0 {
		s.Mean, s.P99 = float64(o.level), o.level
		return s
	}
	s.Mean = (float64(float64(o.sumHi)*(1<<64)) + float64(o.sumLo)) / float64(s.Span)
	need := s.Span - s.Span/100
	for bin, d := range o.inBin {
		if need -= d; need <= 0 {
			s.P99 = min(upperEdge(bin), o.max)
			break
		}
	}
	return s
}

// Quantiles tells how the length was distributed since the last Reset. Each is the upper edge of
// its bin, as in Summary.
func (o *Occupancy) Quantiles(now unit.Time) (q Quantiles) {
	o.pass(now)
	span := now.Sub(o.start)
	if span == 0 {
		for i := range q {
			q[i] = o.level
		}
		return q
	}
	next, below := 0, time.Duration(0)
	for bin, d := range o.inBin {
		if d == 0 {
			continue
		}
		below += d
		for ; next < len(q) && below >= part(span, next*QuantileStep); next++ {
			q[next] = min(upperEdge(bin), o.max)
		}
	}
	return q
}

// part is so many percent of d, rounded up, without overflow.
func part(d time.Duration, percent int) time.Duration {
	rest := 100 - time.Duration(percent)
	return d - d/100*rest - d%100*rest/100
}

// binOf returns the bin of a length: bin 0 is empty, bin n is above (n-1) to n KB, and from
// fineBins on, each doubling has subBins bins.
func binOf(n unit.Bytes) int {
	k := int((n + binWidth - 1) / binWidth)
	if k <= fineBins {
		return k
	}
	octave := bits.Len(uint(k-1)) - bits.Len(uint(fineBins)) // of 1024 KB < k-1 < 2048 KB: 0
	step := (fineBins << octave) / subBins
	return fineBins + octave*subBins + (k-1-fineBins<<octave)/step + 1
}

// upperEdge is the largest length in a bin.
func upperEdge(bin int) unit.Bytes {
	if bin <= fineBins {
		return unit.Bytes(bin) * binWidth
	}
	octave, sub := (bin-fineBins-1)/subBins, (bin-fineBins-1)%subBins
	step := (fineBins << octave) / subBins
	return unit.Bytes(fineBins<<octave+(sub+1)*step) * binWidth
}
