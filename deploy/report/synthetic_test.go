package report

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/rocelab/rocelab/deploy/result"
)

// synthetic makes a result that looks like the demo's: flows into one port, first with PFC alone,
// whose queue saws between XON and XOFF, then with DCQCN, whose flows converge.
func synthetic(flows, samples int) *result.Result {
	r := &result.Result{
		SchemaVersion: result.SchemaVersion,
		Version:       "0.1.0",
		Started:       "2026-11-20T16:00:00Z",
		Machine:       result.Machine{Kernel: "6.18.44", CPUs: 2, Go: "go1.26.8"},
		Scenario: result.Scenario{
			Name: "incast", Description: fmt.Sprintf("%d senders write to one receiver", flows),
			Senders: flows, LinkRateBps: 40e9, LinkDelayNs: 1000, MessageBytes: 1e6, PathMTU: 1024,
			Bottleneck: "sw0:swp5", Queue: 3,
		},
	}
	for _, name := range []string{"PFC alone", "DCQCN"} {
		r.Runs = append(r.Runs, syntheticRun(name, flows, samples))
	}
	return r
}

const syntheticInterval = 20_000 // ns

func syntheticRun(name string, flows, samples int) result.Run {
	duration := int64(samples) * syntheticInterval
	run := result.Run{
		Name: name, DurationNs: duration, WarmupNs: duration / 10,
		Clock:   result.Clock{Dilation: 24, RealNs: 24*duration + 31e6, HeldShare: 0.013},
		Series:  result.Series{IntervalNs: syntheticInterval},
		Capture: "incast.pcapng",
	}
	for i := range samples {
		run.Series.TimeNs = append(run.Series.TimeNs, int64(i+1)*syntheticInterval)
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(name))))
	if name == "DCQCN" {
		fillDCQCN(&run, flows, rng)
	} else {
		fillPFC(&run, flows, rng)
	}
	finish(&run, flows)
	return run
}

// fillPFC saws the queue between two thresholds; the flows share unevenly and jitter.
func fillPFC(run *result.Run, flows int, rng *rand.Rand) {
	run.Algorithm = "none"
	s := &run.Series
	for i := range s.TimeNs {
		phase := math.Mod(float64(i), 23) / 23
		queue := 640e3 + 110e3*phase + 12e3*rng.NormFloat64()
		frames := 0.0
		if phase < 1.0/23 {
			frames = float64(2 * flows)
		}
		s.QueueBytes = append(s.QueueBytes, max(0, min(queue, float64(i)*90e3)))
		s.PFCFrames = append(s.PFCFrames, frames)
		s.PausedFrac = append(s.PausedFrac, min(1, 0.72+0.05*rng.NormFloat64()))
		s.CNPs = append(s.CNPs, 0)
		s.ECNMarks = append(s.ECNMarks, 0)
	}
	for f := range flows {
		share := 37.04e9 / float64(flows) * (1 + 0.12*math.Cos(float64(3*f)))
		var rates []float64
		for range s.TimeNs {
			rates = append(rates, max(0, share*(1+0.16*rng.NormFloat64())))
		}
		s.RatesBps = append(s.RatesBps, rates)
	}
	run.Queue = result.Queue{MeanBytes: 694_512, P99Bytes: 761_204, MaxBytes: 803_416}
	run.PFC = result.PFC{FramesSent: 3_482, FramesReceived: 0, PausedNs: 71_840_000}
	run.Certificate = result.Certificate{Valid: true, Checks: checks("3.1 us", "0", true)}
	run.Parameters = []result.Line{{Name: "pfc.xoff", Value: "static 160 KB"},
		{Name: "pfc.xon_offset", Value: "2 MTU"}}
}

