package papers

import (
	"fmt"
	"math"
	"slices"
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
			"ms, in which the flows still come back from their start: that the victim does not " +
			"fall is judged.",
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

func judgeRelief(o suite.Options, found []suite.Outcome) (v suite.Verdict) {
	m := victimMedians(found)
	alone, change := m.Y[0], 0.0 // in percent, the largest
	text := fmt.Sprintf("the medians are %.2f", alone)
	for _, now := range m.Y[1:] {
		if d := 100 * (now/alone - 1); math.Abs(d) > math.Abs(change) {
			change = d
		}
		text += fmt.Sprintf(", %.2f", now)
	}
	fall := 100 * (slices.Min(m.Y)/alone - 1)
	v.Claims = []suite.Claim{
		{Text: "The victim's throughput does not change as senders under T3 are added.",
			Paper: "no change", Ours: change, Unit: "%",
			Rule: fmt.Sprintf("less than 5 %%; %s Gb/s", text), Holds: math.Abs(change) < 5},
		{Text: "It does not fall.", Ours: fall, Unit: "%",
			Rule:  "no median is more than 5 % below that without senders under T3",
			Holds: fall > -5},
	}
	if o.Mode == suite.Real {
		v.Claims = v.Claims[1:]
	}
	v.Figures = []suite.Figure{victimFigure("Figure 9: the victim with DCQCN", m, suite.Series{})}
	v.Notes = []string{
		"The victim gets what the incast leaves of its uplink. With two of H11 to H14 beside it " +
			"that is 40 - 2 x 40/4 = 20 Gb/s without senders under T3, 24 Gb/s with one and 26.7 " +
			"with two, because the incast is shared by more flows of which as many pass there. " +
			"So by max-min fairness it must rise, as it does here; the paper's figure has no " +
			"printed number.",
		throughputNote,
	}
	return v
}
