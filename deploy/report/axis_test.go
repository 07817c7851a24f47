package report

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestAxisTicks(t *testing.T) {
	for _, c := range []struct {
		largest float64
		scale   scale
		room    bool
		want    string
	}{
		{27e9, bitRates, true, "[0 10 20 30] Gb/s to 30"},
		{620e3, sizes, true, "[0 200 400 600 800] KB to 800"},
		{20e6, times, false, "[0 5 10 15 20] ms to 20"},
		{13.7e6, times, false, "[0 5 10] ms to 13.7"},
		{0, counts, true, "[0 0.5 1]  to 1"},
		{math.NaN(), counts, true, "[0 0.5 1]  to 1"},
	} {
		want := 4
		if c.scale[0].name == "" {
			want = 2
		}
		a := newAxis(c.scale, c.largest, want, c.room)
		if got := fmt.Sprintf("%v %s to %v", a.ticks, a.unit.name, a.max); got != c.want {
			t.Errorf("%v: %s, want %s", c.largest, got, c.want)
		}
	}
}

// TestAxisProperty: few ticks, none beyond the end, and the largest value inside.
func TestAxisProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		largest := rapid.Float64Range(1e-3, 1e15).Draw(t, "largest")
		want := rapid.IntRange(2, 8).Draw(t, "want")
		room := rapid.Bool().Draw(t, "room")
		a := newAxis(bitRates, largest, want, room)
		if n := len(a.ticks); n < 1 || n > want+2 {
			t.Fatalf("%d ticks: %v", n, a)
		}
		if at := a.at(largest); at > 1+1e-9 || at < 0.1 {
			t.Fatalf("the largest value is at %v: %v", at, a)
		}
		if last := a.ticks[len(a.ticks)-1]; last > a.max*(1+1e-6) {
			t.Fatalf("a tick at %v beyond the end %v", last, a.max)
		}
	})
}

// TestDecimateKeepsExtremes: whatever the number of columns, no spike is lost and no sample is
// counted twice.
func TestDecimateKeepsExtremes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e9, 1e9), 1, 300).Draw(t, "values")
		columns := rapid.IntRange(1, 50).Draw(t, "columns")
		times := make([]int64, len(values))
		for i := range times {
			times[i] = int64(i) * 10
		}
		points := decimate(times, values, int64(len(values))*10, columns)
		if len(points) > columns {
			t.Fatalf("%d points in %d columns", len(points), columns)
		}
		low, high, n, last := math.Inf(1), math.Inf(-1), 0, -1.0
		for _, p := range points {
			low, high, n = min(low, p.min), max(high, p.max), n+p.n
			if p.mean < p.min-1 || p.mean > p.max+1 || p.at <= last || p.at > 1 {
				t.Fatalf("point %+v after %v", p, last)
			}
			last = p.at
		}
		if low != slices.Min(values) || high != slices.Max(values) || n != len(values) {
			t.Fatalf("%v..%v of %d samples, want %v..%v of %d", low, high, n, slices.Min(values),
				slices.Max(values), len(values))
		}
	})
}

// TestRebinKeepsTheSum: no event is lost between two bars.
func TestRebinKeepsTheSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 300).Draw(t, "counts")
		width := 20 * rapid.Int64Range(1, 30).Draw(t, "width")
		var times []int64
		var values []float64
		want := 0
		for i, n := range events {
			times, values, want = append(times, int64(i+1)*20), append(values, float64(n)), want+n
		}
		sum, last := 0.0, 0.0
		for _, b := range rebin(times, values, int64(len(events))*20, width) {
			if sum += b.sum; b.from < last || b.to <= b.from || b.to > 1 {
				t.Fatalf("bar %+v after %v", b, last)
			}
			last = b.from
		}
		if sum != float64(want) {
			t.Fatalf("%v events drawn, want %v", sum, want)
		}
	})
}
