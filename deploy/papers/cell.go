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
		out.Hash, out.Clock, out.Certificate = r.Hash, r.Clock, r.Certificate
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
