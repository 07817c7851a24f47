package unit

import (
	"math/bits"
	"time"
)

// Serial turns bytes into time on a wire, exactly: what a whole number of nanoseconds cannot
// express is carried to the next call, so a million frames take as long as their sum.
//
// The zero value is ready. It belongs to one wire; changing the rate drops less than 1 ns.
type Serial struct {
	rate Rate
	rem  uint64 // bits*1e9 not yet turned into time, below rate
}

// Time returns how long n bytes occupy a wire of rate r. r must be positive, n not negative.
func (s *Serial) Time(n Bytes, r Rate) time.Duration {
	if r != s.rate {
		s.rate, s.rem = r, 0
	}
	hi, lo := bits.Mul64(uint64(n), 8e9)
	lo, carry := bits.Add64(lo, s.rem, 0)
	q, rem := bits.Div64(hi+carry, lo, uint64(r))
	s.rem = rem
	return time.Duration(q)
}
