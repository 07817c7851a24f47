package papers

import (
	"context"
	"fmt"

	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
)

// run makes a cell of a scenario, which is built when its turn comes. measure takes what the
// experiment wants of it.
func run(name string, build func() *scenario.Scenario,
	measure func(r *scenario.Run, out *suite.Outcome)) suite.Cell {
	do := func(ctx context.Context, env suite.Env) (suite.Outcome, error) {
		s := build()
		out := suite.Outcome{Cell: name, Parameters: s.Parameters(), Numbers: map[string]float64{},
			Series: map[string]suite.Series{}}
		r, err := env.Drive(ctx, s)
		if err != nil {
			return out, fmt.Errorf("%s: %w", name, err)
		}
		out.Take(r)
		measure(r, &out)
		return out, nil
	}
	return suite.Cell{Name: name, Run: do}
}

// over is a series over the time of a run's samples, in milliseconds.
func over(r *scenario.Run, y []float64) suite.Series {
	x := r.Times()
	for i := range x {
		x[i] *= 1e3
	}
	return suite.Series{X: x, Y: y}
}

// scaled multiplies a series by a factor, as 1e-9 for Gb/s.
func scaled(y []float64, by float64) []float64 {
	for i := range y {
		y[i] *= by
	}
	return y
}

// twin is the name of a series of a run on real frames in virtual time.
func twin(series string) string { return series + ", virtual time" }

// curves are a series of a cell, and of its twin if it has one.
func curves(o suite.Outcome, series string) []suite.Curve {
	all := []suite.Curve{{Name: series, Kind: suite.Line, From: suite.Ours,
		Series: o.Series[series]}}
	if s, ok := o.Series[twin(series)]; ok {
		all = append(all, suite.Curve{Name: series, Kind: suite.Line, From: suite.Twin, Series: s})
	}
	return all
}

// numbers are those of a name in all outcomes that have it.
func numbers(found []suite.Outcome, name string) (all []float64) {
	for _, o := range found {
		if n, ok := o.Numbers[name]; ok {
			all = append(all, n)
		}
	}
	return all
}

func sum(values []float64) (s float64) {
	for _, v := range values {
		s += v
	}
	return s
}

// average is the mean of values, 0 if there are none.
func average(values []float64) float64 { return sum(values) / max(1, float64(len(values))) }
