package papers

import (
	"context"
	"fmt"
	"math"

	"github.com/rocelab/rocelab/deploy/result"
	"github.com/rocelab/rocelab/deploy/suite"
)

// qcnTable1 asks the congestion point and the reaction point of QCN for values that were computed
// by hand from table 1 and the equations of [QCN] section 2.
func qcnTable1() suite.Experiment {
	return suite.Experiment{
		ID: "qcn-table1", Paper: qcn, Where: "table 1, equations 1 to 8",
		Title: "What the congestion point samples and says, and what the reaction point does.",
		Modes: []suite.Mode{suite.Virtual}, Seeds: 1,
		Cells: func(o suite.Options) (cells []suite.Cell) {
			o.Each(func(seed uint64) {
				cells = append(cells, suite.Cell{Name: fmt.Sprintf("vectors seed=%d", seed),
					Run: func(context.Context, suite.Env) (suite.Outcome, error) {
						return qcnVectorsFound(seed), nil
					}})
			})
			return cells
		},
		Judge: judgeQCN,
	}
}

// qcnPeriods is [QCN] table 1: the basic sampling period by floor(Fb/8). KB.
var qcnPeriods = [...]float64{150, 75, 50, 37.5, 30, 25, 21.5, 18.5}

// qcnVector is a value by hand.
type qcnVector struct {
	name  string // of the number in the outcome
	text  string
	paper string
	want  float64
	unit  string
}

// qcnVectors are the values by hand, for the 10 Gb/s baseline of section 2: W 2, Gd 1/128, cycles
// of 150 and 75 KB and 15 and 7.5 ms, AI 5 Mb/s, HAI 50 Mb/s, without jitter; Qeq 33 KB.
var qcnVectors = []qcnVector{
	// Q 53 KB, Qold 43 KB: Fb = -(20 + 2 x 10) = -40 KB. In 6 bits of 33 KB (2 x 2 + 1) = 165 KB:
	// floor(63 x 40 / 165) = 15.
	{"eq 1", "Equation 1: Fb of a queue of 53 KB that was 43 KB is -40 KB, in 6 bits 15.",
		"-(Qoff + W Qdelta)", 15, ""},
	{"eq 1, Q = Qeq", "No message is sent when Fb >= 0: a queue that stays at Qeq.", "none", 0,
		"messages"},
	// 10 Gb/s (1 - 32/128)
	{"eq 2", "Equation 2: |Fb| = 32 takes a quarter of 10 Gb/s.", "CR (1 - Gd |Fb|)", 7.5,
		"Gb/s"},
	// 10 Gb/s (1 - 63/128)
	{"eq 2, most", "Equation 2: the largest |Fb| = 63 takes at most a half of 10 Gb/s.",
		"at most 50 %", 5.078125, "Gb/s"},
	{"eq 3", "Equation 3: TR is the rate before the message.", "TR = CR", 10, "Gb/s"},
	// The way from 7.5 to 10 Gb/s is halved five times: 10 - 2.5 / 32.
	{"eq 4", "Equation 4: five cycles of 150 KB halve the way from 7.5 to 10 Gb/s each.",
		"(CR + TR) / 2", 9.921875, "Gb/s"},
	// From TR 8.75, CR 6.5625 Gb/s, five cycles of recovery: 8.75 - 2.1875/32 = 8.681640625. Then
	// TR 8.755, 8.76, 8.765.
	{"eq 5", "Equation 5: three cycles of 75 KB after recovery raise TR from 8.75 Gb/s by " +
		"5 Mb/s each.", "TR + AI_INC", 8.765, "Gb/s"},
	// CR 8.7183203125, 8.73916015625, 8.752080078125.
	{"eq 6", "Equation 6: and CR halves its way to each of them.", "(CR + TR) / 2",
		8.752080078125, "Gb/s"},
	// 50 + 100 + 150
	{"eq 7", "Equation 7: three increases with both counters past recovery raise TR by i x 50 " +
		"Mb/s.", "TR + i HAI_INC", 300, "Mb/s"},
	// The middle itself is 0 away.
	{"eq 8", "Equation 8: and CR is in the middle between what it was and TR.", "(CR + TR) / 2", 0,
		"b/s off"},
	{"extra recovery, TR", "Extra fast recovery: the second of two messages in a row leaves TR.",
		"does not decrease TR", 10, "Gb/s"},
	// 7.5 (1 - 32/128)
	{"extra recovery, CR", "Extra fast recovery: it lowers CR as usual.", "as usual", 5.625,
		"Gb/s"},
	// 150 - 100 KB
	{"extra recovery, bytes", "Extra fast recovery: it does not reset the byte counter, which had " +
		"counted 100 of 150 KB.", "does not reset", 50, "KB left"},
	// 1 ms + 15 ms
	{"extra recovery, timer", "Extra fast recovery: it resets the timer, here at 1 ms.", "as usual",
		16, "ms"},
	// After three decreases by 63/128 TR / CR = 7.6; the fourth makes it 15: 10 / 8.
	{"target reduction", "Target rate reduction: TR more than ten times CR becomes an eighth.",
		"decrease TR by a factor of 8", 1.25, "Gb/s"},
}

