package papers

import (
	"fmt"

	"github.com/rocelab/rocelab/deploy/suite"
)

// dcqcn16x is [DCQCN] figure 17: how many users fit beside an incast.
func dcqcn16x() suite.Experiment {
	return suite.Experiment{
		ID: "dcqcn-16x", Paper: dcqcn, Where: "figure 17",
		Title: "Throughput of 5 to 80 pairs of users beside an incast of degree 10, with and " +
			"without DCQCN.",
		Modes: []suite.Mode{suite.Virtual}, Seeds: 2, Shorter: benchmarkShorter,
		Cells: func(o suite.Options) (cells []suite.Cell) {
			for _, pairs := range benchmarkPairs(o) {
				for _, c := range []control{pfcAlone, dcqcnOn} {
					cells = append(cells, withPairs(c, pairs).cells(o)...)
				}
			}
			return cells
		},
		Judge: judge16x,
	}
}

const fewestPairs, mostPairs = 5, 80

func benchmarkPairs(o suite.Options) []int {
	if o.Short {
		return []int{fewestPairs, mostPairs}
	}
	return []int{fewestPairs, 20, mostPairs}
}

func withPairs(c control, pairs int) benchmark { return benchmark{c, pairs, mostDegree} }

func judge16x(o suite.Options, found []suite.Outcome) (v suite.Verdict) {
	few, many := withPairs(pfcAlone, fewestPairs), withPairs(dcqcnOn, mostPairs)
	for _, p := range []float64{median, tail} {
		ours, want := many.quantile(found, userFlow, p), few.quantile(found, userFlow, p)
		v.Claims = append(v.Claims, suite.Claim{
			Text: fmt.Sprintf("80 pairs with DCQCN do as well as 5 pairs without: %s of user "+
				"traffic.", quantileName(p)), Ours: ours, Unit: "Gb/s",
			Rule:  fmt.Sprintf("at least 0.9 of the %.2f Gb/s of 5 pairs without", want),
			Holds: ours >= 0.9*want})
	}
	for _, pairs := range []int{fewestPairs, mostPairs} {
		evenness := func(c control) float64 {
			b := withPairs(c, pairs)
			least := b.quantile(found, incastFlow, tail)
			return least / max(b.quantile(found, incastFlow, median), 1e-9) // finite
		}
		without, with := evenness(pfcAlone), evenness(dcqcnOn)
		v.Claims = append(v.Claims, suite.Claim{
			Text: fmt.Sprintf("The rebuild is more uniform and fair with DCQCN, beside %d pairs: "+
				"10th percentile by median.", pairs), Ours: with,
			Rule: fmt.Sprintf("above the %.2f without DCQCN", without), Holds: with > without})
	}
	x := suite.Axis{Label: "communicating pairs", Log: true}
	for _, panel := range []struct {
		title, kind string
		p           float64
	}{{"(a) user traffic, median", userFlow, median},
		{"(a) user traffic, 10th percentile", userFlow, tail},
		{"(b) incast, median", incastFlow, median},
		{"(b) incast, 10th percentile", incastFlow, tail}} {
		v.Figures = append(v.Figures, benchmarkFigure("Figure 17"+panel.title, found, panel.kind,
			panel.p, x, benchmarkPairs(o), withPairs))
	}
	v.Notes = []string{benchmarkNote, throughputNote}
	return v
}
