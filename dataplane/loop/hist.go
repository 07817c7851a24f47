package loop

import (
	"math/bits"
	"time"
)

// Hist is a histogram of durations in powers of two nanoseconds: bucket i counts durations below
// 2^i ns that no lower bucket counts.
type Hist struct {
	Buckets [40]uint64
	Count   uint64
	Sum     time.Duration
	Max     time.Duration
}

// Add counts d; below zero counts as zero.
func (h *Hist) Add(d time.Duration) {
	d = max(d, 0)
	h.Buckets[min(bits.Len64(uint64(d)), len(h.Buckets)-1)]++
	h.Count++
	h.Sum += d
	h.Max = max(h.Max, d)
}

// Quantile returns an upper bound of the q-quantile, exact to a factor of two and never above Max.
func (h *Hist) Quantile(q float64) time.Duration {
	want := uint64(q * float64(h.Count))
	var seen uint64
	for i, n := range h.Buckets {
		if seen += n; seen > want {
			return min(time.Duration(1)<<i, h.Max)
		}
	}
	return h.Max
}
