package papers

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
)

// ldcpIncastHosts send in the large incasts, with equal shares of the flows.
const ldcpIncastHosts = 10

// ldcpIncastWarmup has room for two timeouts of 67 ms: thousands of initial windows are lost nearly
// whole, and some of what is sent again as well.
const ldcpIncastWarmup = 150 * time.Millisecond

// ldcpIncast lets thousands of flows share a link by windows beneath one packet.
func ldcpIncast() suite.Experiment {
	return suite.Experiment{ID: "ldcp-incast-sub-packet-window", Paper: ldcp,
		Where: "section 2.2",
		Title: "Queue, loss and fairness of 100 to 5,000 flows into 40 Gb/s, beside DCQCN.",
		Modes: []suite.Mode{suite.Virtual}, Seeds: 1,
		Shorter: "DCQCN runs with up to 1,000 flows, of which none gets anything through.",
		Cells: func(o suite.Options) (cells []suite.Cell) {
			o.Each(func(seed uint64) {
				for _, flows := range ldcpIncastSizes(o) {
					cells = append(cells, ldcpIncastCell(cellLDCP, ldcpControl, ldcpMarks, flows,
						seed))
					if flows <= ldcpMostDCQCN {
						cells = append(cells, ldcpIncastCell(cellDCQCN, dcqcnControl, dcqcnMarks,
							flows, seed))
					}
				}
			})
			return cells
		},
		Judge: judgeLDCPIncast,
	}
}

func ldcpIncastSizes(o suite.Options) []int {
	if o.Short {
		return []int{100}
	}
	return []int{100, 1000, 5000}
}

// ldcpMostDCQCN is how many flows DCQCN is run with at most: all that it does not slow down is sent
// and dropped, which takes its time.
const ldcpMostDCQCN = 1000

// ldcpEach is the name of the cells of a control with so many flows.
func ldcpEach(name string, flows int) string { return fmt.Sprintf("%s flows=%d", name, flows) }

func ldcpIncastCell(name string, c nicd.CCConfig, m ldcpMarking, flows int, seed uint64,
) suite.Cell {
	return run(fmt.Sprintf("%s seed=%d", ldcpEach(name, flows), seed), func() *scenario.Scenario {
		s := &scenario.Scenario{Topology: ldcpStar(ldcpIncastHosts+1, c, m, seed),
			Queues: bottleneck(ldcpIncastHosts + 1), Duration: 2 * ldcpIncastWarmup,
			Warmup: ldcpIncastWarmup, Interval: time.Millisecond}
		n := &s.Topology.NIC
		n.MaxQPs, n.MaxRegions = flows+1, flows+1
		for i := range flows {
			s.Flows = append(s.Flows, scenario.Flow{From: fmt.Sprintf("h%d", i%ldcpIncastHosts+1),
				To:          fmt.Sprintf("h%d", ldcpIncastHosts+1),
				FlowRequest: nicd.FlowRequest{Name: fmt.Sprintf("flow %d", i+1)}})
		}
		return s
	}, func(r *scenario.Run, out *suite.Outcome) {
		measureLDCP(r, out)
		lost := r.Counted("sw0", "dropped")
		out.Numbers[ldcpLate] = sum(lost[int(r.Scenario.Warmup/r.Scenario.Interval):])
	})
}

// ldcpLate is how many frames the switch dropped after the warm-up.
const ldcpLate = "dropped late"

func judgeLDCPIncast(o suite.Options, found []suite.Outcome) (v suite.Verdict) {
	for _, flows := range ldcpIncastSizes(o) {
		cell := ldcpEach(cellLDCP, flows)
		claim := func(text, number, unit, rule string, holds func(x float64) bool) {
			x, ci := meanOf(found, cell, number)
			v.Claims = append(v.Claims, suite.Claim{Text: fmt.Sprintf(text, flows), Ours: x,
				Unit: unit, Interval: ci, Rule: rule, Holds: holds(x)})
		}
		beside := func(number string) string {
			x, _ := meanOf(found, ldcpEach(cellDCQCN, flows), number)
			if flows > ldcpMostDCQCN {
				return ""
			}
			return "; DCQCN " + brief(x)
		}
		claim("The mean queue of %d flows.", ldcpMean, "KB", fmt.Sprintf("below a packet a flow, "+
			"%d KB", flows)+beside(ldcpMean), func(x float64) bool { return x < float64(flows) })
		claim("What %d flows lose once they have begun.", ldcpLate, "frames",
			fmt.Sprintf("0 after %v", ldcpIncastWarmup)+beside(ldcpLate),
			func(x float64) bool { return x == 0 })
		claim("How %d flows share the link.", ldcpJain, "", "Jain index above 0.9"+
			beside(ldcpJain), func(x float64) bool { return x > 0.9 })
		claim("How %d flows use the link.", ldcpUse, "%", "above 95 %"+beside(ldcpUse),
			func(x float64) bool { return x > 95 })
	}
	fig := suite.Figure{Title: "Queue of the bottleneck", X: suite.Axis{Label: "time", Unit: "ms"},
		Y: suite.Axis{Label: "queue", Unit: "KB"}}
	for _, outcome := range found {
		for _, c := range curves(outcome, ldcpQueue) {
			c.Name = outcome.Cell
			fig.Curves = append(fig.Curves, c)
		}
	}
	v.Figures = []suite.Figure{fig}
	v.Notes = append(ldcpNotes(), "Neither has PFC; what comes in by one port may take 1 MB. "+
		"With gamma = 1/8 5,000 flows at the least window are 625 packets in each round trip, of "+
		"which the link carries 46 in 10 us: the round trip grows until it has them all.",
		"Beneath a packet a window moves by gamma = 1/8 and by halves, so that at any moment "+
			"flows differ by up to eight times; that evens out over time. All timers follow the "+
			"round trip, so large incasts still swing together, and the queue runs empty at times.")
	return v
}
