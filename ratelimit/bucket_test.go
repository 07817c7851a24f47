package ratelimit

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// TestReadyIsTheDivision compares Ready with the quotient that it stands for, at every rate and
// with debts up to the largest.
func TestReadyIsTheDivision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.OneOf(rapid.Int64Range(1, 10), rapid.Int64Range(1, 1e13)).Draw(t, "rate")
		n := rapid.Int64Range(1, int64(MaxBurst)).Draw(t, "bytes")
		b := NewBucket(0, 1, 0)
		b.SetRate(0, unit.Rate(rate))
		b.Take(0, unit.Bytes(n))
		owed := uint64(n) * grain
		want := (owed + uint64(rate) - 1) / uint64(rate)
		if got := b.Ready(0); got != unit.Time(want) {
			t.Fatalf("%d bytes at %d b/s: %d ns, want %d", n, rate, got, want)
		}
	})
}
