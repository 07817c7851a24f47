package app

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"

	"github.com/rocelab/rocelab/roce/qp"
)

// Sizes is a distribution of message sizes, by points of its cumulative distribution function in
// ascending order. Sizes between two points are equally likely; those up to the first point's P
// are all of its size.
type Sizes []SizePoint

// SizePoint says that messages are not larger than Bytes with probability P.
type SizePoint struct {
	Bytes int
	P     float64
}

// Largest is the size of the largest message.
func (s Sizes) Largest() int { return s[len(s)-1].Bytes }

// draw returns a size.
func (s Sizes) draw(from *rand.Rand) int { return s.at(from.Float64()) }

// at is the inverse of the distribution function, p in [0, 1), to the nearest byte. The conversions
// keep compilers from fusing a multiplication with an addition, so that all machines draw the same.
func (s Sizes) at(p float64) int {
	i := sort.Search(len(s), func(i int) bool { return s[i].P >= p })
	if i == 0 {
		return s[0].Bytes
	}
	low, high := s[i-1], s[i]
	part := float64((p - low.P) / (high.P - low.P))
	return low.Bytes + int(math.Round(float64(part*float64(high.Bytes-low.Bytes))))
}

func (s Sizes) validate() error {
	if len(s) == 0 || s[len(s)-1].P != 1 {
		return fmt.Errorf("sizes: the last probability must be 1")
	}
	for i, p := range s {
		low := SizePoint{}
		if i > 0 {
			low = s[i-1]
		}
		switch {
		case !(p.P > low.P) && (i > 0 || p.P != 0):
			return fmt.Errorf("sizes[%d]: p: %v does not ascend", i, p.P)
		case p.Bytes < low.Bytes || p.Bytes > qp.MaxMessage:
			return fmt.Errorf("sizes[%d]: bytes: %d is not in %d..%d", i, p.Bytes, low.Bytes,
				qp.MaxMessage)
		}
	}
	return nil
}
