package papers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
)

// evenCase is equal flows into one link, that are followed for long.
type evenCase struct {
	name   string // of control and size
	paper  string // what it says of them
	fair   float64
	seeds  int
	from   time.Duration // shares count from here on; whole windows
	length time.Duration // for so long
	build  func(seed uint64) *scenario.Scenario
}

// evenCases are those of the papers that control rates. The least index is what each paper's other
// experiments are held to: "equal share" of [DCQCN] 3.2, "similar rates" of [DCQCN+] 4. [QCN] wants
// "nearly the same share" (section 1), for which we take the lesser of the two.
func evenCases(short bool) (all []evenCase) {
	qcnCase := evenCase{"QCN, 4 flows at 10 Gb/s", "nearly the same", plusFair, 6, time.Second,
		4 * time.Second, evenQCN("baseline", 10*unit.GbPerSecond)}
	if short {
		qcnCase.seeds, qcnCase.from, qcnCase.length = 1, 200*time.Millisecond, time.Second
		return []evenCase{qcnCase}
	}
	all = []evenCase{
		{"DCQCN, 4 flows at 40 Gb/s", "equal", 0.99, 6, evenWindow, time.Second,
			func(seed uint64) *scenario.Scenario {
				return evenStart(dcqcnIncast(evenFlows), seed)
			}},
		qcnCase,
		{"QCN, 4 flows at 1 Gb/s", "nearly the same", plusFair, 6, 5 * time.Second,
			20 * time.Second, evenQCN("netfpga", unit.GbPerSecond)},
	}
	for _, each := range []int{10, 50, 90} {
		all = append(all, evenCase{fmt.Sprintf("DCQCN+, %d flows at 10 Gb/s", plusHosts*each),
			"similar", plusFair, 1, 2 * time.Second, 2 * time.Second,
			func(seed uint64) *scenario.Scenario {
				return plusIncast{plusAdaptive, plusHosts, each, seed}.scenario(plusSpread)
			}})
	}
	return all
}

// evenQCN is four senders through a congestion point.
func evenQCN(preset string, rate unit.Rate) func(seed uint64) *scenario.Scenario {
	return func(seed uint64) *scenario.Scenario {
		t := fabric.Star("even", evenFlows+1, fabric.Links{Rate: rate, Delay: time.Microsecond})
		t.Switch.QCN.Queues, t.Switch.WRED.ECN = []uint8{scenario.DataQueue}, "ecn_none"
		t.NIC.CC = nicd.CCConfig{Algorithm: "qcn", Preset: preset}
		return evenStart(&scenario.Scenario{Topology: t, Queues: bottleneck(evenFlows + 1),
			Flows: scenario.Many("h5", nicd.FlowRequest{MessageBytes: 64 << 10},
				hostNames(evenFlows)...)}, seed)
	}
}

// evenStart makes flows alike: each begins at a time within a millisecond, by the seed.
func evenStart(s *scenario.Scenario, seed uint64) *scenario.Scenario {
	s.Topology.Seed = seed
	start := rand.New(rand.NewPCG(seed, 0))
	for i := range s.Flows {
		s.Flows[i].StartNs = start.Int64N(int64(time.Millisecond))
	}
	return s
}

// ccEqualShares is the property that equal flows have equal shares in the long run.
func ccEqualShares() suite.Experiment {
	return suite.Experiment{ID: "cc-equal-shares", Paper: alike, Where: "equal shares",
		Title: "How equal the shares of equal flows are, over times from 0.1 s to the whole run.",
		Modes: []suite.Mode{suite.Virtual}, Seeds: 1,
		Shorter: "The papers show no such thing; [DCQCN] and [DCQCN+] say that shares are equal, " +
			"QCN's paper that they should be nearly so.",
		Cells: func(o suite.Options) (cells []suite.Cell) {
			for _, c := range evenCases(o.Short) {
				for i := range uint64(max(c.seeds, o.Seeds)) {
					cells = append(cells, c.cell(o.Seed+i))
				}
			}
			return cells
		},
		Judge: judgeEven,
	}
}

const (
	evenWindow = 100 * time.Millisecond // the shortest
	evenIndex  = "Jain index"
	evenUse    = "utilisation"
	evenCurve  = "index by time"
	evenFlows  = 4 // whose shares are kept one by one
)

func evenShare(i int) string { return fmt.Sprintf("share of flow %d", i+1) }

