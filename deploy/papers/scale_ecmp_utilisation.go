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
		Shorter: "4 ms of the whole network, in which rates have not settled; a sixth of it, " +
			"whose links are about as busy, runs for 16 ms, of which the second half is averaged.",
		Cells: utilisationCells, Judge: judgeUtilisation,
	}
}

// part is a part of figure 7's network, and how long it is looked at.
type part struct {
	name           string
	tors, spines   int
	duration, warm time.Duration
	algorithm      string // of congestion control
}

// partsOf is the whole network, and a sixth of its ToRs and of the spines, so that there are about
// as many connections for each link.
func partsOf(o suite.Options) []part {
	const ms = time.Millisecond
	if o.Short {
		return []part{{"part", 2, 4, 5 * ms, 3 * ms, "dcqcn"}}
	}
	return []part{{"whole", 24, 64, 4 * ms, 3 * ms, "dcqcn"},
		{"part", 4, 12, 16 * ms, 8 * ms, "dcqcn"},
		{"part, PFC alone", 4, 12, 6 * ms, 3 * ms, "none"}}
}

func (p part) cell(seed uint64) string { return fmt.Sprintf("%s seed=%d", p.name, seed) }

// shape has of the 24 servers of a ToR the eight that send.
func (p part) shape() fabric.PodsetShape {
	shape := fabric.Figure7()
	shape.ToRs, shape.Spines, shape.Hosts = p.tors, p.spines, 8
	return shape
}

// perServer is the connections of a server to its partner in the other podset.
const perServer = 8

// frameShare is what a frame of the paper has of payload: 1024 of 1086 bytes.
const frameShare = 1024.0 / 1086

func utilisationCells(o suite.Options) (cells []suite.Cell) {
	for _, p := range partsOf(o) {
		o.Each(func(seed uint64) {
			cells = append(cells, run(p.cell(seed),
				func() *scenario.Scenario { return p.scenario(seed) },
				func(r *scenario.Run, out *suite.Outcome) { p.measure(r, out) }))
		})
	}
	return cells
}

func (p part) scenario(seed uint64) *scenario.Scenario {
	shape := p.shape()
	t := fabric.Podsets("figure7", shape, scaleLinks)
	t.Seed, t.NIC.CC.Algorithm = seed, p.algorithm
	t.Switch.Lossless.DynamicTh = &sonic.Alpha{Num: paperAlpha.Num, Den: paperAlpha.Den}
	t.Switch.Frames = 1 << 15 // of 1086 bytes the buffer holds 11,000; a few more are short ones
	s := &scenario.Scenario{Topology: t, Duration: p.duration, Warmup: p.warm,
		Interval: p.duration / 40}
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

// measure takes the payload that arrives at all servers, as frames of the paper.
func (p part) measure(r *scenario.Run, out *suite.Outcome) {
	shape := p.shape()
	capacity := float64(shape.Podsets*shape.Spines) * float64(scaleLinks.Rate)
	all := make([]float64, len(r.Times()))
	for i := range r.Flows {
		out.Numbers["throughput"] += r.Goodput(i) / frameShare
		for k, rate := range r.Rates(i) {
			all[k] += 100 * rate / frameShare / capacity
		}
	}
	for i := 0; i < len(r.Flows); i += 2 * perServer {
		// The flows of a pair of servers stand together, one way and the other by turns.
		for way := range 2 {
			slowest := r.Goodput(i + way)
			for k := i + way; k < i+2*perServer; k += 2 {
				slowest = min(slowest, r.Goodput(k))
			}
			out.Numbers["lockstep"] += perServer * slowest / frameShare / capacity
		}
	}
	out.Series["utilisation"] = over(r, all)
	out.Numbers["utilisation"] = out.Numbers["throughput"] / capacity
	out.Numbers["connections"] = float64(len(r.Flows))
	for _, n := range r.Dropped() {
		out.Numbers["dropped"] += float64(n)
	}
}

func judgeUtilisation(o suite.Options, found []suite.Outcome) (v suite.Verdict) {
	fig := suite.Figure{Title: "Figure 7b: utilisation of the leaf-spine links",
		X: suite.Axis{Label: "time", Unit: "ms"}, Y: suite.Axis{Label: "utilisation", Unit: "%"}}
	lost, cells := 0.0, 0
	for _, p := range partsOf(o) {
		var use, slowest []float64
		o.Each(func(seed uint64) {
			out := byCell(found, p.cell(seed))
			if len(out.Numbers) == 0 {
				return
			}
			cells++
			use = append(use, 100*out.Numbers["utilisation"])
			slowest = append(slowest, out.Numbers["lockstep"])
			lost += out.Numbers["dropped"]
			fig.Curves = append(fig.Curves, suite.Curve{Name: out.Cell, Kind: suite.Line,
				From: suite.Ours, Series: out.Series["utilisation"]})
		})
		mean, interval := suite.Interval(use)
		if p.name != "part" {
			v.Notes = append(v.Notes, fmt.Sprintf("%s: %.1f %% from %v to %v.", p.name, mean,
				p.warm, p.duration))
			continue
		}
		lockstep, _ := suite.Interval(slowest)
		v.Notes = append(v.Notes, fmt.Sprintf("If the connections of a server went at the pace of "+
			"the slowest of them, the links would be used to %.1f %%.", 100*lockstep))
		if len(use) == 0 {
			mean = 0
		}
		v.Claims = append(v.Claims, suite.Claim{
			Text:  "hash collisions leave ECMP with part of the leaf-spine links",
			Paper: "60", Ours: mean, Unit: "%", Interval: interval, Rule: "the paper's +- 20 %",
			Holds: mean >= 48 && mean <= 72})
	}
	v.Claims = append(v.Claims, suite.Claim{Text: "not a single packet is dropped", Paper: "0",
		Ours: lost, Rule: "0, in all cells", Holds: cells == len(found) && lost == 0})
	v.Notes = append(v.Notes, "Collisions make our connections unequal more than they leave links "+
		"idle: with 24 connections for each leaf-spine link none is without, and those that share "+
		"one with few take what is free. It is the same with PFC alone. The paper tells 8 Gb/s "+
		"for every server, so its servers were alike, as they are if each posts to all of its "+
		"connections by turns and waits for all. It does not tell how they posted.")
	v.Figures = []suite.Figure{fig}
	return v
}
