package app

import (
	"math"
	"math/bits"
	"time"
)

// Histogram counts durations in buckets an eighth of a power of two wide, so that a quantile is
// off by an eighth at most. The zero value is empty.
type Histogram struct {
	Count   uint64
	Sum     time.Duration
	Max     time.Duration
	buckets [64 << subBits]uint64
}

const subBits = 3

// Add counts one duration; negative ones count as zero.
func (h *Histogram) Add(d time.Duration) {
	d = max(d, 0)
	h.Count++
	h.Sum += d
	h.Max = max(h.Max, d)
	h.buckets[bucketOf(d)]++
}

func bucketOf(d time.Duration) int {
	v := uint64(d)
	if v < 1<<subBits {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - subBits
	return (shift+1)<<subBits | int(v>>shift)&(1<<subBits-1)
}

// upper is the largest duration of a bucket.
func upper(bucket int) time.Duration {
	if bucket < 1<<subBits {
		return time.Duration(bucket)
	}
	shift := bucket>>subBits - 1
	base := uint64(1<<subBits|bucket&(1<<subBits-1)) << shift
	return time.Duration(base + 1<<shift - 1)
}

// Mean is the average; zero if there is nothing.
func (h *Histogram) Mean() time.Duration {
	if h.Count == 0 {
		return 0
	}
	return h.Sum / time.Duration(h.Count)
}

// Quantile returns a duration that a part q of all, 0 to 1, does not exceed.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.Count == 0 {
		return 0
	}
	rank, seen := uint64(math.Ceil(q*float64(h.Count))), uint64(0)
	for i, n := range h.buckets {
		if seen += n; seen > 0 && seen >= rank {
			return min(upper(i), h.Max)
		}
	}
	return h.Max
}

// Below returns how many durations are less than ns, which must be a power of two of at least 8.
func (h *Histogram) Below(ns uint64) (n uint64) {
	for _, c := range h.buckets[:bucketOf(time.Duration(ns))] {
		n += c
	}
	return n
}

// Each calls fn for every bucket that is not empty, from small to large: how many durations there
// are in it, none above upTo.
func (h *Histogram) Each(fn func(upTo time.Duration, n uint64)) {
	for i, n := range h.buckets {
		if n > 0 {
			fn(upper(i), n)
		}
	}
}

// Merge adds all that o has counted.
func (h *Histogram) Merge(o *Histogram) {
	h.Count += o.Count
	h.Sum += o.Sum
	h.Max = max(h.Max, o.Max)
	for i, c := range o.buckets {
		h.buckets[i] += c
	}
}
