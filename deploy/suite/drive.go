package suite

import (
	"context"

	"github.com/rocelab/rocelab/deploy/scenario"
)

// Drive runs a scenario in the mode of the environment.
func (e Env) Drive(ctx context.Context, s *scenario.Scenario) (*scenario.Run, error) {
	if e.Mode == Virtual {
		return s.Virtual(ctx, e.Tell)
	}
	if k := e.Dilation; k != 0 {
		s.Topology.Clock.Start, s.Topology.Clock.Min, s.Topology.Clock.Max = k, k, k
	}
	return s.Real(ctx, scenario.RealOptions{Log: e.Log, Tell: e.Tell})
}
