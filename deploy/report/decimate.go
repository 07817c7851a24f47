package report

import "math"

// point is the samples of one pixel column: their extremes survive, so that a spike of a single
// sample is seen however many samples share its column.
type point struct {
	at             float64 // mean time, as a share of the span
	min, mean, max float64
	n              int
}

// decimate sorts samples into columns over the span from 0. Samples outside the span, without a
// time, or without a finite value are left out; columns without samples do not appear.
func decimate(timeNs []int64, values []float64, span int64, columns int) []point {
	if span <= 0 || columns <= 0 {
		return nil
	}
	var out []point
	last := -1
	for i := range min(len(timeNs), len(values)) {
		t, v := timeNs[i], values[i]
		if t < 0 || t > span || !known(v) {
			continue
		}
		share := float64(t) / float64(span)
		column := min(int(share*float64(columns)), columns-1)
		if column != last {
			out, last = append(out, point{min: v, max: v}), column
		}
		p := &out[len(out)-1]
		p.n++
		p.min, p.max = min(p.min, v), max(p.max, v)
		p.mean += (v - p.mean) / float64(p.n)
		p.at += (share - p.at) / float64(p.n)
	}
	return out
}

// bin is a bar of a histogram over time.
type bin struct {
	from, to float64 // shares of the span
	sum      float64
}

// rebin adds up counts per interval over bins of width ns, so that no event is lost between
// two pixels. A sample's time is the end of its interval.
func rebin(timeNs []int64, counts []float64, span, width int64) (out []bin) {
	if span <= 0 || width <= 0 {
		return nil
	}
	last := int64(-1)
	for i := range min(len(timeNs), len(counts)) {
		t, v := timeNs[i], counts[i]
		if t < 0 || t > span || !known(v) || v <= 0 {
			continue
		}
		index := max(t-1, 0) / width
		if index != last {
			from := float64(index*width) / float64(span)
			to := math.Min(1, float64((index+1)*width)/float64(span))
			out, last = append(out, bin{from: from, to: to}), index
		}
		out[len(out)-1].sum += v
	}
	return out
}