func (c evenCase) cell(seed uint64) suite.Cell {
	return run(fmt.Sprintf("%s, seed=%d", c.name, seed), func() *scenario.Scenario {
		s := c.build(seed)
		s.Warmup, s.Duration, s.Interval = c.from, c.from+c.length, evenWindow
		return s
	}, func(r *scenario.Run, out *suite.Outcome) {
		shares := r.Goodputs()
		out.Numbers[evenIndex], out.Numbers[evenUse] = suite.Jain(shares), 100*r.Utilisation(0)
		for i := range evenFlows {
			out.Numbers[evenShare(i)] = shares[i] / average(shares)
		}
		var curve suite.Series
		for w := evenWindow; w <= c.length; w *= 2 {
			var of []float64
			for at := c.from; at+w <= c.from+c.length; at += w {
				of = append(of, indexIn(r, at, at+w))
			}
			curve.X, curve.Y = append(curve.X, w.Seconds()), append(curve.Y, average(of))
		}
		out.Series[evenCurve] = curve
	})
}

// indexIn is the Jain index of the goodputs in a part of a run.
func indexIn(r *scenario.Run, from, to time.Duration) float64 {
	var shares []float64
	for i := range r.Flows {
		shares = append(shares, r.GoodputIn(i, from, to))
	}
	return suite.Jain(shares)
}

func judgeEven(o suite.Options, found []suite.Outcome) (v suite.Verdict) {
	fig := suite.Figure{Title: "Equality by the time over which shares are taken",
		X: suite.Axis{Label: "time", Unit: "s", Log: true}, Y: suite.Axis{Label: "Jain index"}}
	table := suite.Table{Title: "Mean over runs", Columns: []string{"control", "runs",
		"index over 0.1 s", "index over the run", "utilisation, %"}}
	for _, c := range evenCases(o.Short) {
		some := c.of(found)
		index, ci := suite.Interval(numbers(some, evenIndex))
		use, _ := suite.Interval(numbers(some, evenUse))
		curve := c.curve(some)
		v.Claims = append(v.Claims, suite.Claim{Text: c.name + ": in the long run the shares are " +
			"equal.", Paper: c.paper, Ours: index, Interval: ci, Rule: fmt.Sprintf("Jain index "+
			"over %v above %v, in the mean of runs", c.length, c.fair), Holds: index > c.fair})
		if len(some) > 1 {
			v.Claims = append(v.Claims, c.unbiased(some))
		}
		fig.Curves = append(fig.Curves, curve)
		table.Rows = append(table.Rows, []string{c.name, fmt.Sprint(len(some)),
			fmt.Sprintf("%.4f", curve.Y[0]), fmt.Sprintf("%.4f", index),
			fmt.Sprintf("%.1f", use)})
	}
	v.Figures, v.Tables = []suite.Figure{fig}, []suite.Table{table}
	v.Notes = []string{"Flows begin within 1 ms, those of DCQCN+ within 0.1 s; shares count from " +
		"a warm-up on.",
		"QCN's flows wander for long: a flow raises its rate by its bytes, so that the faster " +
			"one grows faster, and feedback by bytes evens that out (DCQCN section 5.2) in steps " +
			"of AI_INC, 5 Mb/s at 10 Gb/s and 0.5 Mb/s at 1 Gb/s."}
	return v
}

// of are the outcomes of a case.
func (c evenCase) of(found []suite.Outcome) (some []suite.Outcome) {
	for _, o := range found {
		if strings.HasPrefix(o.Cell, c.name+", seed=") {
			some = append(some, o)
		}
	}
	return some
}

// curve is the mean over runs.
func (c evenCase) curve(some []suite.Outcome) suite.Curve {
	curve := suite.Curve{Name: c.name, Kind: suite.Line, From: suite.Ours}
	for i, x := range some[0].Series[evenCurve].X {
		var at []float64
		for _, o := range some {
			at = append(at, o.Series[evenCurve].Y[i])
		}
		curve.X, curve.Y = append(curve.X, x), append(curve.Y, average(at))
	}
	return curve
}

// evenConfidence is that of the intervals of shares: of four flows, one set in a hundred is refused
// by chance.
const evenConfidence = 0.998

// unbiased says that no flow is preferred: flows that are alike have shares with the same
// distribution, so the mean of each over runs is 1.
func (c evenCase) unbiased(some []suite.Outcome) suite.Claim {
	claim := suite.Claim{Text: c.name + ": no flow is preferred. The share furthest from an " +
		"equal one, in the mean of runs.", Ours: 1, Holds: true}
	for i := range evenFlows {
		mean, ci := suite.IntervalAt(evenConfidence, numbers(some, evenShare(i)))
		claim.Holds = claim.Holds && ci[0] <= 1 && ci[1] >= 1
		if math.Abs(mean-1) >= math.Abs(claim.Ours-1) {
			claim.Ours = mean
			claim.Rule = fmt.Sprintf("1 is within Student's interval of each flow, with %.1f %% "+
				"confidence; of this one %.3f to %.3f", 100*evenConfidence, ci[0], ci[1])
		}
	}
	return claim
}
