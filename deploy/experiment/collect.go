package experiment

import (
	"math"
	"slices"

	"github.com/rocelab/rocelab/deploy/result"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
)

// result makes the run's result of what happened. All figures are those of the last sample, so that
// they do not hang on when the daemons are asked.
func (s *session) result(r *scenario.Run) *result.Run {
	run := &result.Run{Name: s.cfg.Name, Algorithm: s.cfg.Algorithm,
		Parameters: append([]result.Line{{Name: "congestion control", Value: s.cfg.Algorithm}},
			r.Scenario.Parameters()...),
		DurationNs: s.Duration.Nanoseconds(), WarmupNs: s.Warmup.Nanoseconds(),
		Series: s.series(r), Clock: *r.Clock, Certificate: *r.Certificate}
	if s.Frames > 0 {
		run.Capture = s.captureFile(s.cfg)
	}
	s.flows(run, r)
	port := r.Port("sw0", s.bottleneck())
	length := r.QueueLength(0)
	run.Queue = result.Queue{MeanBytes: length.MeanBytes, P99Bytes: length.P99Bytes,
		MaxBytes: length.MaxBytes}
	run.LinkUtilisation = r.Utilisation(0)
	run.ECNMarkedPackets = port.Queues[scenario.DataQueue].MarkedPackets
	run.CNPsSent = r.NIC(s.host(s.Senders)).Counters["np_cnp_sent"]
	run.PFC.FramesSent, run.PFC.FramesReceived = r.PFC("sw0")
	s.drops(run, r)
	return run
}

// flows fills in what concerns the senders.
func (s *session) flows(run *result.Run, r *scenario.Run) {
	var sum, squares float64
	for i := range r.Flows {
		nic, st := r.NIC(s.host(i)), r.Flow(i)
		f := result.Flow{Name: st.Name, QPN: uint32(st.QPN), GoodputBps: r.Goodput(i),
			AckedBytes: st.AckedBytes, Messages: st.Messages, Retransmitted: st.Retransmitted,
			CNPs: nic.Counters["rp_cnp_handled"], PausedNs: nic.PausedNs}
		run.Flows = append(run.Flows, f)
		run.PFC.PausedNs += f.PausedNs
		run.CNPsHandled += f.CNPs
		sum += f.GoodputBps
		squares += f.GoodputBps * f.GoodputBps
	}
	run.TotalGoodputBps = sum
	if squares > 0 {
		run.JainIndex = sum * sum / (float64(s.Senders) * squares)
	}
}

// drops lists what every node has dropped.
func (s *session) drops(run *result.Run, r *scenario.Run) {
	for _, n := range r.Scenario.Topology.Nodes {
		for reason, c := range r.Ledger(n.Name).Dropped {
			run.Drops = append(run.Drops,
				result.Drop{Where: n.Name, Reason: reason, Frames: c.Frames})
		}
	}
	slices.SortFunc(run.Drops, func(a, b result.Drop) int {
		return slices.Compare([]string{a.Where, a.Reason}, []string{b.Where, b.Reason})
	})
}

// series are the samples of a run, by interval.
func (s *session) series(r *scenario.Run) (out result.Series) {
	const queue = 0
	sink := s.host(s.Senders)
	out.IntervalNs = s.interval().Nanoseconds()
	for _, t := range r.Times() {
		out.TimeNs = append(out.TimeNs, int64(math.Round(t*1e9)))
	}
	out.QueueBytes, out.ECNMarks = r.QueueBytes(queue), r.Marks(queue)
	out.PFCFrames = r.Counted("sw0", switchd.ColumnPFCSent)
	out.CNPs = r.Counted(sink, nicd.ColumnCNPsSent)
	out.PausedFrac = make([]float64, len(out.TimeNs))
	for i := range r.Flows {
		out.RatesBps = append(out.RatesBps, r.Rates(i))
		if s.cfg.Algorithm != "none" {
			out.LimitsBps = append(out.LimitsBps, r.Limits(i))
		}
		for j, ns := range r.Counted(s.host(i), nicd.ColumnPausedNs) {
			out.PausedFrac[j] += ns / float64(out.IntervalNs) / float64(s.Senders)
		}
	}
	return out
}
