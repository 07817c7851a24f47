package papers

import (
	"fmt"
	"math"

	"github.com/rocelab/rocelab/deploy/suite"
)

// dcqcnBenchmark is [DCQCN] figure 16: user traffic beside an incast of growing degree.
func dcqcnBenchmark() suite.Experiment {
	return suite.Experiment{
		ID: "dcqcn-benchmark", Paper: dcqcn, Where: "figure 16",
		Title: "Throughput of 20 pairs of users and of an incast of degree 2 to 10, with and " +
			"without DCQCN.",
		Modes: []suite.Mode{suite.Virtual}, Seeds: 3,
		Shorter: benchmarkShorter + " The paper ran each five times, and all degrees from 2 to 10.",
		Cells: func(o suite.Options) (cells []suite.Cell) {
			for _, degree := range benchmarkDegrees(o) {
				for _, c := range []control{pfcAlone, dcqcnOn} {
					cells = append(cells, withDegree(c, degree).cells(o)...)
				}
			}
			return cells
		},
		Judge: judgeBenchmark,
	}
}

const leastDegree, mostDegree = 2, 10

func benchmarkDegrees(o suite.Options) []int {
	if o.Short {
		return []int{leastDegree, mostDegree}
	}
	return []int{leastDegree, 6, mostDegree}
}

func withDegree(c control, degree int) benchmark { return benchmark{c, userPairs, degree} }

func judgeBenchmark(o suite.Options, found []suite.Outcome) (v suite.Verdict) {
	at := func(c control, degree int, kind string, p float64) float64 {
		return withDegree(c, degree).quantile(found, kind, p)
	}
	for _, p := range []float64{median, tail} {
		without := at(pfcAlone, mostDegree, userFlow, p)
		few := at(pfcAlone, leastDegree, userFlow, p)
		v.Claims = append(v.Claims, suite.Claim{
			Text: fmt.Sprintf("Without DCQCN the %s of user traffic collapses with the incast's "+
				"degree.", quantileName(p)), Ours: without, Unit: "Gb/s",
			Rule:  fmt.Sprintf("degree 10 at most half of degree 2, %.2f Gb/s", few),
			Holds: without <= few/2})
		with := at(dcqcnOn, mostDegree, userFlow, p)
		few = at(dcqcnOn, leastDegree, userFlow, p)
		v.Claims = append(v.Claims, suite.Claim{
			Text: fmt.Sprintf("With DCQCN the %s of user traffic hardly changes.", quantileName(p)),
			Ours: with, Unit: "Gb/s",
			Rule:  fmt.Sprintf("degree 10 within 20 %% of degree 2, %.2f Gb/s", few),
			Holds: math.Abs(with-few) <= 0.2*few})
	}
	without, with := at(pfcAlone, mostDegree, incastFlow, tail), at(dcqcnOn, mostDegree,
		incastFlow, tail)
	v.Claims = append(v.Claims,
		suite.Claim{Text: "Without DCQCN the 10th percentile of the incast's flows at degree 10 " +
			"is far below the fair share of 4 Gb/s.", Paper: "< 1.12 Gb/s", Ours: without,
			Unit: "Gb/s", Rule: "below 1.12 Gb/s", Holds: without < 1.12},
		suite.Claim{Text: "With DCQCN it is close to the fair share.", Paper: "3.43 Gb/s",
			Ours: with, Unit: "Gb/s", Rule: "3.43 Gb/s at least, less 20 %",
			Holds: with >= 0.8*3.43})
	for _, panel := range []struct {
		title, kind string
		p           float64
	}{{"(a) user traffic, median", userFlow, median},
		{"(b) user traffic, 10th percentile", userFlow, tail},
		{"(c) incast, median", incastFlow, median},
		{"(d) incast, 10th percentile", incastFlow, tail}} {
		v.Figures = append(v.Figures, benchmarkFigure("Figure 16"+panel.title, found, panel.kind,
			panel.p, suite.Axis{Label: "incast degree"}, benchmarkDegrees(o), withDegree))
	}
	printed := suite.Curve{Name: "paper, DCQCN", Kind: suite.Points, From: suite.Printed,
		Series: suite.Series{X: []float64{mostDegree}, Y: []float64{3.43}}}
	below := suite.Curve{Name: "paper, below this without", Kind: suite.Points,
		From: suite.Printed, Series: suite.Series{X: []float64{mostDegree}, Y: []float64{1.12}}}
	v.Figures[3].Curves = append(v.Figures[3].Curves, printed, below)
	v.Notes = []string{
		"Who gets how little without DCQCN hangs on the hosts that are drawn and on ECMP: a " +
			"sender that comes to the receiver's ToR on a port of its own takes up to half of " +
			"the link. The least of all our incast flows had " +
			fmt.Sprintf("%.2f Gb/s.", at(pfcAlone, mostDegree, incastFlow, 0)),
		benchmarkNote, throughputNote,
	}
	return v
}
