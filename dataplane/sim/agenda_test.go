package sim

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// TestAgenda compares the tree with a list that is searched, of sizes with one to three levels.
func TestAgenda(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{1, 2, 63, 64, 65, 5000}).Draw(t, "regions")
		a, model := newAgenda(size), make([]unit.Time, size)
		for i := range model {
			model[i] = unit.Never
		}
		now := unit.Time(0)
		add := func(t *rapid.T, after unit.Time) {
			region := rapid.IntRange(0, size-1).Draw(t, "region")
			at := after + unit.Time(rapid.IntRange(1, 3000).Draw(t, "at"))
			a.add(region, at)
			model[region] = min(model[region], at)
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) { add(t, now) },
			"run": func(t *rapid.T) {
				end := now + unit.Time(rapid.IntRange(0, 1000).Draw(t, "end"))
				var ran, want []int
				for i, at := range model {
					if at <= end {
						want = append(want, i)
					}
				}
				a.run(end, func(region int) unit.Time {
					ran = append(ran, region)
					for range rapid.IntRange(0, 3).Draw(t, "frames") {
						add(t, end)
					}
					next := unit.Never
					if rapid.Bool().Draw(t, "more") {
						next = end + unit.Time(rapid.IntRange(1, 500).Draw(t, "next"))
					}
					model[region] = next
					return next
				})
				now = end
				if !slices.Equal(ran, want) {
					t.Fatalf("ran %v, due were %v", ran, want)
				}
			},
			"": func(t *rapid.T) {
				if want := slices.Min(model); a.next() != want {
					t.Fatalf("next is %v, want %v", a.next(), want)
				}
			},
		})
	})
}
