package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/twin"
)

// Probe looks at the nodes in the middle of a run: in virtual time exactly at At, on real frames as
// soon as somebody sees that At has passed.
type Probe struct {
	At   time.Duration
	Look func(ctx context.Context, node func(name string) daemon.Caller) error
}

// Virtual runs the scenario in virtual time. tell, if not nil, hears how much of it has passed.
func (s *Scenario) Virtual(ctx context.Context, tell func(passed, of time.Duration)) (*Run, error) {
	v, err := s.begin()
	if err != nil {
		return nil, err
	}
	tw, err := twin.New(&s.Topology)
	if err != nil {
		return nil, err
	}
	v.node = tw.Client
	if err := v.prepare(ctx); err != nil {
		return nil, err
	}
	if err := v.pass(ctx, tw, tell); err != nil {
		return nil, err
	}
	r, err := v.collect(ctx)
	if err != nil {
		return nil, err
	}
	for name, n := range r.nodes {
		n.status.Name, n.status.Ledger = name, daemon.NewLedgerStatus(tw.Ledger(name))
		if n.status.Ledger.Fault != "" {
			return nil, fmt.Errorf("%s: %s", name, n.status.Ledger.Fault)
		}
	}
	return r, nil
}

// steps is how often a run in virtual time looks whether it is still wanted.
const steps = 200

// pass lets the time of the scenario pass, with a stop at each probe.
func (s *session) pass(ctx context.Context, tw *twin.Twin, tell func(passed, of time.Duration),
) error {
	probes := s.probes()
	step := max(s.Duration/steps, time.Nanosecond)
	for at := time.Duration(0); at < s.Duration; {
		at = min(at+step, s.Duration)
		for len(probes) > 0 && probes[0].At <= at {
			tw.Run(unit.Time(probes[0].At))
			if err := probes[0].Look(ctx, s.node); err != nil {
				return fmt.Errorf("probe at %v: %w", probes[0].At, err)
			}
			probes = probes[1:]
		}
		tw.Run(unit.Time(at))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if tell != nil {
			tell(at, s.Duration)
		}
	}
	return nil
}

// probes are those of the scenario in the order of their times.
func (s *Scenario) probes() []Probe {
	sorted := slices.Clone(s.Probes)
	slices.SortStableFunc(sorted, func(a, b Probe) int { return int(a.At - b.At) })
	return sorted
}
