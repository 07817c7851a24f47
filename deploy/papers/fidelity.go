package papers

import (
	"context"
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/result"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
)

// self is what stands in place of a paper for what the emulator claims of itself.
var self = suite.Paper{Key: "rocelab", Title: "ARCHITECTURE.md, Time"}

// alike stands in place of a paper for what is asked of the controls of all of them.
var alike = suite.Paper{Key: "rocelab", Title: "docs/congestion-control.md"}

// fidelityExperiments are about the emulator.
func fidelityExperiments() []suite.Experiment {
	return []suite.Experiment{fidelity()}
}

// fidelityDilation is the smallest k: near what two virtual processors do without help.
const fidelityDilation = 250

// loaded is how many busy threads compete with the run under load: a core's worth.
const loaded = 1

// fidelity is the scaling law: the same scenario at k, 2k and 4k, and as fast as the machine can
// while something else wants a core, is what it is in virtual time.
func fidelity() suite.Experiment {
	e := suite.Experiment{ID: "fidelity", Paper: self, Where: "Time", Seeds: 1,
		Title: "The same incast at k, 2k, 4k, and beside a competing load, against virtual time.",
		Modes: []suite.Mode{suite.Real}}
	e.Cells = func(o suite.Options) (cells []suite.Cell) {
		for _, times := range []float64{1, 2, 4} {
			k := times * fidelityDilation
			cells = append(cells, fidelityCell(fmt.Sprintf("k=%v", k), lab.Clock{Start: k, Min: k,
				Max: k}, 0))
		}
		return append(cells, fidelityCell("alone", lab.Clock{}, 0),
			fidelityCell("beside a load", lab.Clock{}, loaded),
			overloadedCell())
	}
	e.Judge = func(_ suite.Options, found []suite.Outcome) suite.Verdict {
		return judgeFidelity(found)
	}
	return e
}

// overloaded is a run that no machine of today can follow: in real time, beside a load, with a
// clock that waits for nobody.
const overloaded = "overloaded, rigid clock"

// fidelityScenario has marks, CNPs and a queue that moves: 3:1 with DCQCN.
func fidelityScenario(c lab.Clock) *scenario.Scenario {
	t := fabric.Star("fidelity", 4, fabric.Links{Rate: 40 * unit.GbPerSecond,
		Delay: time.Microsecond})
	t.Clock = c
	return &scenario.Scenario{Topology: t,
		Flows:    scenario.Many("h4", nicd.FlowRequest{}, "h1", "h2", "h3"),
		Queues:   []scenario.Queue{{Switch: "sw0", Port: "swp4", Queue: scenario.DataQueue}},
		Duration: 5 * time.Millisecond, Warmup: time.Millisecond, Interval: 50 * time.Microsecond}
}

// fidelityCell runs it by a clock, beside busy threads.
func fidelityCell(name string, by lab.Clock, busy int) suite.Cell {
	c := run(name, func() *scenario.Scenario { return fidelityScenario(by) },
		func(r *scenario.Run, out *suite.Outcome) {
			out.Numbers["dilation"] = r.Clock.Dilation
			out.Series["queue"] = over(r, scaled(r.QueueBytes(0), 1e-3))
		})
	alone := c.Run
	c.Run = func(ctx context.Context, env suite.Env) (suite.Outcome, error) {
		if by != (lab.Clock{}) {
			env.Dilation = 0 // The clock is what the cell shows: what is asked of all is not of it.
		}
		stop := compete(busy)
		defer stop()
		return alone(ctx, env)
	}
	return c
}

// overloadedCell is told of by its claim: it is invalid on purpose, and no result.
func overloadedCell() suite.Cell {
	c := fidelityCell(overloaded, lab.Clock{Start: 1, Min: 1, Max: 1, Rigid: true}, loaded)
	overload := c.Run
	c.Run = func(ctx context.Context, env suite.Env) (suite.Outcome, error) {
		out, err := overload(ctx, env)
		if err != nil {
			return out, err
		}
		out.Numbers[failures] = failedChecks(out.Certificate)
		out.Certificate, out.Violations = nil, 0
		return out, nil
	}
	return c
}

// failures is the number that tells how many checks an overloaded run failed.
const failures = "failed_checks"

// compete keeps threads busy until the function that it returns is called.
func compete(threads int) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	for range threads {
		go func() {
			for ctx.Err() == nil {
			}
			ended <- struct{}{}
		}()
	}
	return func() {
		cancel()
		for range threads {
			<-ended
		}
	}
}

func judgeFidelity(found []suite.Outcome) (v suite.Verdict) {
	fig := suite.Figure{Title: "Queue of the bottleneck",
		X: suite.Axis{Label: "time", Unit: "ms"}, Y: suite.Axis{Label: "queue", Unit: "KB"}}
	same, hash := true, found[0].Hash
	var slow, fast float64
	for _, o := range found {
		if o.Cell == overloaded {
			v.Claims = append(v.Claims, suite.Claim{Text: "A clock that waits for nobody, on a " +
				"machine that is overloaded: the certificate says not to trust the run.",
				Ours: o.Numbers[failures], Unit: "failed checks",
				Rule: "the certificate is INVALID", Holds: o.Numbers[failures] > 0})
			continue
		}
		v.Claims = append(v.Claims, suite.Claim{Text: "Run " + o.Cell + ": every sample and " +
			"every counter is that of virtual time, and nothing was lost on the way.",
			Ours: failedChecks(o.Certificate), Unit: "failed checks",
			Rule: "the certificate is VALID", Holds: o.Certificate.Valid})
		fig.Curves = append(fig.Curves, suite.Curve{Name: fmt.Sprintf("%s, k = %.0f", o.Cell,
			o.Numbers["dilation"]), Kind: suite.Line, From: suite.Ours, Series: o.Series["queue"]})
		same = same && o.Hash == hash
		fast, slow = slow, o.Numbers["dilation"]
	}
	v.Claims = append(v.Claims, suite.Claim{Text: "All others are one: their hashes are equal.",
		Ours: float64(len(found) - 1), Unit: "runs", Rule: "one hash", Holds: same})
	v.Notes = append(v.Notes, fmt.Sprintf("A load that takes a core makes the run slower and "+
		"nothing else: k was %.0f beside it and %.0f alone.", slow, fast),
		"Overloaded is: in real time (k = 1), beside a load, with `clock: {rigid: true}`.")
	v.Figures = []suite.Figure{fig}
	return v
}

// failedChecks counts what a certificate finds wrong.
func failedChecks(c *result.Certificate) (n float64) {
	for _, check := range c.Checks {
		if !check.OK {
			n++
		}
	}
	return n
}
