package qos

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/unit"
)

const us = unit.Time(time.Microsecond)

func TestOccupancy(t *testing.T) {
	o := NewOccupancy(12 * unit.MB)
	o.Set(10*us, 40*unit.KB) // empty for 10
	o.Set(20*us, 80*unit.KB) // 40 KB for 10
	o.Set(40*us, 0)          // 80 KB for 20
	want := OccupancySummary{Span: 50 * time.Microsecond, Mean: 40e3, P99: 80 * unit.KB,
		Max: 80 * unit.KB}
	if got := o.Summary(50 * us); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	o.Set(1e6*us, 5*unit.MB) // empty nearly all the time
	if got := o.Summary(1e6*us + 1); got.P99 != 0 || got.Max != 5*unit.MB {
		t.Errorf("%+v", got)
	}
	o.Reset(2e6 * us)
	want = OccupancySummary{Span: time.Second, Mean: 5e6, P99: 5 * unit.MB, Max: 5 * unit.MB}
	if got := o.Summary(3e6 * us); got != want {
		t.Errorf("after a reset: %+v", got)
	}
}

// TestQuantiles: of 100 us the queue was empty for 10, at 40 KB for 30, at 80 KB for 60.
func TestQuantiles(t *testing.T) {
	o := NewOccupancy(12 * unit.MB)
	if got := o.Quantiles(0); got != (Quantiles{}) {
		t.Errorf("before any time has passed: %v", got)
	}
	o.Set(10*us, 40*unit.KB)
	o.Set(40*us, 80*unit.KB)
	var want Quantiles
	for i := range want {
		switch percent := i * QuantileStep; {
		case percent > 40:
			want[i] = 80 * unit.KB
		case percent > 10:
			want[i] = 40 * unit.KB
		}
	}
	if got := o.Quantiles(100 * us); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	o.Reset(100 * us)
	if got := o.Quantiles(200 * us); got.At(0) != 80*unit.KB || got.At(100) != 80*unit.KB {
		t.Errorf("after a reset: %v", got)
	}
}

// TestLongRun: a day at 10 MB is more than 64 bits of bytes times nanoseconds.
func TestLongRun(t *testing.T) {
	o := NewOccupancy(12 * unit.MB)
	o.Set(0, 10*unit.MB)
	if got := o.Summary(unit.Time(24 * time.Hour)).Mean; math.Abs(got-10e6) > 1e-3 {
		t.Errorf("mean %v", got)
	}
}

// TestBins: each length lies above the bin before its own and not above the edge of its own, and
// bins are as narrow as promised.
func TestBins(t *testing.T) {
	for n := unit.Bytes(0); n < 40*unit.MB; n += 997 {
		bin := binOf(n)
		upper, lower := upperEdge(bin), unit.Bytes(-1)
		if bin > 0 {
			lower = upperEdge(bin - 1)
		}
		if n <= lower || n > upper {
			t.Fatalf("%d in bin %d of (%d, %d]", n, bin, lower, upper)
		}
		if width := upper - lower; bin > 0 && width > binWidth && width*subBins > lower {
			t.Fatalf("bin %d at %d is %d wide", bin, lower, width)
		}
	}
}

// TestAgainstSortedTimes computes everything from the list of all levels.
func TestAgainstSortedTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := NewOccupancy(12 * unit.MB)
		var now unit.Time
		var level unit.Bytes
		levels := map[unit.Bytes]time.Duration{}
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			d := rapid.IntRange(0, 100000).Draw(t, "ns")
			levels[level] += time.Duration(d)
			now += unit.Time(d)
			level = unit.Bytes(rapid.IntRange(0, 3000).Draw(t, "kb")) * unit.KB
			o.Set(now, level)
		}
		if now == 0 {
			return
		}
		var keys []unit.Bytes
		var sum float64
		for n, d := range levels {
			keys = append(keys, n)
			sum += float64(n) * float64(d)
		}
		slices.Sort(keys)
		var p99 unit.Bytes
		below := time.Duration(0)
		for _, n := range keys {
			if below += levels[n]; below >= now.Sub(0)-now.Sub(0)/100 {
				p99 = n
				break
			}
		}
		got := o.Summary(now)
		if math.Abs(got.Mean-sum/float64(now)) > 1e-6*got.Mean+1e-6 {
			t.Fatalf("mean %v, want %v", got.Mean, sum/float64(now))
		}
		if got.P99 < p99 || float64(got.P99) > float64(p99)*1.016+1 {
			t.Fatalf("p99 %v, want %v", got.P99, p99)
		}
	})
}

func BenchmarkOccupancy(b *testing.B) {
	o := NewOccupancy(12 * unit.MB)
	b.ReportAllocs()
	var now unit.Time
	for b.Loop() {
		now += 217
		o.Set(now, unit.Bytes(now%200000))
	}
	if o.Summary(now).Max == 0 {
		b.Fatal("nothing was seen")
	}
}
