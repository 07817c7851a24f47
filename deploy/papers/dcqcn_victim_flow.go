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
			"T1 after 4 to 10 ms, and nothing changes from then on. On real frames it is one " +
			"choice and 8 ms, with 0 and 2 senders under T3.",
		Cells: func(o suite.Options) []suite.Cell { return victims(o, pfcAlone, spreadTiming(o)) },
		Judge: judgeVictim,
	}
}

// spreadTiming lets pauses spread over the whole network before anything counts.
func spreadTiming(o suite.Options) timing {
	switch {
	case o.Mode == suite.Real:
		return timing{draws: 1, duration: 8 * time.Millisecond, warmup: 5 * time.Millisecond}
	case o.Short:
		return timing{draws: 3, duration: 10 * time.Millisecond, warmup: 8 * time.Millisecond}
	}
	return timing{draws: 25, duration: 20 * time.Millisecond, warmup: 10 * time.Millisecond}
}

// mostUnderT3 is how many hosts of T3 send at most in figures 4 and 9.
const mostUnderT3 = 2

// victims are runs of the flows of [DCQCN] figure 4 with 0 to 2 senders under T3, on real frames
// with 0 and 2. The choices of ECMP are the same for all.
func victims(o suite.Options, c control, t timing) (cells []suite.Cell) {
	for n := range mostUnderT3 + 1 {
		if o.Mode == suite.Real && n == 1 {
			continue
		}
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

// victimMedians are those of the victim's throughput in all runs with as many senders under T3.
func victimMedians(found []suite.Outcome) (m suite.Series) {
	var by [mostUnderT3 + 1][]float64
	for _, o := range found {
		n := int(o.Numbers[underT3])
		by[n] = append(by[n], o.Numbers[victim])
	}
	for n, all := range by {
		if len(all) > 0 {
			m.X, m.Y = append(m.X, float64(n)), append(m.Y, suite.Quantile(all, 0.5))
		}
	}
	return m
}

// victimFigure is drawn like [DCQCN] figures 4(b) and 9.
func victimFigure(title string, median, printed suite.Series) suite.Figure {
	f := suite.Figure{Title: title, X: suite.Axis{Label: underT3, Names: []string{"0", "1", "2"}},
		Y: suite.Axis{Label: "median throughput of the victim", Unit: "Gb/s"},
		Curves: []suite.Curve{{Name: "ours", Kind: suite.Bars, From: suite.Ours,
			Series: median}}}
	if len(printed.X) > 0 {
		f.Curves = append(f.Curves, suite.Curve{Name: "paper", Kind: suite.Points,
			From: suite.Printed, Series: printed})
	}
	return f
}

func judgeVictim(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	m := victimMedians(found)
	printed := suite.Series{X: []float64{0, 2}, Y: []float64{10, 4.5}}
	v.Claims = []suite.Claim{{
		Text: "With no sender under T3 the victim gets far less than the 20 Gb/s that its uplink " +
			"has left.", Paper: "10 Gb/s", Ours: m.Y[0], Unit: "Gb/s",
		Rule: "median below 15 Gb/s", Holds: m.Y[0] < 15}}
	for i := 1; i < len(m.X); i++ {
		c := suite.Claim{Text: fmt.Sprintf("It gets less with %.0f than with %.0f.", m.X[i],
			m.X[i-1]), Ours: m.Y[i], Unit: "Gb/s",
			Rule: fmt.Sprintf("median below %.2f Gb/s", m.Y[i-1]), Holds: m.Y[i] < m.Y[i-1]}
		if m.X[i] == mostUnderT3 {
			c.Paper = "4.5 Gb/s"
		}
		v.Claims = append(v.Claims, c)
	}
	v.Figures = []suite.Figure{victimFigure("Figure 4(b): the victim with PFC alone", m, printed)}
	v.Notes = []string{
		"The second sender under T3 costs little: it counts only if ECMP maps the two to " +
			"different uplinks of T3, and both meet flows of T1 there. The paper's 4.5 Gb/s is " +
			"the median of choices that it does not tell.",
		throughputNote,
	}
	return v
}
