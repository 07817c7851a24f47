package papers

import (
	"context"
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/fabric"
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
			cells = append(cells, fidelityCell(fmt.Sprintf("k=%v", k), k, 0))
		}
		return append(cells, fidelityCell("alone", 0, 0), fidelityCell("beside a load", 0, loaded))
	}
	e.Judge = func(_ suite.Options, found []suite.Outcome) suite.Verdict {
		return judgeFidelity(found)
	}
	return e
}

// fidelityScenario has marks, CNPs and a queue that moves: 3:1 with DCQCN.
func fidelityScenario(k float64) *scenario.Scenario {
	t := fabric.Star("fidelity", 4, fabric.Links{Rate: 40 * unit.GbPerSecond,
		Delay: time.Microsecond})
	t.Clock.Start, t.Clock.Min, t.Clock.Max = k, k, k
	return &scenario.Scenario{Topology: t,
		Flows:    scenario.Many("h4", nicd.FlowRequest{}, "h1", "h2", "h3"),
		Queues:   []scenario.Queue{{Switch: "sw0", Port: "swp4", Queue: scenario.DataQueue}},
		Duration: 5 * time.Millisecond, Warmup: time.Millisecond, Interval: 50 * time.Microsecond}
}

// fidelityCell runs it at a fixed k, 0 for one that the machine chooses, beside busy threads.
func fidelityCell(name string, k float64, busy int) suite.Cell {
	c := run(name, func() *scenario.Scenario { return fidelityScenario(k) },
		func(r *scenario.Run, out *suite.Outcome) {
			out.Numbers["dilation"] = r.Clock.Dilation
			out.Series["queue"] = over(r, scaled(r.QueueBytes(0), 1e-3))
		})
	alone := c.Run
	c.Run = func(ctx context.Context, env suite.Env) (suite.Outcome, error) {
		stop := compete(busy)
		defer stop()
		return alone(ctx, env)
	}
	return c
}

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
	for _, o := range found {
		v.Claims = append(v.Claims, suite.Claim{Text: "Run " + o.Cell + ": every sample and " +
			"every counter is that of virtual time, and nothing was lost on the way.",
			Ours: failedChecks(o.Certificate), Unit: "failed checks",
			Rule: "the certificate is VALID", Holds: o.Certificate.Valid})
		fig.Curves = append(fig.Curves, suite.Curve{Name: fmt.Sprintf("%s, k = %.0f", o.Cell,
			o.Numbers["dilation"]), Kind: suite.Line, From: suite.Ours, Series: o.Series["queue"]})
	}
	same := true
	for _, o := range found {
		same = same && o.Hash == found[0].Hash
	}
	v.Claims = append(v.Claims, suite.Claim{Text: "All runs are one: their hashes are equal.",
		Ours: float64(len(found)), Unit: "runs", Rule: "one hash", Holds: same})
	slow, fast := found[len(found)-1].Numbers["dilation"], found[len(found)-2].Numbers["dilation"]
	v.Notes = append(v.Notes, fmt.Sprintf("A load that takes a core makes the run slower and "+
		"nothing else: k was %.0f beside it and %.0f alone.", slow, fast))
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
