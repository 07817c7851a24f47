package papers

import (
	"fmt"
	"math"

	"github.com/rocelab/rocelab/deploy/suite"
)

// ldcpDelays are how many packets one acknowledgement may stand for: m of [LDCP] 2.2.
var ldcpDelays = []int{1, 2, 4, 8}

// ldcpDelayedAck compares the steady states with fewer acknowledgements, [LDCP] eq 2.
func ldcpDelayedAck() suite.Experiment {
	return suite.Experiment{ID: "ldcp-delayed-ack", Paper: ldcp, Where: "section 2.2, equation 2",
		Title: "One acknowledgement for up to m packets without a mark: queue and utilisation of " +
			"8 flows.",
		Modes: []suite.Mode{suite.Virtual}, Seeds: 1,
		Cells: func(o suite.Options) (cells []suite.Cell) {
			o.Each(func(seed uint64) {
				for _, m := range ldcpDelays {
					c := ldcpControl
					c.Params = map[string]any{"delayed_ack": m}
					cells = append(cells, ldcpRun{ldcpDelay(m), 8, c, ldcpMarks}.cell(seed))
				}
			})
			return cells
		},
		Judge: judgeLDCPDelayed,
	}
}

func ldcpDelay(m int) string { return fmt.Sprintf("m=%d", m) }

func judgeLDCPDelayed(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	one, _ := meanOf(found, ldcpDelay(1), ldcpMean)
	fig := suite.Figure{Title: "Queue of the bottleneck", X: suite.Axis{Label: "time", Unit: "ms"},
		Y: suite.Axis{Label: "queue", Unit: "KB"}}
	for _, m := range ldcpDelays {
		cell := ldcpDelay(m)
		queue, ci := meanOf(found, cell, ldcpMean)
		use, useCI := meanOf(found, cell, ldcpUse)
		jain, jainCI := meanOf(found, cell, ldcpJain)
		if m > 1 {
			v.Claims = append(v.Claims, suite.Claim{Text: "The steady state is the same with " +
				cell + ": mean queue.", Ours: queue, Unit: "KB", Interval: ci,
				Rule:  fmt.Sprintf("within 20 %% of that with m=1, %.1f KB", one),
				Holds: math.Abs(queue-one) <= 0.2*one})
		}
		v.Claims = append(v.Claims,
			suite.Claim{Text: "The steady state is the same with " + cell + ": utilisation.",
				Ours: use, Unit: "%", Interval: useCI, Rule: "above 95 %", Holds: use > 95},
			suite.Claim{Text: "The steady state is the same with " + cell + ": shares.",
				Ours: jain, Interval: jainCI, Rule: "Jain index above 0.95", Holds: jain > 0.95})
		fig.Curves = append(fig.Curves, suite.Curve{Name: cell, Kind: suite.Line, From: suite.Ours,
			Series: named(found, cell)[0].Series[ldcpQueue]})
	}
	v.Figures = []suite.Figure{fig}
	v.Notes = append(ldcpNotes(), "The draft bounds how many packets an answer stands for, but "+
		"has no timer at the receiver. So the sender says in each packet how many, and in the "+
		"last that its window or its data allow, one: else a window below m would wait for ever.")
	return v
}
