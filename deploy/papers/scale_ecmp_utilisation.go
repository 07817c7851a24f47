package papers

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd/sonic"
)

func scaleECMPUtilisation() suite.Experiment {
	return suite.Experiment{
		ID: "scale-ecmp-utilisation", Paper: atScale, Where: "section 5.4, figure 7",
		Modes: []suite.Mode{suite.Virtual}, Seeds: 1,
		Title: "ToR-to-ToR traffic between two podsets, 3,072 connections as fast as possible " +
			"over 128 leaf-spine links: how much of them ECMP uses, without a drop.",
		Shorter: "10 ms, of which the last 4 are averaged.",
		Cells:   utilisationCells, Judge: judgeUtilisation,
	}
}

// figure7 is the part of figure 7 that sends: of the 24 servers of a ToR "we selected 8 servers".
func figure7(o suite.Options) fabric.PodsetShape {
	shape := fabric.Figure7()
	shape.Hosts = 8
	if o.Short { // a sixth of the ToRs, servers and spines that are as busy
		shape.ToRs, shape.Spines = 4, 12
	}
	return shape
}

// perServer is the connections of a server to its partner in the other podset.
const perServer = 8

// frameShare is what a frame of the paper has of payload: 1024 of 1086 bytes.
const frameShare = 1024.0 / 1086

func utilisationCells(o suite.Options) (cells []suite.Cell) {
	d, warm := 10*time.Millisecond, 6*time.Millisecond
	if o.Short {
		d, warm = 4*time.Millisecond, 2*time.Millisecond
	}
	o.Each(func(seed uint64) {
		cells = append(cells, run(fmt.Sprintf("seed=%d", seed),
			func() *scenario.Scenario { return utilisation(figure7(o), seed, d, warm) },
			func(r *scenario.Run, out *suite.Outcome) { measureUtilisation(r, out, figure7(o)) }))
	})
	return cells
}

func utilisation(shape fabric.PodsetShape, seed uint64, d, warm time.Duration,
) *scenario.Scenario {
	t := fabric.Podsets("figure7", shape, scaleLinks)
	t.Seed = seed
	t.Switch.Lossless.DynamicTh = &sonic.Alpha{Num: paperAlpha.Num, Den: paperAlpha.Den}
	t.Switch.Frames = 1 << 15 // of 1086 bytes the buffer holds 11,000; a few more are short ones
	s := &scenario.Scenario{Topology: t, Duration: d, Warmup: warm, Interval: d / 40}
	for tor := 1; tor <= shape.ToRs; tor++ {
		for h := 1; h <= shape.Hosts; h++ {
			a, b := fmt.Sprintf("h1-%d-%d", tor, h), fmt.Sprintf("h2-%d-%d", tor, h)
			for c := range perServer {
				s.Flows = append(s.Flows, utilisationFlow(a, b, c), utilisationFlow(b, a, c))
			}
		}
	}
	return s
}

func utilisationFlow(from, to string, number int) scenario.Flow {
	return scenario.Flow{From: from, To: to, FlowRequest: nicd.FlowRequest{
		Name: fmt.Sprintf("%s > %s %d", from, to, number)}}
}

// measureUtilisation takes the payload that arrives at all servers, as frames of the paper.
func measureUtilisation(r *scenario.Run, out *suite.Outcome, shape fabric.PodsetShape) {
	capacity := float64(shape.Podsets*shape.Spines) * float64(scaleLinks.Rate)
	all := make([]float64, len(r.Times()))
	for i := range r.Flows {
		out.Numbers["throughput"] += r.Goodput(i) / frameShare
		for k, rate := range r.Rates(i) {
			all[k] += rate / frameShare / 1e12
		}
	}
	out.Series["throughput"] = over(r, all)
	out.Numbers["utilisation"] = out.Numbers["throughput"] / capacity
	out.Numbers["connections"] = float64(len(r.Flows))
	for _, n := range r.Dropped() {
		out.Numbers["dropped"] += float64(n)
	}
}

func judgeUtilisation(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	fig := suite.Figure{Title: "Figure 7b: aggregate throughput",
		X: suite.Axis{Label: "time", Unit: "ms"}, Y: suite.Axis{Label: "throughput", Unit: "Tb/s"}}
	var use, dropped []float64
	for _, o := range found {
		if len(o.Numbers) == 0 {
			continue
		}
		use = append(use, 100*o.Numbers["utilisation"])
		dropped = append(dropped, o.Numbers["dropped"])
		fig.Curves = append(fig.Curves, suite.Curve{Name: o.Cell, Kind: suite.Line,
			From: suite.Ours, Series: o.Series["throughput"]})
	}
	mean, interval := suite.Interval(use)
	lost, _ := suite.Interval(dropped)
	v.Claims = []suite.Claim{
		{Text: "hash collisions leave ECMP with part of the leaf-spine links", Paper: "60",
			Ours: mean, Unit: "%", Interval: interval, Rule: "the paper's +- 20 %",
			Holds: mean >= 48 && mean <= 72},
		{Text: "not a single packet is dropped", Paper: "0", Ours: lost, Rule: "0",
			Holds: len(dropped) == len(found) && lost == 0},
	}
	v.Figures = []suite.Figure{fig}
	return v
}
