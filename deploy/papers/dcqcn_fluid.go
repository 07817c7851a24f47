package papers

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/result"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/roce/fluid"
)

// What section 5 of [DCQCN] computes by its fluid model is computed here by the model, and measured
// on machines that have the model's parameters. Both make cells of one experiment.

// engine is one of the two.
type engine struct {
	name string // in cells: "packets K=2 seed=1"
	from suite.Origin
}

var (
	byModel   = engine{"fluid model", suite.Model}
	byPackets = engine{"packets", suite.Ours}
	engines   = []engine{byModel, byPackets}
)

// of says which outcomes are the engine's.
func (e engine) of(found []suite.Outcome) (its []suite.Outcome) {
	for _, o := range found {
		if strings.HasPrefix(o.Cell, e.name) {
			its = append(its, o)
		}
	}
	return its
}

// isPoint says whether a cell is an engine's run of a point, with whatever seed.
func isPoint(e engine, cell, point string) bool {
	name := e.name + " " + point
	return cell == name || strings.HasPrefix(cell, name+" seed=")
}

// fluidParams are those of [DCQCN] figure 14, for packets as large as ours are on the line.
func fluidParams() fluid.Params {
	p := fluid.Default()
	p.Packet = dcqcnPacket
	return p
}

// strawmanParams are those with which [DCQCN] section 5.2 begins.
func strawmanParams() fluid.Params {
	p := fluid.Strawman()
	p.Packet = dcqcnPacket
	return p
}

// asModelled gives switches and NICs the parameters of the model. Those that it shares with figure
// 14 in every experiment, as the interval of CNPs, are the defaults of nicd.
func asModelled(t *lab.Topology, p fluid.Params) {
	t.NIC.CC.Params = map[string]any{
		"g": p.G, "timer": p.Timer.String(), "byte_counter": p.ByteCounter.String(),
		"rate_ai": p.RateAI.String(),
	}
	w := &t.Switch.WRED
	w.MinThreshold, w.MaxThreshold, w.DropProbability = p.Kmin, p.Kmax, p.Pmax*100
}

// ownCC gives the reaction points of one host a parameter of their own.
func ownCC(t *lab.Topology, host, key string, value any) {
	change := map[string]any{"cc": map[string]any{"params": map[string]any{key: value}}}
	for i := range t.Nodes {
		if n := &t.Nodes[i]; n.Name == host {
			if err := n.NIC.Encode(change); err != nil {
				panic("papers: " + err.Error()) // a map of plain values, which can be written
			}
			return
		}
	}
	panic("papers: no host " + host)
}

// modelled makes a cell of the fluid model. measure takes what the experiment wants of its samples.
func modelled(name string, p fluid.Params, flows []fluid.Flow, until, every time.Duration,
	measure func(list []fluid.Sample, out *suite.Outcome)) suite.Cell {
	return suite.Cell{Name: name, Run: func(context.Context, suite.Env) (suite.Outcome, error) {
		out := suite.Outcome{Cell: name, Parameters: modelLines(p),
			Numbers: map[string]float64{}, Series: map[string]suite.Series{}}
		list, err := fluid.Solve(p, flows, until, every)
		if err != nil {
			return out, fmt.Errorf("%s: %w", name, err)
		}
		measure(list, &out)
		return out, nil
	}}
}

func modelLines(p fluid.Params) []result.Line {
	return []result.Line{
		{Name: "packet", Value: fmt.Sprintf("%d bytes on the line", p.Packet)},
		{Name: "Kmin, Kmax, Pmax", Value: fmt.Sprintf("%v, %v, %v", p.Kmin, p.Kmax, p.Pmax)},
		{Name: "g", Value: fmt.Sprintf("1/%v", 1/p.G)},
		{Name: "byte counter, timer", Value: fmt.Sprintf("%v, %v", p.ByteCounter, p.Timer)},
		{Name: "R_AI", Value: p.RateAI.String()},
		{Name: "tau*, tau, tau'", Value: fmt.Sprintf("%v, %v, %v", p.Delay, p.CNPInterval,
			p.AlphaTimer)},
	}
}
