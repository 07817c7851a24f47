package papers

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
)

// plusSmall are the incasts of [DCQCN+] figures 6 to 8.
var plusSmall = []struct{ hosts, each, figure int }{{2, 1, 6}, {10, 1, 7}, {3, 20, 8}}

// plusSmallIncast measures how long small incasts take to share a link.
func plusSmallIncast() suite.Experiment {
	controls := []plusControl{plusDCQCN, plusAdaptive}
	e := suite.Experiment{ID: "plus-small-incast", Paper: dcqcnPlus, Where: "figures 6 to 8",
		Title: "How long incasts of 2, 10 and 60 flows into 10 Gb/s take to converge.",
		Modes: []suite.Mode{suite.Virtual, suite.Real}, Seeds: 1,
		Shorter: "On real frames, and in the short set, there is 2:1 alone, for 60 and 150 ms."}
	e.Cells = func(o suite.Options) (cells []suite.Cell) {
		o.Each(func(seed uint64) {
			for _, control := range controls {
				for _, size := range plusSmall {
					if size.figure == 6 || !o.Short && o.Mode == suite.Virtual {
						p := plusIncast{control, size.hosts, size.each, seed}
						cells = append(cells, p.small(o))
					}
				}
			}
		})
		return cells
	}
	e.Judge = func(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
		for _, control := range controls {
			for _, size := range plusSmall {
				judgePlusSmall(&v, control, size.hosts*size.each, size.figure, found)
			}
		}
		v.Notes = []string{"Flows start at once, those of a host through one wire, so that the " +
			"shares are equal at first. The time to converge ends the last interval in which " +
			"they are not.",
			"DCQCN+ itself does not come back soon from the burst at the start. While the queue " +
				"drains each flow has a CNP each 50 us, and alpha begins at 1, so that a dozen " +
				"CNPs lead from 10 Gb/s to the least rate, 1 Mb/s, which is mlx5's: the thesis " +
				"gives none. There K = 3.1 MTU/R_C is 27 ms, and the way back takes five of " +
				"them without an increase and then steps of a tenth. The thesis imitated the " +
				"algorithm by parameters, in which K does not depend on the rate."}
		return v
	}
	return e
}

const (
	plusConverged = "converged" // ms
	plusShares    = "Jain index"
	// plusFair is the index above which flows have converged.
	plusFair = 0.95
)

// small is a cell that looks at the shares in intervals of a sixtieth of the run.
func (p plusIncast) small(o suite.Options) suite.Cell {
	duration := 600 * time.Millisecond
	switch {
	case o.Mode == suite.Real:
		duration = 60 * time.Millisecond
	case o.Short:
		duration = 150 * time.Millisecond
	}
	name := fmt.Sprintf("%s, flows=%d seed=%d", p.control.name, p.flows(), p.seed)
	return run(name, func() *scenario.Scenario {
		s := p.scenario()
		s.Duration, s.Warmup, s.Interval = duration, duration/2, duration/60
		return s
	}, func(r *scenario.Run, out *suite.Outcome) {
		out.Numbers[plusSize], out.Numbers[plusConverged] = float64(p.flows()), 0
		shares := over(r, plusIndex(r))
		for i, index := range shares.Y {
			if index <= plusFair {
				out.Numbers[plusConverged] = shares.X[i]
			}
		}
		out.Numbers[plusUse] = 100 * r.Utilisation(0)
		out.Series[plusShares] = shares
		for i := range min(p.flows(), plusDrawn) {
			out.Series[plusFlow(i)] = over(r, scaled(r.Rates(i), 1e-9))
		}
	})
}

// plusIndex is the Jain index of the goodputs in every interval.
func plusIndex(r *scenario.Run) (index []float64) {
	var rates [][]float64
	for i := range r.Flows {
		rates = append(rates, r.Rates(i))
	}
	for at := range rates[0] {
		var shares []float64
		for _, of := range rates {
			shares = append(shares, of[at])
		}
		index = append(index, suite.Jain(shares))
	}
	return index
}

// plusDrawn is how many flows are drawn: more could not be told apart.
const plusDrawn = 10

func plusFlow(i int) string { return fmt.Sprintf("flow %d", i+1) }

func judgePlusSmall(v *suite.Verdict, c plusControl, flows, figure int, found []suite.Outcome) {
	some := c.of(found, flows)
	if len(some) == 0 {
		return
	}
	ms, ci := suite.Interval(numbers(some, plusConverged))
	claim := suite.Claim{Text: fmt.Sprintf("%d:1 converges under %s.", flows, c.name), Ours: ms,
		Unit: "ms", Interval: ci, Rule: "the Jain index stays above 0.95 from 500 ms on, at the " +
			"latest", Holds: ms <= 500}
	if c.name == plusDCQCN.name {
		claim.Paper = "within 0.5 s"
	}
	shares := some[0].Series[plusShares]
	if end := shares.X[len(shares.X)-1]; end <= 500 {
		claim.Rule = fmt.Sprintf("the Jain index stays above 0.95 in the second half of %.0f ms",
			end)
		claim.Holds = ms <= end/2
	}
	use, useCI := suite.Interval(numbers(some, plusUse))
	v.Claims = append(v.Claims, claim, suite.Claim{Text: fmt.Sprintf("%d:1 keeps the link in use "+
		"under %s.", flows, c.name), Ours: use, Unit: "%", Interval: useCI,
		Rule: "above 90 % over the second half of the run", Holds: use > 90})
	fig := suite.Figure{Title: fmt.Sprintf("Figure %d: %d:1 under %s", figure, flows, c.name),
		X: suite.Axis{Label: "time", Unit: "ms"}, Y: suite.Axis{Label: "goodput", Unit: "Gb/s"}}
	for i := range min(flows, plusDrawn) {
		fig.Curves = append(fig.Curves, suite.Curve{Name: plusFlow(i), Kind: suite.Line,
			From: suite.Ours, Series: some[0].Series[plusFlow(i)]})
	}
	v.Figures = append(v.Figures, fig)
}
