package papers

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
)

// dcqcnVictimFlow is [DCQCN] figure 4: pauses that spread reach a flow that shares no congested
// link.
func dcqcnVictimFlow() suite.Experiment {
	return suite.Experiment{
		ID: "dcqcn-victim-flow", Paper: dcqcn, Where: "figure 4",
		Title: "With PFC alone, throughput of a flow that shares only uplinks of its ToR with an " +
			"incast that is congested elsewhere.",
		Modes: []suite.Mode{suite.Virtual, suite.Real}, Seeds: 1,
		Shorter: "The paper's median is of 250 transfers of 250 MB, which take a minute each at " +
			"the victim's rate. Here it is of 25 choices of ECMP of 20 ms each: pauses reach " +
			"T1 after 7 ms, and nothing changes from then on.",
		Cells: func(o suite.Options) []suite.Cell { return victims(o, pfcAlone, spreadTiming(o)) },
		Judge: judgeVictim,
	}
}

// spreadTiming lets pauses spread over the whole network before anything counts.
func spreadTiming(o suite.Options) timing {
	switch {
	case o.Mode == suite.Real:
		return timing{draws: 1, duration: 10 * time.Millisecond, warmup: 8 * time.Millisecond}
	case o.Short:
		return timing{draws: 3, duration: 10 * time.Millisecond, warmup: 8 * time.Millisecond}
	}
	return timing{draws: 25, duration: 20 * time.Millisecond, warmup: 10 * time.Millisecond}
}

// mostUnderT3 is how many hosts of T3 send at most in figures 4 and 9.
const mostUnderT3 = 2

// victims are runs of the flows of [DCQCN] figure 4 with 0 to 2 senders under T3. The choices of
// ECMP are the same for all.
func victims(o suite.Options, c control, t timing) (cells []suite.Cell) {
	for n := range mostUnderT3 + 1 {
		cells = append(cells, draws(o, t.draws, func(name string, seed uint64) suite.Cell {
			return run(fmt.Sprintf("t3=%d %s", n, name), func() *scenario.Scenario {
				top := dcqcnTestbed("victim", 5, c)
				top.Seed = seed
				return &scenario.Scenario{Topology: top, Flows: victimFlows(n),
					Duration: t.duration, Warmup: t.warmup, Interval: 50 * time.Microsecond}
			}, func(r *scenario.Run, out *suite.Outcome) {
				out.Numbers[underT3] = float64(n)
				out.Numbers[victim] = onLine(r.Goodput(0)) / 1e9
				out.Series[victim] = over(r, scaled(r.Rates(0), onLine(1e-9)))
			})
		})...)
	}
	return cells
}

// underT3 is the number that says how many hosts of T3 sent.
const underT3 = "senders under T3"

// victimThroughput is that of the victim in all runs, by senders under T3.
func victimThroughput(found []suite.Outcome) (by [mostUnderT3 + 1][]float64) {
	for _, o := range found {
		n := int(o.Numbers[underT3])
		by[n] = append(by[n], o.Numbers[victim])
	}
	return by
}

// victimFigure is drawn like [DCQCN] figures 4(b) and 9.
func victimFigure(title string, median []float64, printed suite.Series) suite.Figure {
	f := suite.Figure{Title: title, X: suite.Axis{Label: underT3, Names: []string{"0", "1", "2"}},
		Y:      suite.Axis{Label: "median throughput of the victim", Unit: "Gb/s"},
		Curves: []suite.Curve{{Name: "ours", Kind: suite.Bars, From: suite.Ours}}}
	for n, m := range median {
		f.Curves[0].X = append(f.Curves[0].X, float64(n))
		f.Curves[0].Y = append(f.Curves[0].Y, m)
	}
	if len(printed.X) > 0 {
		f.Curves = append(f.Curves, suite.Curve{Name: "paper", Kind: suite.Points,
			From: suite.Printed, Series: printed})
	}
	return f
}

func medians(by [mostUnderT3 + 1][]float64) (m []float64) {
	for _, all := range by {
		m = append(m, suite.Quantile(all, 0.5))
	}
	return m
}

func judgeVictim(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	by := victimThroughput(found)
	m := medians(by)
	v.Claims = []suite.Claim{
		{Text: "The victim gets but half of the 20 Gb/s that its uplink has left, with no sender " +
			"under T3.", Paper: "10 Gb/s", Ours: m[0], Unit: "Gb/s",
			Rule: "median below 20 Gb/s", Holds: m[0] < 20},
		{Text: "It gets less with one sender under T3.", Ours: m[1], Unit: "Gb/s",
			Rule: fmt.Sprintf("median below %.2f Gb/s", m[0]), Holds: m[1] < m[0]},
		{Text: "It gets still less with two.", Paper: "4.5 Gb/s", Ours: m[2], Unit: "Gb/s",
			Rule: fmt.Sprintf("median below %.2f Gb/s", m[1]), Holds: m[2] < m[1]},
	}
	v.Figures = []suite.Figure{victimFigure("Figure 4(b): the victim with PFC alone", m,
		suite.Series{X: []float64{0, 2}, Y: []float64{10, 4.5}})}
	v.Notes = []string{throughputNote}
	return v
}