func judgeQCN(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	n := found[0].Numbers
	var rows, ours []float64
	for row, want := range qcnPeriods {
		got := n[qcnRow(row)]
		rows, ours = append(rows, float64(row)), append(ours, got)
		v.Claims = append(v.Claims, suite.Claim{
			Text:  fmt.Sprintf("Table 1: the sampling period with floor(Fb/8) = %d.", row),
			Paper: fmt.Sprintf("%v KB", want), Ours: got, Unit: "KB", Rule: "equal",
			Holds: got == want})
	}
	for _, c := range qcnVectors {
		v.Claims = append(v.Claims, suite.Claim{Text: c.text, Paper: c.paper, Ours: n[c.name],
			Unit: c.unit, Rule: fmt.Sprintf("%v, by hand", c.want),
			Holds: math.Abs(n[c.name]-c.want) <= 1e-9*math.Max(1, math.Abs(c.want))})
	}
	v.Claims = append(v.Claims, judgeJitter(found))
	v.Figures = []suite.Figure{{
		Title: "Table 1: basic sampling period",
		X:     suite.Axis{Label: "floor(Fb/8)"}, Y: suite.Axis{Label: "period", Unit: "KB"},
		Curves: []suite.Curve{
			{Name: "period", Kind: suite.Bars, From: suite.Ours,
				Series: suite.Series{X: rows, Y: ours}},
			{Name: "period", Kind: suite.Bars, From: suite.Printed,
				Series: suite.Series{X: rows, Y: qcnPeriods[:]}},
		},
	}}
	v.Notes = []string{
		"Equations 2 and 3 in their printed order would make TR the lowered CR. We take TR as " +
			"the same section defines it: the rate just before the last message.",
		"The paper leaves the scale of the 6 bits open. We take 63 for Fb = -Qeq (2 W + 1), a " +
			"queue of twice Qeq that was empty at the last sample.",
		"G_d is table 2's 1/128, so the largest decrease is 63/128, not quite the text's 50 %.",
	}
	return v
}

// judgeJitter: "The actual inter-sampling period is the basic inter-sampling period uniformly
// jittered by +/- 15%." [QCN] section 2
func judgeJitter(found []suite.Outcome) suite.Claim {
	var widest []float64
	holds := true
	for _, o := range found {
		most := o.Numbers[qcnJitter]
		widest = append(widest, most)
		// The frames of 100 bytes overshoot a period of 150 KB by less than 0.07 %.
		holds = holds && most > 14.9 && most < 15.07
	}
	mean, ci := suite.Interval(widest)
	return suite.Claim{Text: "The sampling period is jittered by 15 % either way: the widest of " +
		"1,000.", Paper: "15 %", Ours: mean, Unit: "%", Interval: ci,
		Rule: "14.9 to 15.07 %", Holds: holds}
}

// qcnJitter is the widest jitter of a sampling period, in percent.
const qcnJitter = "jitter"

func qcnRow(row int) string { return fmt.Sprintf("period %d", row) }

func qcnVectorsFound(seed uint64) suite.Outcome {
	o := suite.Outcome{Numbers: map[string]float64{}, Parameters: []result.Line{
		{Name: "Qeq", Value: "33 KB"}, {Name: "W", Value: "2"}, {Name: "G_d", Value: "1/128"},
		{Name: "AI_INC", Value: "5 Mb/s"}, {Name: "HAI_INC", Value: "50 Mb/s"},
		{Name: "byte counter", Value: "150 KB, 75 KB"}, {Name: "timer", Value: "15 ms, 7.5 ms"},
		{Name: "jitter", Value: "none; 15 % for the last claim"},
	}}
	congestionPoint(o.Numbers, seed)
	reactionPoint(o.Numbers)
	return o
}
