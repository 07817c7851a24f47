package bench

import (
	"slices"
	"testing"
)

// perRound is how many frames each forwarder moves in a round.
const perRound = 30_000

// rounds is odd, so that the median is one of them.
const rounds = 11

// BenchmarkForward moves frames through each forwarder in turn, in several rounds. It reports the
// median time per frame of each, and the median over the rounds of how fast each is beside the bare
// one in the same round: above 1 is faster.
func BenchmarkForward(b *testing.B) {
	r := newRig(b)
	forwarders := []forwarder{{"bare", r.bare}, {"switchd", r.switchd}, {"bridge", r.bridge}}
	times := make([][]float64, len(forwarders))
	ratios := make([][]float64, len(forwarders))
	for b.Loop() {
		for range rounds {
			for i, f := range forwarders {
				times[i] = append(times[i], r.measure(b, f))
				last := len(times[i]) - 1
				ratios[i] = append(ratios[i], times[0][last]/times[i][last])
			}
		}
	}
	for i, f := range forwarders {
		b.ReportMetric(median(times[i]), f.name+"-ns/frame")
		b.ReportMetric(median(ratios[i]), f.name+"/bare")
	}
	b.ReportMetric(0, "ns/op") // says nothing here
}

// forwarder is something that moves frames from s0 to s1 until it is stopped.
type forwarder struct {
	name  string
	start func(*testing.B) (stop func())
}

// measure returns the time per frame in ns.
func (r *rig) measure(b *testing.B, f forwarder) float64 {
	b.Helper()
	stop := f.start(b)
	defer stop()
	r.push(b, window) // warm up
	return float64(r.push(b, perRound).Nanoseconds()) / perRound
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}
