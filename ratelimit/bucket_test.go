package ratelimit

import (
	"testing"
	"time"

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

// TestPeriodicBucket is the token bucket of [QCN] section 3.2: 3 KB deep, tokens "periodically
// added every 16usec", whole bytes and one at least. At 1 Gb/s a filling is 2000 bytes.
func TestPeriodicBucket(t *testing.T) {
	const us = unit.Time(time.Microsecond)
	b := NewBucket(0, unit.GbPerSecond, 3*unit.KB)
	b.Shape(0, 3*unit.KB, Filling{Every: 16 * time.Microsecond})
	ready := func(now, want unit.Time) {
		t.Helper()
		if got := b.Ready(now); got != want {
			t.Errorf("at %v ready at %v, want %v", now, got, want)
		}
	}
	b.Take(0, 3000)
	ready(0, 0) // owes nothing
	b.Take(0, 1500)
	ready(0, 16*us)
	ready(15*us, 16*us) // nothing drips in between
	ready(16*us, 16*us) // has 500
	b.Take(16*us, 4600)
	ready(20*us, 64*us) // owes 4100: three fillings
	ready(64*us, 64*us)
	ready(500*us, 500*us)
	b.Take(500*us, 3001) // full again, and no fuller
	ready(500*us, 512*us)

	b = NewBucket(0, unit.GbPerSecond, 0)
	b.Shape(0, 3*unit.KB, Filling{Every: 16 * time.Microsecond})
	b.SetRate(0, 750_000) // 1.5 bytes: the granularity is a byte, 0.5 Mb/s
	b.Take(0, 10)
	ready(0, 160*us)
	b.SetRate(0, 1) // "the minimum achievable rate"
	ready(0, 160*us)
	b.SetRate(0, 0)
	ready(0, unit.Never)
}

// TestPhase: fillings that are late by a phase come at 5, 21, 37 us, the first one too.
func TestPhase(t *testing.T) {
	const us = unit.Time(time.Microsecond)
	f := Filling{Every: 16 * time.Microsecond, Phase: 5 * time.Microsecond}
	b := NewBucket(0, unit.GbPerSecond, 3*unit.KB)
	b.Shape(0, 3*unit.KB, f)
	b.Take(0, 4000)
	for _, c := range []struct {
		now  unit.Time
		take unit.Bytes
		want unit.Time
	}{{0, 0, 5 * us}, {4 * us, 0, 5 * us}, {5 * us, 3000, 21 * us}, {20 * us, 1001, 37 * us},
		{37 * us, 0, 37 * us}} {
		b.Take(c.now, c.take)
		if got := b.Ready(c.now); got != c.want {
			t.Errorf("at %v %v taken: ready at %v, want %v", c.now, c.take, got, c.want)
		}
	}
}

// TestDrift: so many fillings fit the second that begins 5 us before the first: 999,995,000 over
// 16,000, and one; with a clock that is 100 ppm slow over 16,001.6, and fast over 15,998.4. And at
// each nanosecond as many as are past.
func TestDrift(t *testing.T) {
	for drift, want := range map[int64]int64{0: 62_500, 1600: 62_494, -1600: 62_506} {
		f := Filling{Every: 16 * time.Microsecond, Phase: 5 * time.Microsecond, Drift: drift}
		if got := f.ticks(unit.Time(time.Second)); got != want {
			t.Errorf("drift %d ps: %d fillings in a second, want %d", drift, got, want)
		}
		for tick := int64(1); tick < 200_000; tick += 997 {
			if at := f.at(tick); f.ticks(at) != tick || f.ticks(at-1) != tick-1 {
				t.Fatalf("drift %d ps: filling %d at %v, but %d then and %d before", drift, tick,
					at, f.ticks(at), f.ticks(at-1))
			}
		}
	}
}

// TestShape: a bucket that gets another shape keeps its debt, and of its credit what fits.
func TestShape(t *testing.T) {
	b := NewBucket(0, 8e9, 5000)
	b.Shape(0, 1000, Filling{})
	b.Take(0, 3000)
	if got := b.Ready(0); got != 2000 { // 2000 bytes at a byte a nanosecond
		t.Errorf("ready at %v", got)
	}
	b.Shape(500, 3000, Filling{Every: time.Microsecond}) // owes 1500
	if got := b.Ready(500); got != 2000 {
		t.Errorf("ready at %v", got)
	}
}
