package papers

import (
	"fmt"

	"github.com/rocelab/rocelab/deploy/suite"
)

// dcqcnPauseCount is [DCQCN] figure 15: PAUSE messages that reach the spines.
func dcqcnPauseCount() suite.Experiment {
	return suite.Experiment{
		ID: "dcqcn-pause-count", Paper: dcqcn, Where: "figure 15",
		Title: "PAUSE messages that the two spines receive under benchmark traffic with an " +
			"incast of degree 10, with and without DCQCN.",
		Modes: []suite.Mode{suite.Virtual}, Seeds: 2,
		Shorter: benchmarkShorter + " Counts for two minutes are extrapolated from their rate.",
		Cells: func(o suite.Options) []suite.Cell {
			without, with := pauseSettings()
			return append(without.cells(o), with.cells(o)...)
		},
		Judge: judgePauseCount,
	}
}

func pauseSettings() (without, with benchmark) {
	return benchmark{pfcAlone, userPairs, 10}, benchmark{dcqcnOn, userPairs, 10}
}

// pausesOf counts the messages of all runs of a setting, for how many seconds, and those before.
func pausesOf(b benchmark, found []suite.Outcome) (n, seconds, before float64) {
	for _, o := range b.of(found) {
		n, seconds = n+o.Numbers[spinePauses], seconds+o.Numbers[counted]
		before += o.Numbers[spineStart]
	}
	return n, seconds, before
}

func judgePauseCount(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	const run = 120 // seconds in the paper
	without, with := pauseSettings()
	many, seconds, manyBefore := pausesOf(without, found)
	few, _, fewBefore := pausesOf(with, found)
	v.Claims = []suite.Claim{
		{Text: "Without DCQCN the spines receive millions of PAUSE messages in two minutes " +
			"(extrapolated).", Paper: "> 6,000,000", Ours: many / seconds * run,
			Unit: "messages", Rule: "at least 1,000,000", Holds: many/seconds*run >= 1e6},
		{Text: "With DCQCN they receive about a two-thousandth.",
			Paper: "3,000", Ours: many / max(1, few), Unit: "times less",
			Rule: fmt.Sprintf("at least 100 times less; %.0f and %.0f in %.3f s (one if there "+
				"was none)", many, few, seconds),
			Holds: many/max(1, few) >= 100},
	}
	v.Figures = []suite.Figure{{
		Title: "Figure 15: PAUSE messages at S1 and S2 in two minutes (ours extrapolated)",
		X:     suite.Axis{Label: "congestion control", Names: []string{"No DCQCN", "DCQCN"}},
		Y:     suite.Axis{Label: "messages", Log: true},
		Curves: []suite.Curve{
			{Name: "extrapolated", Kind: suite.Bars, From: suite.Ours, Series: suite.Series{
				X: []float64{0, 1},
				Y: []float64{many / seconds * run, max(1, few) / seconds * run}}},
			{Name: "paper", Kind: suite.Bars, From: suite.Printed, Series: suite.Series{
				X: []float64{0, 1}, Y: []float64{6e6, 3e3}}},
		},
	}}
	v.Notes = []string{
		fmt.Sprintf("PFC frames are counted, XON among them, as switches do. In the warm-ups, "+
			"when all flows begin at line rate, there were %.0f without DCQCN and %.0f with.",
			manyBefore, fewBefore),
		"Where there was none with DCQCN the bar of ours is what one would be: an upper bound.",
		benchmarkNote,
	}
	return v
}
