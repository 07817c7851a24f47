package bench

import "testing"

// perRound is how many frames each forwarder moves in a round.
const perRound = 30_000

// rounds is how often each forwarder has its turn.
const rounds = 15

// BenchmarkForward moves frames through each forwarder in turn, in several rounds, and reports the
// best time per frame of each and how fast each is beside the bare one: above 1 is faster. The
// best, because whatever else the machine does only ever adds to a round.
func BenchmarkForward(b *testing.B) {
	r := newRig(b)
	forwarders := []forwarder{{"bare", r.bare}, {"switchd", r.switchd}, {"bridge", r.bridge}}
	times := make([]float64, len(forwarders))
	for b.Loop() {
		for range rounds {
			for i, f := range forwarders {
				if t := r.measure(b, f); times[i] == 0 || t < times[i] {
					times[i] = t
				}
			}
		}
	}
	for i, f := range forwarders {
		b.ReportMetric(times[i], f.name+"-ns/frame")
		b.ReportMetric(times[0]/times[i], f.name+"/bare")
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
