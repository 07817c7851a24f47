package unit

import (
	"math"
	"time"
)

// Time is a virtual instant in nanoseconds since the lab's clock started.
type Time int64

// Never is later than every instant: the deadline of nothing.
const Never Time = math.MaxInt64

// Add returns t+d. Never stays Never, and a sum that would pass it becomes it.
func (t Time) Add(d time.Duration) Time {
	if t == Never || (d > 0 && t > Never-Time(d)) {
		return Never
	}
	return t + Time(d)
}

// Sub returns the time from u to t, negative if t is before u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// String prints t as a duration since the start, or "never".
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	return time.Duration(t).String()
}
