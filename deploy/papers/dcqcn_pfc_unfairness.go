package papers

import (
	"fmt"
	"math"
	"time"

	"github.com/rocelab/rocelab/deploy/suite"
)

// dcqcnPFCUnfairness is [DCQCN] figure 3: the parking lot problem of PFC.
func dcqcnPFCUnfairness() suite.Experiment {
	return suite.Experiment{
		ID: "dcqcn-pfc-unfairness", Paper: dcqcn, Where: "figure 3",
		Title: "With PFC alone, throughput of four senders to one receiver, of which H4 is on " +
			"the receiver's ToR.",
		Modes: []suite.Mode{suite.Virtual, suite.Real}, Seeds: 1,
		Shorter: "The paper measured 1000 transfers of 4 MB from each sender. Here each of 40 " +
			"choices of ECMP lasts 20 ms, in which a sender ends 2 to 10 transfers. On real " +
			"frames it is one choice and 4 ms.",
		Cells: func(o suite.Options) []suite.Cell {
			return fourSenders(o, pfcAlone, unfairTiming(o))
		},
		Judge: judgeUnfairness,
	}
}

// unfairTiming lets the buffers on the way fill before anything counts: 4.7 MB at T4 take 1 ms at
// 40 Gb/s too much.
func unfairTiming(o suite.Options) timing {
	switch {
	case o.Mode == suite.Real:
		return timing{draws: 1, duration: 4 * time.Millisecond, warmup: 2 * time.Millisecond}
	case o.Short:
		return timing{draws: 8, duration: 5 * time.Millisecond, warmup: 2 * time.Millisecond}
	}
	return timing{draws: 40, duration: 20 * time.Millisecond, warmup: 2 * time.Millisecond}
}

func judgeUnfairness(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	by := transfersBySender(found)
	others := max(by[0].high, by[1].high, by[2].high)
	lead := math.Inf(1) // of H4 over the best of the others, in the run where it is least
	for i := range found {
		t := throughputs(&found[i])
		lead = min(lead, t[3]/max(t[0], t[1], t[2]))
	}
	v.Claims = []suite.Claim{
		{Text: "The least throughput of H4 is above the greatest of H1 to H3.",
			Ours: by[3].low, Unit: "Gb/s",
			Rule:  fmt.Sprintf("above %.2f Gb/s, the greatest of H1 to H3", others),
			Holds: by[3].low > others},
		{Text: "H4 gets as much as half of the link.", Paper: "20 Gb/s", Ours: by[3].high,
			Unit: "Gb/s", Rule: "within 5 %", Holds: math.Abs(by[3].high-20) <= 1},
		{Text: "Whatever ECMP chooses, none of H1 to H3 gets more than H4.", Ours: lead,
			Rule:  "H4 by the best of the others is at least 0.995 in every run",
			Holds: lead >= 0.995},
	}
	v.Figures = []suite.Figure{spreadFigure(
		"Figure 3(b): throughput of the four senders with PFC alone", by)}
	v.Notes = []string{
		"T4 shares its link to R by the ports that the flows come in by. So H4, alone on its " +
			"port, gets a half if ECMP maps all others to one uplink, and a third if it maps " +
			"them to both: then the one that is alone on an uplink gets that third, too. The " +
			"paper's first claim leaves no room for this tie, in which who is ahead is a " +
			"matter of a packet.",
		throughputNote,
	}
	return v
}
