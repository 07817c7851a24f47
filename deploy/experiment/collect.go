package experiment

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/deploy/result"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
)

// gathered is everything the daemons know at the end of a run.
type gathered struct {
	sw        switchd.Status
	nics      []nicd.Status // by host, the receiver last
	swSeries  daemon.Samples
	nicSeries []daemon.Samples
	swEnd     switchd.Sampled // at the last sample
	nicEnds   []nicd.State
}

func (in *Incast) sample() daemon.SampleRequest {
	d := in.interval()
	return daemon.SampleRequest{IntervalNs: d.Nanoseconds(), Count: int(in.Duration / d)}
}

// collect reads all daemons and makes the run's result.
func (s *session) collect(ctx context.Context) (*result.Run, error) {
	var g gathered
	if err := s.get(ctx, "sw0", "/v1/status", &g.sw); err != nil {
		return nil, err
	}
	for i := range s.Senders + 1 {
		var st nicd.Status
		if err := s.get(ctx, s.host(i), "/v1/status", &st); err != nil {
			return nil, err
		}
		g.nics = append(g.nics, st)
	}
	if err := s.samples(ctx, &g); err != nil {
		return nil, err
	}
	difference, err := s.compare(ctx, &g)
	if err != nil {
		return nil, err
	}
	run := &result.Run{Name: s.cfg.Name, Algorithm: s.cfg.Algorithm, Parameters: s.parameters(&g),
		DurationNs: s.Duration.Nanoseconds(), WarmupNs: s.Warmup.Nanoseconds()}
	if s.Frames > 0 {
		var c daemon.CaptureResult
		if err := s.lab.Client("sw0").
			Call(ctx, http.MethodPost, "/v1/capture/stop", struct{}{}, &c); err != nil {
			return nil, err
		}
		run.Capture = s.captureFile(s.cfg)
	}
	if err := s.series(run, &g); err != nil {
		return nil, err
	}
	s.totals(run, &g)
	s.clock(run)
	s.certify(run, &g, difference)
	return run, nil
}

// samples gets what all nodes recorded, and what they had counted at the last sample.
func (s *session) samples(ctx context.Context, g *gathered) error {
	if err := s.get(ctx, "sw0", "/v1/sample", &g.swSeries); err != nil {
		return err
	}
	if err := s.get(ctx, "sw0", "/v1/sampled", &g.swEnd); err != nil {
		return err
	}
	for i := range s.Senders + 1 {
		var samples daemon.Samples
		if err := s.get(ctx, s.host(i), "/v1/sample", &samples); err != nil {
			return err
		}
		var end nicd.State
		if err := s.get(ctx, s.host(i), "/v1/sampled", &end); err != nil {
			return err
		}
		g.nicSeries, g.nicEnds = append(g.nicSeries, samples), append(g.nicEnds, end)
	}
	return nil
}

// parameters are the settings a reader needs to judge the numbers.
func (s *session) parameters(g *gathered) []result.Line {
	lines := []result.Line{{Name: "congestion control", Value: s.cfg.Algorithm}}
	for _, p := range g.nics[0].Parameters {
		lines = append(lines, result.Line{Name: p.Name, Value: p.Value})
	}
	for _, p := range g.sw.Parameters {
		lines = append(lines, result.Line{Name: p.Name, Value: p.Value})
	}
	return lines
}

// series turns the cumulative samples of the daemons into values per interval.
func (s *session) series(run *result.Run, g *gathered) error {
	n := len(g.swSeries.TimeNs)
	for _, ns := range g.nicSeries {
		n = min(n, len(ns.TimeNs))
	}
	if n == 0 {
		return fmt.Errorf("no samples were taken")
	}
	out := &run.Series
	out.IntervalNs, out.TimeNs = g.swSeries.IntervalNs, g.swSeries.TimeNs[:n]
	column := func(d *daemon.Samples, name string) []float64 {
		c, ok := d.Column(name)
		if !ok {
			return make([]float64, n)
		}
		return c[:n]
	}
	out.QueueBytes = column(&g.swSeries, switchd.ColumnQueueBytes)
	out.PFCFrames = differences(column(&g.swSeries, switchd.ColumnPFCSent))
	out.ECNMarks = differences(column(&g.swSeries, switchd.ColumnECNMarked))
	out.CNPs = differences(column(&g.nicSeries[s.Senders], nicd.ColumnCNPsSent))
	out.PausedFrac = make([]float64, n)
	sink := &g.nicSeries[s.Senders]
	for i, flow := range s.flows {
		d := &g.nicSeries[i]
		placed := fmt.Sprint(nicd.ColumnPlaced, uint32(s.sinks[i]))
		rate := differences(column(sink, placed))
		for j := range rate {
			rate[j] *= 8e9 / float64(out.IntervalNs)
		}
		out.RatesBps = append(out.RatesBps, rate)
		if s.cfg.Algorithm != "none" {
			out.LimitsBps = append(out.LimitsBps, column(d, nicd.ColumnRate+flow))
		}
		for j, ns := range differences(column(d, nicd.ColumnPausedNs)) {
			out.PausedFrac[j] += ns / float64(out.IntervalNs) / float64(s.Senders)
		}
	}
	return nil
}