// fillDCQCN lets the rates saw down to the fair share and stay there, with a short queue.
func fillDCQCN(run *result.Run, flows int, rng *rand.Rand) {
	run.Algorithm = "dcqcn"
	s := &run.Series
	n := float64(len(s.TimeNs))
	for i := range s.TimeNs {
		decay := math.Exp(-9 * float64(i) / n)
		queue := 52e3 + 560e3*decay + 17e3*rng.NormFloat64() + 14e3*math.Sin(float64(i)/9)
		s.QueueBytes = append(s.QueueBytes, max(0, min(queue, float64(i)*90e3)))
		s.PFCFrames = append(s.PFCFrames, math.Floor(4*decay*decay+0.3*rng.Float64()))
		s.PausedFrac = append(s.PausedFrac, 0.4*decay*decay)
		s.CNPs = append(s.CNPs, math.Floor(1.7*rng.Float64()*(1+decay)))
		s.ECNMarks = append(s.ECNMarks, math.Floor(9*rng.Float64()*(1+3*decay)))
	}
	for f := range flows {
		var rates, limits []float64
		for i := range s.TimeNs {
			decay := math.Exp(-6 * float64(i) / n)
			fair := 37.04e9 / float64(flows)
			saw := 1 + 0.07*math.Mod(float64(i+17*f), 41)/41
			limit := fair * (saw + decay*2*math.Cos(float64(f))*math.Cos(float64(i)/60))
			limit = min(40e9, max(limit, 0.1*fair))
			limits = append(limits, limit)
			rates = append(rates, max(0, 0.95*limit*(1+0.03*rng.NormFloat64())))
		}
		s.RatesBps = append(s.RatesBps, rates)
		s.LimitsBps = append(s.LimitsBps, limits)
	}
	run.ECNMarkedPackets, run.CNPsSent, run.CNPsHandled = 41_207, 1_286, 1_284
	run.Queue = result.Queue{MeanBytes: 71_310, P99Bytes: 188_022, MaxBytes: 608_230}
	run.PFC = result.PFC{FramesSent: 96, PausedNs: 1_904_000}
	run.Drops = []result.Drop{{Where: "sw0:swp2", Reason: "ring", Frames: 3}}
	run.Certificate = result.Certificate{Checks: checks("4.4 us", "3", false)}
	run.Parameters = []result.Line{{Name: "pfc.xoff", Value: "static 160 KB"},
		{Name: "pfc.xon_offset", Value: "2 MTU"}, {Name: "dcqcn.preset", Value: "sigcomm15"},
		{Name: "dcqcn.g", Value: "1/256"}, {Name: "dcqcn.alpha_timer", Value: "55 us"},
		{Name: "ecn.kmin", Value: "5 KB"}, {Name: "ecn.kmax", Value: "200 KB"},
		{Name: "ecn.pmax", Value: "1 %"}}
}

func checks(lateness, lost string, ok bool) []result.Check {
	return []result.Check{
		{Name: "lateness of events, p99", Value: lateness, Limit: "10 us", OK: true},
		{Name: "error of the gap between frames, p99", Value: "0.4 us", Limit: "2 us", OK: true},
		{Name: "PFC reaction time, max", Value: "1.9 us", Limit: "5 us", OK: true},
		{Name: "frames lost below the emulator", Value: lost, Limit: "0", OK: ok},
		{Name: "ledger of every device balanced", Value: "yes", OK: true},
	}
}

// finish fills the sums that follow from the series.
func finish(run *result.Run, flows int) {
	var sum, squares float64
	for f := range flows {
		var mean float64
		for _, v := range run.Series.RatesBps[f] {
			mean += v / float64(len(run.Series.TimeNs))
		}
		run.Flows = append(run.Flows, result.Flow{
			Name: fmt.Sprintf("h%d > h%d", f+1, flows+1), QPN: uint32(17 + f), GoodputBps: mean,
			AckedBytes: uint64(mean * float64(run.DurationNs) / 8e9), Messages: 90,
			Retransmitted: uint64(len(run.Drops) * f),
		})
		sum, squares = sum+mean, squares+mean*mean
	}
	run.TotalGoodputBps, run.LinkUtilisation = sum, min(0.998, sum/37.04e9)
	if squares > 0 {
		run.JainIndex = sum * sum / (squares * float64(flows))
	}
}
