package papers

import (
	"fmt"
	"math"
	"time"

	"github.com/rocelab/rocelab/deploy/suite"
)

// dcqcnVictimRelieved is [DCQCN] figure 9: the flows of figure 4 with DCQCN.
func dcqcnVictimRelieved() suite.Experiment {
	return suite.Experiment{
		ID: "dcqcn-victim-relieved", Paper: dcqcn, Where: "figure 9",
		Title: "With DCQCN, throughput of the victim of figure 4.",
		Modes: []suite.Mode{suite.Virtual, suite.Real}, Seeds: 1,
		Shorter: "The paper's median is of 250 transfers of 250 MB. Here it is of 7 choices of " +
			"ECMP of 80 ms each, of which the last 50 ms count. On real frames a run lasts 6 " +
			"ms, in which the flows still come back from their start.",
		Cells: func(o suite.Options) []suite.Cell { return victims(o, dcqcnOn, reliefTiming(o)) },
		Judge: judgeRelief,
	}
}

func reliefTiming(o suite.Options) timing {
	switch {
	case o.Mode == suite.Real:
		return timing{draws: 1, duration: 6 * time.Millisecond, warmup: 3 * time.Millisecond}
	case o.Short:
		return timing{draws: 1, duration: 40 * time.Millisecond, warmup: 20 * time.Millisecond}
	}
	return timing{draws: 7, duration: 80 * time.Millisecond, warmup: 30 * time.Millisecond}
}

func judgeRelief(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	by := victimThroughput(found)
	m := medians(by)
	change := 0.0 // in percent, the largest
	for _, now := range m[1:] {
		if d := 100 * (now/m[0] - 1); math.Abs(d) > math.Abs(change) {
			change = d
		}
	}
	v.Claims = []suite.Claim{
		{Text: "The victim's throughput does not change as senders under T3 are added.",
			Paper: "no change", Ours: change, Unit: "%", Rule: fmt.Sprintf("less than 5 %%; the "+
				"medians are %.2f, %.2f, %.2f Gb/s", m[0], m[1], m[2]),
			Holds: math.Abs(change) < 5},
		{Text: "It does not fall.", Ours: 100 * (min(m[1], m[2])/m[0] - 1), Unit: "%",
			Rule:  "no median is more than 5 % below that without senders under T3",
			Holds: min(m[1], m[2]) > 0.95*m[0]},
	}
	v.Figures = []suite.Figure{victimFigure("Figure 9: the victim with DCQCN", m, suite.Series{})}
	v.Notes = []string{throughputNote}
	return v
}
