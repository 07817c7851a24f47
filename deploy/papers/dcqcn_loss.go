package papers

import (
	"fmt"
	"slices"
	"time"

	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
)

// dcqcnLoss is [DCQCN] figure 21: what packet loss does to go-back-N.
func dcqcnLoss() suite.Experiment {
	return suite.Experiment{
		ID: "dcqcn-loss", Paper: dcqcn, Where: "figure 21",
		Title: "Throughput of one flow of 4 MB messages on a link that loses packets.",
		Modes: []suite.Mode{suite.Virtual, suite.Real}, Seeds: 1,
		Shorter: "The paper does not say for how long it looked; here it is 400 ms three times " +
			"for each rate, or 5.4 million packets. On real frames it is 4 ms and three rates, " +
			"in which the first timeout does not end.",
		Cells: lossCells,
		Judge: judgeLoss,
	}
}

// Names of what a run tells.
const (
	lossRate       = "loss rate"
	lossThroughput = "throughput Gb/s"
	lossTimeouts   = "timeouts" // of the sender
)

func lossCells(o suite.Options) (cells []suite.Cell) {
	rates := []float64{1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2}
	t := timing{draws: 3, duration: 400 * time.Millisecond}
	switch {
	case o.Mode == suite.Real:
		rates, t = []float64{1e-4, 1e-3, 1e-2}, timing{draws: 1, duration: 4 * time.Millisecond}
	case o.Short:
		rates, t = []float64{1e-4, 1e-3, 1e-2}, timing{draws: 1, duration: 100 * time.Millisecond}
	}
	for _, rate := range rates {
		cells = append(cells, draws(o, t.draws, func(name string, seed uint64) suite.Cell {
			return run(fmt.Sprintf("loss=%g %s", rate, name), func() *scenario.Scenario {
				return lossScenario(rate, seed, t.duration)
			}, func(r *scenario.Run, out *suite.Outcome) {
				out.Numbers[lossRate] = rate
				out.Numbers[lossThroughput] = onLine(r.Goodput(0)) / 1e9
				out.Numbers[lossTimeouts] = float64(r.NIC("h1").Counters["local_ack_timeout_err"])
			})
		})...)
	}
	return cells
}

// lossScenario is a flow to a host whose link loses what the switch sends.
func lossScenario(rate float64, seed uint64, duration time.Duration) *scenario.Scenario {
	s := dcqcnIncast(1)
	s.Topology.Seed = seed
	s.Topology.Faults = []lab.Fault{{Port: lab.Endpoint{Node: "sw0", Device: "swp2"},
		Fault: fault.Spec{Kind: fault.Loss, Rule: link.Rule{Effect: link.Lose, Chance: rate}}}}
	s.Duration, s.Interval = duration, 100*time.Microsecond
	return s
}

// lossCurve is the mean of a number at each loss rate.
func lossCurve(found []suite.Outcome, number string) suite.Curve {
	c := suite.Curve{Name: "go-back-N", Kind: suite.Line, From: suite.Ours}
	runs := map[float64][]float64{}
	for _, o := range found {
		rate := o.Numbers[lossRate]
		if !slices.Contains(c.X, rate) {
			c.X = append(c.X, rate)
		}
		runs[rate] = append(runs[rate], o.Numbers[number])
	}
	for _, rate := range c.X {
		mean, _ := suite.Interval(runs[rate])
		c.Y = append(c.Y, mean)
	}
	return c
}

func judgeLoss(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	c, timeouts := lossCurve(found, lossThroughput), lossCurve(found, lossTimeouts)
	at := func(c suite.Curve, rate float64) float64 { return c.Y[slices.Index(c.X, rate)] }
	kept, fell := at(c, 1e-3)/slices.Max(c.Y), at(c, 1e-2)/at(c, 1e-3)
	v.Claims = []suite.Claim{
		{Text: "Go-back-N is sufficient where the loss rate is low.", Ours: 100 * kept, Unit: "%",
			Rule:  "at 0.1 % at least 90 % of the throughput with the least loss",
			Holds: kept >= 0.9},
		{Text: "Throughput degrades rapidly above 0.1 %.", Ours: 100 * fell, Unit: "%",
			Rule: "at 1 % at most half of that at 0.1 %", Holds: fell <= 0.5},
	}
	v.Figures = []suite.Figure{{Title: "Figure 21: impact of packet loss rate on throughput",
		X: suite.Axis{Label: "loss rate", Log: true},
		Y: suite.Axis{Label: "throughput", Unit: "Gb/s"}, Curves: []suite.Curve{c}}}
	v.Notes = []string{
		fmt.Sprintf("A loss costs what is on its way until the sender goes back: a round trip, "+
			"some 25 packets. That is 2 %% of the link at 0.1 %%. What is dear is a packet that "+
			"is lost again when it is sent again: the receiver has sent its one NAK for it (IBTA "+
			"9.7.5.1), so the sender stands still until its timeout of 67 ms. That "+
			"grows with the square of the loss rate, and makes the knee: %.1f timeouts a run at "+
			"0.1 %%, %.1f at 1 %%.", at(timeouts, 1e-3), at(timeouts, 1e-2)),
		throughputNote,
	}
	return v
}
