package papers

import (
	"fmt"
	"math"
	"time"

	"github.com/rocelab/rocelab/deploy/suite"
)

// dcqcnFairness is [DCQCN] figure 8: the flows of figure 3 with DCQCN.
func dcqcnFairness() suite.Experiment {
	return suite.Experiment{
		ID: "dcqcn-fairness", Paper: dcqcn, Where: "figure 8",
		Title: "With DCQCN, throughput of the four senders of figure 3.",
		Modes: []suite.Mode{suite.Virtual, suite.Real}, Seeds: 1,
		Shorter: "The paper measured 1000 transfers of 4 MB from each sender, which take 3.2 s. " +
			"Here each of 8 choices of ECMP lasts 200 ms, of which the last 150 ms count: about " +
			"45 transfers of each sender. On real frames it is one, of 80 ms, and the last 50 ms.",
		Cells: func(o suite.Options) []suite.Cell { return fourSenders(o, dcqcnOn, fairTiming(o)) },
		Judge: judgeFairness,
	}
}

// fairTiming leaves out what the start takes: from line rate all flows fall far below their share,
// and need 20 ms to come back.
func fairTiming(o suite.Options) timing {
	if o.Short || o.Mode == suite.Real {
		return timing{draws: 1, duration: 80 * time.Millisecond, warmup: 30 * time.Millisecond}
	}
	return timing{draws: 8, duration: 200 * time.Millisecond, warmup: 50 * time.Millisecond}
}

func judgeFairness(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	var indices []float64
	var mean [senders]float64
	for i := range found {
		t := throughputs(&found[i])
		indices = append(indices, suite.Jain(t[:]))
		for n := range t {
			mean[n] += t[n] / float64(len(found))
		}
	}
	worst := mean[0]
	for _, m := range mean {
		if math.Abs(m-10) > math.Abs(worst-10) {
			worst = m
		}
	}
	by := transfersBySender(found)
	index, interval := suite.Interval(indices)
	v.Claims = []suite.Claim{
		{Text: "All four flows share the link equally.", Ours: index, Interval: interval,
			Rule: "Jain index of a run above 0.99, in the mean", Holds: index > 0.99},
		{Text: "Each of them gets a quarter of the link.", Paper: "10 Gb/s", Ours: worst,
			Unit: "Gb/s",
			Rule: fmt.Sprintf("within 5 %% in the mean of all runs; this is the one furthest off "+
				"of %.2f, %.2f, %.2f, %.2f", mean[0], mean[1], mean[2], mean[3]),
			Holds: near(worst, 10, 0.05)}}
	v.Figures = []suite.Figure{spreadFigure("Figure 8: throughput of the four senders with DCQCN",
		by)}
	v.Notes = []string{throughputNote}
	return v
}
