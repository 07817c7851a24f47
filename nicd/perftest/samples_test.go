package perftest

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// Of 1000 messages perftest has 999 gaps, leaves two out, and prints the second largest as the
// maximum.
func TestLatency(t *testing.T) {
	var gaps []time.Duration
	for i := 999; i > 0; i-- {
		gaps = append(gaps, time.Duration(2*i)*time.Microsecond)
	}
	got := latency(gaps, 2)
	want := latencies{Min: 1, Max: 998, Typical: 499, Average: 499, P99: 989, P999: 998,
		Largest: 999, Stdev: math.Sqrt(float64(997*997-1) / 12)}
	if math.Abs(got.Stdev-want.Stdev) > 1e-9 {
		t.Errorf("stdev %v, want %v", got.Stdev, want.Stdev)
	}
	got.Stdev = want.Stdev
	if got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// The order of gaps does not matter, and the columns stand in order.
func TestLatencyColumns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		us := rapid.SliceOfN(rapid.IntRange(0, 1e6), 0, 300).Draw(t, "us")
		gaps := make([]time.Duration, len(us))
		for i := range us {
			gaps[i] = time.Duration(us[i]) * time.Microsecond
		}
		l := latency(gaps, rapid.IntRange(1, 2).Draw(t, "halves"))
		if !(l.Min <= l.Typical && l.Typical <= l.Max && l.P99 <= l.P999 && l.P999 <= l.Max &&
			l.Max <= l.Largest && l.Min <= l.Average && l.Average <= l.Max+1e-9) {
			t.Fatalf("%+v", l)
		}
	})
}

// peakOracle looks at all pairs in floating point, as the definition says.
func peakOracle(b *bandwidth) (best float64) {
	for i := range b.posted {
		for j := i; j < len(b.completed); j++ {
			if b.completed[j] == 0 {
				continue
			}
			rate := float64((j-i+1)*b.size) / b.completed[j].Sub(b.posted[i]).Seconds()
			best = max(best, rate)
		}
	}
	return best
}

func TestPeak(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		every := rapid.IntRange(1, 5).Draw(t, "completion every")
		b := bandwidth{size: rapid.IntRange(1, 1<<20).Draw(t, "size"), messages: n}
		now := unit.Time(rapid.IntRange(0, 1e6).Draw(t, "start"))
		for range n {
			now = now.Add(time.Duration(rapid.IntRange(0, 1000).Draw(t, "gap")))
			b.posted = append(b.posted, now)
		}
		b.completed = make([]unit.Time, n)
		for i := range n {
			now = now.Add(time.Duration(rapid.IntRange(1, 1000).Draw(t, "gap")))
			if (i+1)%every == 0 || i == n-1 {
				b.completed[i] = now
			}
		}
		got, want := b.peak(), peakOracle(&b)
		if math.Abs(got-want) > want*1e-9 {
			t.Fatalf("%v, want %v", got, want)
		}
		b.first, b.last = b.posted[0], b.completed[n-1]
		if got < b.average()*(1-1e-9) {
			t.Fatalf("peak %v below average %v", got, b.average())
		}
	})
}

// A run of no time has no rate.
func TestNoTime(t *testing.T) {
	b := bandwidth{size: 1, messages: 1, posted: []unit.Time{5}, completed: []unit.Time{5},
		first: 5, last: 5}
	if b.average() != 0 || b.peak() != 0 || b.rate() != 0 {
		t.Errorf("%v %v %v", b.average(), b.peak(), b.rate())
	}
}
