package papers

import (
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/switchd/sonic"
)

// dcqcnNeedPFC is [DCQCN] figure 18: DCQCN without PFC, and with wrong thresholds.
func dcqcnNeedPFC() suite.Experiment {
	return suite.Experiment{
		ID: "dcqcn-need-pfc", Paper: dcqcn, Where: "figure 18",
		Title: "10th percentile of the throughput of user traffic and of an 8:1 incast, with and " +
			"without PFC and DCQCN, and with misconfigured thresholds.",
		Modes: []suite.Mode{suite.Virtual}, Seeds: 3,
		Shorter: "The paper ran two minutes five times, and took percentiles of transfers. Here " +
			"it is 30 ms for each seed, of which the last 18 ms count, and percentiles are of " +
			"the throughput of flows. A flow that waits for its timeout of 67 ms has none.",
		Cells: needCells,
		Judge: judgeNeed,
	}
}

// configuration is one of the figure's four, or of ours that shows what the second hangs on.
type configuration struct {
	name  string
	build func() lab.Topology
}

func configurations() []configuration {
	network := func(c control) lab.Topology { return dcqcnTestbed("need-pfc", benchmarkHosts, c) }
	return []configuration{
		{"no DCQCN", func() lab.Topology { return network(pfcAlone) }},
		{"DCQCN without PFC", func() lab.Topology {
			t := network(dcqcnOn)
			withoutPFC(&t)
			return t
		}},
		{"DCQCN, misconfigured", func() lab.Topology {
			t := network(dcqcnOn)
			misconfigure(&t)
			return t
		}},
		{"DCQCN", func() lab.Topology { return network(dcqcnOn) }},
		{"DCQCN without PFC, small queues", func() lab.Topology {
			t := network(dcqcnOn)
			withoutPFC(&t)
			t.Switch.Lossy.DynamicTh = &sonic.Alpha{Num: 1, Den: 32}
			return t
		}},
	}
}

// withoutPFC takes PFC from all switches and NICs, and leaves marking as it is.
func withoutPFC(t *lab.Topology) {
	t.Switch.PFCEnable, t.NIC.PFCEnable = []uint8{}, []uint8{}
	t.Switch.Pool.XOFF = 0 // no headroom is needed
	// Queues of lossless priorities are those that mark, unless it is said of each.
	marks := map[string][]string{}
	for _, l := range t.Links {
		for _, e := range l.Endpoints {
			marks[e.Node] = append(marks[e.Node], fmt.Sprintf(
				"%s|%d: {wred_profile: AZURE_LOSSLESS}", e.Device, scenario.DataQueue))
		}
	}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if n.Kind != lab.Switch {
			continue
		}
		var doc yaml.Node
		text := "qos: {queue: {" + strings.Join(marks[n.Name], ", ") + "}}"
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			panic("papers: " + err.Error())
		}
		n.Switch.Content = append(n.Switch.Content, doc.Content[0].Content...)
	}
}

// misconfigure sets the static upper bound of t_PFC, and t_ECN to five times that. [DCQCN] 6.2
func misconfigure(t *lab.Topology) {
	t.Switch.Lossless.DynamicTh, t.Switch.Lossless.StaticTh = nil, 24_470
	t.Switch.WRED.MinThreshold = 120 * unit.KB
}

const needDegree = 8 // of the incast: figure 18

func needCells(o suite.Options) (cells []suite.Cell) {
	duration, warmup := 30*time.Millisecond, 12*time.Millisecond
	if o.Short {
		duration, warmup = 12*time.Millisecond, 6*time.Millisecond
	}
	o.Each(func(seed uint64) {
		for _, c := range configurations() {
			name := fmt.Sprintf("%s seed=%d", c.name, seed)
			cells = append(cells, run(name, func() *scenario.Scenario {
				top := c.build()
				top.Seed = seed
				return &scenario.Scenario{Topology: top, Duration: duration, Warmup: warmup,
					Flows:    benchmarkFlows(&top, userPairs, needDegree, seed),
					Interval: 100 * time.Microsecond}
			}, measureBenchmark))
		}
	})
	return cells
}

func judgeNeed(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	all := configurations()
	fig := suite.Figure{Title: "Figure 18: 10th percentile throughput of four configurations",
		X: suite.Axis{Label: "configuration"}, Y: suite.Axis{Label: "throughput", Unit: "Gb/s"}}
	tenth := map[string][]float64{}
	for _, kind := range []string{userFlow, incastFlow} {
		c := suite.Curve{Name: kind, Kind: suite.Bars, From: suite.Ours}
		for i := range all {
			var flows []float64
			for j := i; j < len(found); j += len(all) { // seed by seed
				flows = append(flows, found[j].Series[kind].Y...)
			}
			c.X, c.Y = append(c.X, float64(i)), append(c.Y, suite.Quantile(flows, 0.1))
		}
		tenth[kind] = c.Y
		fig.Curves = append(fig.Curves, c)
	}
	for _, c := range all {
		fig.X.Names = append(fig.X.Names, c.name)
	}
	between := func(kind, text string) suite.Claim {
		t := tenth[kind]
		return suite.Claim{Text: text, Ours: t[2], Unit: "Gb/s",
			Rule:  fmt.Sprintf("from no DCQCN, %.2f, to DCQCN, %.2f Gb/s", t[0], t[3]),
			Holds: t[0] < t[2] && t[2] < t[3]}
	}
	v.Claims = []suite.Claim{
		{Text: "Without PFC the incast's 10th percentile is zero.", Paper: "0 Gb/s",
			Ours: tenth[incastFlow][1], Unit: "Gb/s", Rule: "below 0.01 Gb/s",
			Holds: tenth[incastFlow][1] < 0.01},
		between(incastFlow, "With misconfigured thresholds the incast is better off than without "+
			"DCQCN and worse than with."),
		between(userFlow, "So are the users."),
	}
	v.Figures = []suite.Figure{fig}
	small := tenth[incastFlow][4]
	v.Notes = []string{
		fmt.Sprintf("Without PFC nothing is lost here: each switch has 12 MB for a queue, and "+
			"what flows that begin at line rate pile up before DCQCN slows them down is less. "+
			"So the second bar is the fourth. The paper does not tell what its switches give to "+
			"a lossy queue. The fifth bar gives it 1/32 of what is free: then packets are lost, "+
			"flows wait for their timeout of 67 ms, and the incast's 10th percentile is %.2f "+
			"Gb/s.", small),
		"With a t_PFC of 24.47 KB a queue is longer than a t_ECN of 120 KB only if it is fed " +
			"through more than four ports, so almost nothing is marked and PFC is on its own.",
		benchmarkNote,
		throughputNote,
	}
	return v
}