// differences of a cumulative series, the first from zero.
func differences(cumulative []float64) []float64 {
	d := slices.Clone(cumulative)
	for i := len(d) - 1; i > 0; i-- {
		d[i] -= d[i-1]
	}
	return d
}

// totals fills in the figures of the table. They are those of the last sample, so that they do not
// hang on when the daemons are asked.
func (s *session) totals(run *result.Run, g *gathered) {
	first := int(s.Warmup / s.interval())
	span := float64(len(run.Series.TimeNs) - first)
	var sum, squares float64
	for i, name := range s.flows {
		f := result.Flow{Name: name, PausedNs: g.nicEnds[i].PausedNs}
		for _, r := range run.Series.RatesBps[i][min(first, len(run.Series.TimeNs)):] {
			f.GoodputBps += r / span
		}
		for _, st := range g.nicEnds[i].Flows {
			f.QPN, f.AckedBytes, f.Messages = uint32(st.QPN), st.AckedBytes, st.Messages
			f.Retransmitted, f.CNPs = st.Retransmitted, g.nicEnds[i].Counters["rp_cnp_handled"]
		}
		run.Flows = append(run.Flows, f)
		run.PFC.PausedNs += f.PausedNs
		run.CNPsHandled += g.nicEnds[i].Counters["rp_cnp_handled"]
		sum += f.GoodputBps
		squares += f.GoodputBps * f.GoodputBps
	}
	run.TotalGoodputBps = sum
	if squares > 0 {
		run.JainIndex = sum * sum / (float64(s.Senders) * squares)
	}
	q := &g.swEnd.Ports[s.Senders].Queues[dataQueue]
	length := &g.swEnd.Queue
	run.Queue = result.Queue{MeanBytes: length.MeanBytes, P99Bytes: length.P99Bytes,
		MaxBytes: length.MaxBytes}
	if sent, ok := g.swSeries.Column(switchd.ColumnSentLineBytes); ok && span > 0 {
		bits := 8 * (sent[len(sent)-1] - sent[min(first, len(sent)-1)])
		run.LinkUtilisation = bits / (span * s.interval().Seconds() * float64(s.Rate))
	}
	run.ECNMarkedPackets = q.MarkedPackets
	run.CNPsSent = g.nicEnds[s.Senders].Counters["np_cnp_sent"]
	run.PFC.FramesSent, run.PFC.FramesReceived = pfcTotals(g.swEnd.Ports)
	for _, d := range g.all() {
		for reason, c := range d.Ledger.Dropped {
			run.Drops = append(
				run.Drops,
				result.Drop{Where: d.Name, Reason: reason, Frames: c.Frames},
			)
		}
	}
	slices.SortFunc(run.Drops, func(a, b result.Drop) int {
		return slices.Compare([]string{a.Where, a.Reason}, []string{b.Where, b.Reason})
	})
}

// all is the common status of every daemon, the switch first.
func (g *gathered) all() []*daemon.Status {
	list := []*daemon.Status{&g.sw.Status}
	for i := range g.nics {
		list = append(list, &g.nics[i].Status)
	}
	return list
}

func (s *session) clock(run *result.Run) {
	st := s.lab.Page.Status()
	real := time.Since(s.began)
	run.Clock = result.Clock{
		RealNs:    real.Nanoseconds(),
		Dilation:  float64(real) / float64(st.Virtual),
		HeldShare: float64(st.Held) / float64(real),
	}
}
