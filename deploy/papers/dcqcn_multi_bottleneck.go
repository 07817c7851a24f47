package papers

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
)

// dcqcnMultiBottleneck is [DCQCN] figure 20: the parking lot.
func dcqcnMultiBottleneck() suite.Experiment {
	return suite.Experiment{
		ID: "dcqcn-multi-bottleneck", Paper: dcqcn, Where: "figure 20",
		Title: "Throughput of a flow with two bottlenecks, by how the switches mark.",
		Modes: []suite.Mode{suite.Virtual, suite.Real}, Seeds: 1,
		Shorter: "The paper does not say for how long it looked; here it is 150 ms four " +
			"times, of which the last 100 ms count. On real frames it is 24 ms once, with " +
			"cut-off marking: f2 falls behind then, but by more than with RED-like marking " +
			"only after 60 ms.",
		Cells: parkingCells,
		Judge: judgeParking,
	}
}

// marking is how switches mark.
type marking string

// The two of the figure.
const (
	cutOff  marking = "cut-off"  // as DCTCP
	redLike marking = "RED-like" // as figure 14
)

// strawmanK is where the cut-off is. Section 7 gives no value; this is that of DCTCP at 40 Gb/s
// with which section 5.2 begins.
const strawmanK = 40 * unit.KB

// parkingFlows are f1, f2 and f3: f2 has both bottlenecks.
func parkingFlows() (flows []scenario.Flow) {
	for i, ends := range [][2]string{{"h1", "r1"}, {"h2", "r2"}, {"h3", "r2"}} {
		flows = append(flows, scenario.Flow{From: ends[0], To: ends[1],
			FlowRequest: nicd.FlowRequest{Name: fmt.Sprintf("f%d", i+1),
				MessageBytes: dcqcnMessage}})
	}
	return flows
}

func parkingTiming(o suite.Options) timing {
	switch {
	case o.Mode == suite.Real:
		return timing{draws: 1, duration: 24 * time.Millisecond, warmup: 19 * time.Millisecond}
	case o.Short:
		return timing{draws: 1, duration: 80 * time.Millisecond, warmup: 50 * time.Millisecond}
	}
	return timing{draws: 4, duration: 150 * time.Millisecond, warmup: 50 * time.Millisecond}
}

// markings are those that run: on real frames there is no time for what RED-like marking betters.
func markings(o suite.Options) []marking {
	if o.Mode == suite.Real {
		return []marking{cutOff}
	}
	return []marking{cutOff, redLike}
}

// parkingCells are all runs with cut-off marking, then all with RED-like marking.
func parkingCells(o suite.Options) (cells []suite.Cell) {
	t := parkingTiming(o)
	for _, m := range markings(o) {
		cells = append(cells, draws(o, t.draws, func(name string, seed uint64) suite.Cell {
			return run(fmt.Sprintf("%s %s", m, name), func() *scenario.Scenario {
				top := fabric.ParkingLot("parking-lot", dcqcnLinks())
				dcqcnSettings(&top, dcqcnOn)
				if m == cutOff {
					cutOffMarking(&top, strawmanK)
				}
				top.Seed = seed
				return &scenario.Scenario{Topology: top, Flows: parkingFlows(),
					Duration: t.duration, Warmup: t.warmup, Interval: 100 * time.Microsecond}
			}, measureParking)
		})...)
	}
	return cells
}

func measureParking(r *scenario.Run, out *suite.Outcome) {
	for i, f := range r.Flows {
		out.Numbers[f.Name] = onLine(r.Goodput(i)) / 1e9
		out.Series[f.Name] = over(r, scaled(r.Rates(i), onLine(1e-9)))
	}
}

func judgeParking(o suite.Options, found []suite.Outcome) (v suite.Verdict) {
	fig := suite.Figure{Title: "Figure 20(b): throughput of the three flows; f2 is the long one",
		X: suite.Axis{Label: "flow", Names: []string{"f1", "f2", "f3"}},
		Y: suite.Axis{Label: "throughput", Unit: "Gb/s"}}
	var mean [2][3]float64
	var long [2]*[2]float64 // of f2
	all := markings(o)
	each := len(found) / len(all)
	for i, m := range all {
		c := suite.Curve{Name: string(m), Kind: suite.Bars, From: suite.Ours}
		for n := range 3 {
			var runs []float64
			for _, out := range found[i*each : (i+1)*each] {
				runs = append(runs, out.Numbers[fmt.Sprintf("f%d", n+1)])
			}
			var interval *[2]float64
			if mean[i][n], interval = suite.Interval(runs); n == 1 {
				long[i] = interval
			}
			c.X, c.Y = append(c.X, float64(n)), append(c.Y, mean[i][n])
		}
		fig.Curves = append(fig.Curves, c)
	}
	v.Claims = []suite.Claim{
		{Text: "With cut-off marking the flow with two bottlenecks gets less than the others.",
			Ours: mean[0][1], Unit: "Gb/s", Interval: long[0],
			Rule:  fmt.Sprintf("f2 below f1 and f3 (%.2f and %.2f Gb/s)", mean[0][0], mean[0][2]),
			Holds: mean[0][1] < min(mean[0][0], mean[0][2])},
		{Text: "RED-like marking mitigates that.", Ours: mean[1][1], Unit: "Gb/s",
			Interval: long[1], Rule: fmt.Sprintf("f2 above %.2f Gb/s", mean[0][1]),
			Holds: mean[1][1] > mean[0][1]},
		{Text: "It does not solve it completely: max-min fairness is 20 Gb/s for each.",
			Ours: mean[1][1], Unit: "Gb/s", Interval: long[1], Rule: "f2 below 20 Gb/s",
			Holds: mean[1][1] < 20},
	}
	if len(all) == 1 {
		v.Claims = v.Claims[:1]
	}
	v.Figures = []suite.Figure{fig}
	v.Notes = []string{fmt.Sprintf("The paper does not tell where the cut-off was; here it is at "+
		"%v, as in its strawman.", strawmanK), throughputNote}
	return v
}
