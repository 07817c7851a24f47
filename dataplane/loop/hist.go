package loop

import (
	"math/bits"
	"time"
)

// Hist is a histogram of durations with buckets of constant relative width: 1/16 of their value,
// and 1 ns below 32 ns.
type Hist struct {
	Buckets [buckets]uint64
	Count   uint64
	Sum     time.Duration
	Max     time.Duration
}

const (
	subBits = 4 // 16 buckets to each doubling
	buckets = 600
)

// Add counts d; below zero counts as zero.
func (h *Hist) Add(d time.Duration) {
	d = max(d, 0)
	h.Buckets[min(bucketOf(uint64(d)), buckets-1)]++
	h.Count++
	h.Sum += d
	h.Max = max(h.Max, d)
}

func bucketOf(v uint64) int {
	shift := max(bits.Len64(v)-subBits-1, 0)
	return shift<<subBits + int(v>>shift)
}

// upperEdge is the smallest duration that no longer counts in the bucket.
func upperEdge(bucket int) time.Duration {
	shift := max(bucket>>subBits-1, 0)
	return time.Duration(bucket-shift<<subBits+1) << shift
}

// Quantile returns an upper bound of the q-quantile, exact to 1/16 and never above Max.
func (h *Hist) Quantile(q float64) time.Duration {
	want := uint64(q * float64(h.Count))
	var seen uint64
	for i, n := range h.Buckets {
		if seen += n; seen > want {
			return min(upperEdge(i)-1, h.Max)
		}
	}
	return h.Max
}

// Below counts the durations in buckets that end at or below d.
func (h *Hist) Below(d time.Duration) (n uint64) {
	for i := 0; i < buckets && upperEdge(i)-1 <= d; i++ {
		n += h.Buckets[i]
	}
	return n
}
