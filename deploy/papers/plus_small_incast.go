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
			if !o.Short && o.Mode == suite.Virtual {
				cells = append(cells, plusIncast{plusFigure14, 10, 1, seed}.small(o))
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
		v.Notes = []string{"The flows begin within a sixth of the run, those of a host go " +
			"through one wire. The time to converge ends the last interval, of a sixtieth of " +
			"the run, in which the shares are not equal.", plusMarkingNote}
		v.Notes = append(v.Notes, plusWanderNotes(plusAdaptive, found)...)
		v.Notes = append(v.Notes, plusPmaxNotes(found)...)
		return v
	}
	return e
}

// plusMarkingNote tells what is marked, and why.
const plusMarkingNote = "Marking rises to 100 % at Kmax: the thesis's switch, an SN2700, is set " +
	"by two thresholds and has no Pmax."

// plusWanderNotes tell of flows that have converged, but whose shares wander from interval to
// interval.
func plusWanderNotes(c plusControl, found []suite.Outcome) (notes []string) {
	for _, o := range c.of(found, 0) {
		x, even := o.Series[plusShares].X, o.Numbers[plusShares]
		if o.Numbers[plusConverged] < x[len(x)-1] || even <= plusFair {
			continue
		}
		notes = append(notes, fmt.Sprintf("The shares of %.0f flows under %s wander: in an "+
			"interval of %.0f ms they are often below 0.95, together after the warm-up they have "+
			"an index of %.3f.", o.Numbers[plusSize], c.name, x[0], even))
	}
	return notes
}

// plusPmaxNotes tell what becomes of DCQCN+ with the Pmax that the thesis's switch cannot have had.
func plusPmaxNotes(found []suite.Outcome) (notes []string) {
	for _, o := range plusFigure14.of(found, 0) {
		notes = append(notes, fmt.Sprintf("With the Pmax of DCQCN's figure 14, 1 %%, DCQCN+ with "+
			"%.0f flows uses %.1f %% of the link from 500 ms on, with a Jain index of %.2f. By "+
			"the thesis's own step and timer a flow of many must be marked once in 17 packets if "+
			"it is not to grow (roce/cc/dcqcnplus.go), which is 6 %% at least: the queue swings "+
			"about Kmax, where all are marked, and flows that are slow then stay slow.",
			o.Numbers[plusSize], o.Numbers[plusUse], o.Numbers[plusShares]))
	}
	return notes
}

const (
	plusConverged = "converged" // ms
	plusShares    = "Jain index"
	// plusFair is the index above which flows have converged.
	plusFair = 0.95
)

// plusDeadline is by when small incasts have converged: "within 0.5s", [DCQCN+] section 6.2.
const plusDeadline = 500 * time.Millisecond

// small is a cell that looks at the shares in intervals of a sixtieth of the run, and at the use of
// the link from when they are to have converged.
func (p plusIncast) small(o suite.Options) suite.Cell {
	duration, warmup := 600*time.Millisecond, plusDeadline
	switch {
	case o.Mode == suite.Real:
		duration, warmup = 60*time.Millisecond, 30*time.Millisecond
	case o.Short:
		duration, warmup = 150*time.Millisecond, 75*time.Millisecond
	}
	name := fmt.Sprintf("%s, flows=%d seed=%d", p.control.name, p.flows(), p.seed)
	return run(name, func() *scenario.Scenario {
		s := p.scenario(duration / 6)
		s.Duration, s.Warmup, s.Interval = duration, warmup, duration/60
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
		out.Numbers[plusShares] = p.evenness(r)
		out.Series[plusShares] = shares
		for i := range min(p.flows(), plusDrawn) {
			out.Series[plusFlow(i)] = over(r, scaled(r.Rates(i), 1e-9))
		}
	})
}

// evenness is the Jain index of the goodputs after the warm-up.
func (p plusIncast) evenness(r *scenario.Run) float64 {
	var shares []float64
	for i := range p.flows() {
		shares = append(shares, r.Goodput(i))
	}
	return suite.Jain(shares)
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
	deadline := float64(plusDeadline.Milliseconds())
	shares := some[0].Series[plusShares]
	if end := shares.X[len(shares.X)-1]; end <= deadline {
		deadline = end / 2
	}
	claim := suite.Claim{Text: fmt.Sprintf("%d:1 converges under %s.", flows, c.name), Ours: ms,
		Unit: "ms", Interval: ci, Rule: fmt.Sprintf("the Jain index stays above 0.95 from %.0f ms "+
			"on, at the latest", deadline), Holds: ms <= deadline}
	if c.name == plusDCQCN.name {
		claim.Paper = "within 0.5 s"
	}
	use, useCI := suite.Interval(numbers(some, plusUse))
	v.Claims = append(v.Claims, claim, suite.Claim{Text: fmt.Sprintf("%d:1 keeps the link in use "+
		"under %s.", flows, c.name), Ours: use, Unit: "%", Interval: useCI,
		Rule: fmt.Sprintf("above 90 %% from %.0f ms on", deadline), Holds: use > 90})
	fig := suite.Figure{Title: fmt.Sprintf("Figure %d: %d:1 under %s", figure, flows, c.name),
		X: suite.Axis{Label: "time", Unit: "ms"}, Y: suite.Axis{Label: "goodput", Unit: "Gb/s"}}
	for i := range min(flows, plusDrawn) {
		fig.Curves = append(fig.Curves, suite.Curve{Name: plusFlow(i), Kind: suite.Line,
			From: suite.Ours, Series: some[0].Series[plusFlow(i)]})
	}
	v.Figures = append(v.Figures, fig)
}
