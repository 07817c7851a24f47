package bench

import (
	"slices"
	"testing"
)

// perRound is how many frames each forwarder moves in a round.
const perRound = 50_000

// BenchmarkForward moves frames through each forwarder in turn, in several rounds, and reports the
// median time per frame of each and the ratio of the rates: above 1 is faster than the bare one.
func BenchmarkForward(b *testing.B) {
	r := newRig(b)
	forwarders := []struct {
		name  string
		start func(*testing.B) func()
	}{{"bare", r.bare}, {"switchd", r.switchd}, {"bridge", r.bridge}}
	const rounds = 5
	times := make(map[string][]float64)
	for b.Loop() {
		for range rounds {
			for _, f := range forwarders {
				stop := f.start(b)
				r.push(b, window) // warm up
				times[f.name] = append(
					times[f.name],
					float64(r.push(b, perRound).Nanoseconds())/perRound,
				)
				stop()
			}
		}
	}
	median := func(name string) float64 {
		t := times[name]
		slices.Sort(t)
		return t[len(t)/2]
	}
	for _, f := range forwarders {
		b.ReportMetric(median(f.name), f.name+"-ns/frame")
		b.ReportMetric(median("bare")/median(f.name), f.name+"/bare")
	}
	b.ReportMetric(0, "ns/op") // says nothing here
}
