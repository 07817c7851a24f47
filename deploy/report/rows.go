package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/rocelab/rocelab/deploy/result"
)

// maxFlowRows is how many flows are listed one by one; of more, the extremes and the middle are.
const maxFlowRows = 16

// row is one measure, with a cell per run.
type row struct {
	Label string
	Cells []string
}

// section is a few rows that belong together.
type section struct {
	Title string
	Rows  []row
}

// sections is the comparison of all runs, as both the table and the page show it.
func sections(r *result.Result) []section {
	return []section{
		goodput(r),
		queue(r),
		flowControl(r),
		congestion(r),
		loss(r),
		execution(r),
	}
}

// each makes a row from one text per run.
func each(r *result.Result, label string, cell func(*result.Run) string) row {
	out := row{Label: label}
	for i := range r.Runs {
		out.Cells = append(out.Cells, cell(&r.Runs[i]))
	}
	return out
}

// measure is a row of numbers that shares its unit with others.
type measure struct {
	label string
	value func(*result.Run) float64
}

// together prints several rows in one unit.
func (s scale) together(r *result.Result, measures ...measure) []row {
	var values []float64
	for _, m := range measures {
		for i := range r.Runs {
			values = append(values, m.value(&r.Runs[i]))
		}
	}
	texts := s.texts(values)
	var rows []row
	for i, m := range measures {
		rows = append(rows, row{m.label, texts[i*len(r.Runs) : (i+1)*len(r.Runs)]})
	}
	return rows
}

func goodput(r *result.Result) section {
	measures := append(flowMeasures(r),
		measure{"total", func(run *result.Run) float64 { return run.TotalGoodputBps }})
	rows := bitRates.together(r, measures...)
	rows = append(rows,
		each(r, "Jain index", func(run *result.Run) string { return fixed(run.JainIndex, 4) }),
		each(r, "link utilisation", func(run *result.Run) string {
			return percent(run.LinkUtilisation)
		}))
	title := "Goodput"
	if slices.ContainsFunc(r.Runs, func(run result.Run) bool { return run.WarmupNs > 0 }) {
		title += " after warm-up"
	}
	return section{title, rows}
}

// flowMeasures lists the flows by name in the order of their first appearance.
func flowMeasures(r *result.Result) (out []measure) {
	names := flowNames(r)
	if len(names) > maxFlowRows {
		return []measure{
			{fmt.Sprintf("slowest of %d flows", len(names)), quantile(0)},
			{"median flow", quantile(0.5)},
			{"fastest flow", quantile(1)},
		}
	}
	for _, name := range names {
		out = append(out, measure{name, func(run *result.Run) float64 {
			for i := range run.Flows {
				if run.Flows[i].Name == name {
					return run.Flows[i].GoodputBps
				}
			}
			return math.NaN()
		}})
	}
	return out
}

func flowNames(r *result.Result) (names []string) {
	for _, run := range r.Runs {
		for _, f := range run.Flows {
			if !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

// quantile returns the goodput of the flow at a place between slowest (0) and fastest (1).
func quantile(q float64) func(*result.Run) float64 {
	return func(run *result.Run) float64 {
		if len(run.Flows) == 0 {
			return math.NaN()
		}
		sorted := slices.SortedFunc(slices.Values(run.Flows), func(a, b result.Flow) int {
			return cmp.Compare(a.GoodputBps, b.GoodputBps)
		})
		return sorted[int(q*float64(len(sorted)-1))].GoodputBps
	}
}

func queue(r *result.Result) section {
	title := "Queue"
	if r.Scenario.Bottleneck != "" {
		title = fmt.Sprintf("Queue %d of %s", r.Scenario.Queue, r.Scenario.Bottleneck)
	}
	return section{title, sizes.together(r,
		measure{"mean", func(run *result.Run) float64 { return run.Queue.MeanBytes }},
		measure{"p99", func(run *result.Run) float64 { return run.Queue.P99Bytes }},
		measure{"max", func(run *result.Run) float64 { return run.Queue.MaxBytes }},
	)}
}

func flowControl(r *result.Result) section {
	rows := []row{
		each(r, "frames sent", func(run *result.Run) string {
			return countText(run.PFC.FramesSent)
		}),
		each(r, "frames received", func(run *result.Run) string {
			return countText(run.PFC.FramesReceived)
		}),
	}
	paused := measure{"senders paused, sum", func(run *result.Run) float64 {
		return float64(run.PFC.PausedNs)
	}}
	return section{"PFC at the switch", append(rows, times.together(r, paused)...)}
}

func congestion(r *result.Result) section {
	return section{"Congestion control", []row{
		each(r, "algorithm", func(run *result.Run) string { return cmp.Or(run.Algorithm, "none") }),
		each(r, "ECN marks", func(run *result.Run) string {
			return countText(run.ECNMarkedPackets)
		}),
		each(r, "CNPs sent", func(run *result.Run) string { return countText(run.CNPsSent) }),
		each(r, "CNPs handled", func(run *result.Run) string { return countText(run.CNPsHandled) }),
	}}
}

func execution(r *result.Result) section {
	rows := times.together(r,
		measure{"virtual time", func(run *result.Run) float64 { return float64(run.DurationNs) }},
		measure{"warm-up", func(run *result.Run) float64 { return float64(run.WarmupNs) }})
	rows = append(rows, times.together(r, measure{"real time", func(run *result.Run) float64 {
		return float64(run.Clock.RealNs)
	}})...)
	return section{"Clock and fidelity", append(rows,
		each(r, "dilation k", func(run *result.Run) string { return fixed(run.Clock.Dilation, 1) }),
		each(r, "held for late loops", func(run *result.Run) string {
			return percent(run.Clock.HeldShare)
		}),
		each(r, "certificate", func(run *result.Run) string {
			return verdict(run.Certificate)
		}))}
}

// settings is what was asked for, line by line.
func settings(s *result.Scenario) []result.Line {
	lines := []result.Line{
		{Name: "senders", Value: strconv.Itoa(s.Senders)},
		{Name: "link rate", Value: bitRates.short(float64(s.LinkRateBps))},
		{Name: "link delay", Value: times.short(float64(s.LinkDelayNs))},
		{Name: "message", Value: sizes.short(float64(s.MessageBytes))},
		{Name: "path MTU", Value: strconv.Itoa(s.PathMTU)},
	}
	if s.Bottleneck != "" {
		lines = append(lines, result.Line{Name: "bottleneck",
			Value: fmt.Sprintf("%s, queue %d", s.Bottleneck, s.Queue)})
	}
	return lines
}

// runName is what a run is called, also when nobody gave it a name.
func runName(run *result.Run) string { return cmp.Or(run.Name, "unnamed") }

// verdict is the word of a certificate.
func verdict(c result.Certificate) string {
	if c.Valid {
		return "VALID"
	}
	return "INVALID"
}
