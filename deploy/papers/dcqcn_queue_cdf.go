package papers

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
)

// dcqcnQueueCDF is [DCQCN] figure 19: the queue of an incast with DCQCN and with DCTCP.
func dcqcnQueueCDF() suite.Experiment {
	return suite.Experiment{
		ID: "dcqcn-queue-cdf", Paper: dcqcn, Where: "figure 19",
		Title: "Length of the congested queue of a 20:1 incast, with DCQCN and with DCTCP.",
		Modes: []suite.Mode{suite.Virtual}, Seeds: 3,
		Shorter: "The paper does not say for how long it looked; here it is 120 ms for each " +
			"seed, of which the first 50 ms are taken as the transient.",
		Cells: queueCells,
		Judge: judgeQueueCDF,
	}
}

const (
	cdfSenders = 20
	dctcpOn    = "DCTCP"              // marking at 160 KB
	moreMarks  = "DCQCN, Pmax = 10 %" // and not 1 %
	queueCDF   = "queue KB, by percent of the time"
	queue95    = "95th percentile KB"
)

// dctcpThreshold is the paper's, "according to the guidelines" of DCTCP. [DCQCN] section 6.3
const dctcpThreshold = 160 * unit.KB

// queueRuns are what runs for each seed: those of the figure, and one that shows what the first
// hangs on.
func queueRuns() []string { return []string{string(dcqcnOn), dctcpOn, moreMarks} }

func queueCells(o suite.Options) (cells []suite.Cell) {
	duration, warmup := 120*time.Millisecond, 50*time.Millisecond
	if o.Short {
		duration, warmup = 40*time.Millisecond, 20*time.Millisecond
	}
	o.Each(func(seed uint64) {
		for _, who := range queueRuns() {
			name := fmt.Sprintf("%s seed=%d", who, seed)
			cells = append(cells, run(name, func() *scenario.Scenario {
				s := dcqcnIncast(cdfSenders)
				s.Topology.Seed = seed
				switch who {
				case dctcpOn:
					s.Topology.NIC.CC.Algorithm = "dctcp"
					cutOffMarking(&s.Topology, dctcpThreshold)
				case moreMarks:
					s.Topology.Switch.WRED.DropProbability = otherPmax
				}
				s.Duration, s.Warmup, s.Interval = duration, warmup, 10*time.Microsecond
				return s
			}, measureQueue))
		}
	})
	return cells
}

// measureQueue takes the distribution of the queue's length after the transient.
func measureQueue(r *scenario.Run, out *suite.Outcome) {
	lengths := scaled(r.WarmQueueBytes(0), 1e-3)
	var cdf suite.Series
	for percent := range 101 {
		cdf.X = append(cdf.X, suite.Quantile(lengths, float64(percent)/100))
		cdf.Y = append(cdf.Y, float64(percent))
	}
	out.Series[queueCDF] = cdf
	out.Numbers[queue95] = suite.Quantile(lengths, 0.95)
	out.Numbers[incastTotal] = r.Utilisation(0) * float64(dcqcnRate) / 1e9
}

func judgeQueueCDF(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	printed := []float64{76.6, 162.9}
	fig := suite.Figure{Title: "Figure 19: queue length CDF of a 20:1 incast",
		X: suite.Axis{Label: "queue", Unit: "KB"}, Y: suite.Axis{Label: "of the time", Unit: "%"}}
	var mean []float64
	var interval []*[2]float64
	runs := queueRuns()
	for i, who := range runs {
		var tail []float64
		for n := i; n < len(found); n += len(runs) { // seed by seed
			tail = append(tail, found[n].Numbers[queue95])
		}
		m, within := suite.Interval(tail)
		mean, interval = append(mean, m), append(interval, within)
		fig.Curves = append(fig.Curves, suite.Curve{Name: who, Kind: suite.Line, From: suite.Ours,
			Series: found[i].Series[queueCDF]})
		if i < len(printed) {
			fig.Curves = append(fig.Curves, suite.Curve{Name: who, Kind: suite.Points,
				From:   suite.Printed,
				Series: suite.Series{X: []float64{printed[i]}, Y: []float64{95}}})
		}
	}
	// The paper's ratio is 0.47.
	v.Claims = []suite.Claim{
		{Text: "With DCQCN the queue is less than half as long as with DCTCP (95th percentiles).",
			Paper: "0.47", Ours: mean[0] / mean[1], Rule: "below 0.5 + 20 %",
			Holds: mean[0]/mean[1] < 0.6},
		{Text: "The 95th percentile with DCQCN.", Paper: "76.6 KB", Ours: mean[0], Unit: "KB",
			Interval: interval[0], Rule: "within 20 %", Holds: near(mean[0], printed[0], 0.2)},
		{Text: "The 95th percentile with DCTCP, marking at 160 KB.", Paper: "162.9 KB",
			Ours: mean[1], Unit: "KB", Interval: interval[1], Rule: "within 20 %",
			Holds: near(mean[1], printed[1], 0.2)},
	}
	v.Figures = []suite.Figure{fig}
	v.Notes = []string{manyFlowsNote, fmt.Sprintf("With Pmax = 10 %% instead of the 1 %% of "+
		"figure 14 the 95th percentile of DCQCN is %.1f KB, beside the paper's 76.6 KB.", mean[2])}
	return v
}
