package papers

import (
	"fmt"
	"strings"

	"github.com/rocelab/rocelab/deploy/suite"
)

// of are the outcomes of a control with so many flows; with 0, of all sizes.
func (c *plusControl) of(found []suite.Outcome, flows int) (some []suite.Outcome) {
	for _, o := range found {
		if strings.HasPrefix(o.Cell, c.name+", ") &&
			(flows == 0 || o.Numbers[plusSize] == float64(flows)) {
			some = append(some, o)
		}
	}
	return some
}

// mean of a number of a control with so many flows.
func (c *plusControl) mean(found []suite.Outcome, flows int, name string) (float64, *[2]float64) {
	return suite.Interval(numbers(c.of(found, flows), name))
}

// A buffer that has not been emptied, and one that has: shares of 5,100 KB. The paper's are 1 and
// 0.13 at 720 flows.
const (
	plusFull  = 0.8 * 5100
	plusEmpty = 0.2 * 5100
)

func judgePlusLarge(o suite.Options, found []suite.Outcome) (v suite.Verdict) {
	buffer := func(c plusControl, flows int, text, paper string, full bool) {
		kb, ci := c.mean(found, flows, plusBuffer)
		claim := suite.Claim{Text: text, Paper: paper, Ours: kb, Unit: "KB", Interval: ci,
			Rule: "below 20 % of the 5.1 MB", Holds: kb < plusEmpty}
		if full {
			claim.Rule, claim.Holds = "above 80 % of the 5.1 MB", kb > plusFull
		}
		v.Claims = append(v.Claims, claim)
	}
	buffer(plusDCQCN, 80, "DCQCN converges with 80 flows.", "130.1 KB", false)
	buffer(plusImitated, 80, "DCQCN+ by parameters converges with 80 flows.", "189.0 KB", false)
	buffer(plusAdaptive, 80, "DCQCN+ itself converges with 80 flows.", "", false)
	v.Figures, v.Tables = plusFigures(found), plusTables(found)
	v.Notes = plusNotes(found)
	if o.Short {
		return v
	}
	buffer(plusDCQCN, 720, "DCQCN collapses with 720 flows.", "5.1 MB", true)
	most := plusMost(found)
	v.Claims = append(v.Claims, suite.Claim{Text: "With fewer flows it does not.",
		Paper: "up to 640 flows", Ours: most, Unit: "flows",
		Rule: "below 80 % of the 5.1 MB with all sizes up to 640", Holds: most >= 640})
	buffer(plusImitated, 720, "DCQCN+ by parameters does not.", "681.8 KB", false)
	buffer(plusAdaptive, 720, "DCQCN+ itself does not.", "", false)
	slow, _ := plusDCQCN.mean(found, 720, plusLatency)
	for _, c := range []struct {
		plusControl
		paper string
	}{{plusImitated, "57.0 us, a 31st"}, {plusAdaptive, ""}} {
		us, ci := c.mean(found, 720, plusLatency)
		v.Claims = append(v.Claims, suite.Claim{Text: "The average latency of 720 flows under " +
			c.name + ".", Paper: c.paper, Ours: us, Unit: "us", Interval: ci,
			Rule:  fmt.Sprintf("at most a tenth of DCQCN's, %.1f us; paper 1792.8 us", slow),
			Holds: us*10 <= slow})
	}
	return v
}

// plusMost is the largest size up to which DCQCN does not collapse; 0 if it always does.
func plusMost(found []suite.Outcome) (most float64) {
	for _, n := range plusFlows {
		if kb, _ := plusDCQCN.mean(found, int(n), plusBuffer); !(kb <= plusFull) {
			break
		}
		most = n
	}
	return most
}

// plusFigures are figures 11 and 12, with the tables of figures 9 and 10 as points.
func plusFigures(found []suite.Outcome) (all []suite.Figure) {
	for _, f := range []struct {
		title, unit, number string
		dcqcn, plus         []float64
	}{
		{"Figure 11: maximal buffer", "KB", plusBuffer, plusFigure9.buffer, plusFigure10.buffer},
		{"Figure 12: average latency", "us", plusLatency, plusFigure9.latency,
			plusFigure10.latency},
	} {
		fig := suite.Figure{Title: f.title, X: suite.Axis{Label: "flows"},
			Y: suite.Axis{Label: f.number, Unit: f.unit, Log: true}}
		for _, c := range plusControls {
			curve := suite.Curve{Name: c.name, Kind: suite.Line, From: suite.Ours}
			for _, n := range plusFlows {
				if y, _ := c.mean(found, int(n), f.number); y == y && y > 0 {
					curve.X, curve.Y = append(curve.X, n), append(curve.Y, y)
				}
			}
			fig.Curves = append(fig.Curves, curve)
		}
		fig.Curves = append(fig.Curves,
			suite.Curve{Name: plusDCQCN.name, Kind: suite.Points, From: suite.Printed,
				Series: suite.Series{X: plusFlows, Y: f.dcqcn}},
			suite.Curve{Name: plusImitated.name, Kind: suite.Points, From: suite.Printed,
				Series: suite.Series{X: plusFlows, Y: f.plus}})
		all = append(all, fig)
	}
	queues := suite.Figure{Title: "Queue over time", X: suite.Axis{Label: "time", Unit: "ms"},
		Y: suite.Axis{Label: "queue", Unit: "KB"}}
	for _, o := range found {
		// More than the ends and the middle nobody could tell apart.
		if n := o.Numbers[plusSize]; n == 80 || n == 400 || n == 720 {
			queues.Curves = append(queues.Curves, suite.Curve{Name: o.Cell, Kind: suite.Line,
				From: suite.Ours, Series: o.Series[plusQueue]})
		}
	}
	return append(all, queues)
}

// plusTables are those of figures 9 and 10, paper's and ours.
func plusTables(found []suite.Outcome) (all []suite.Table) {
	for _, f := range []struct {
		title, number string
		dcqcn, plus   []float64
	}{
		{"Maximal buffer after the warm-up, KB", plusBuffer, plusFigure9.buffer,
			plusFigure10.buffer},
		{"Average latency, us", plusLatency, plusFigure9.latency, plusFigure10.latency},
	} {
		t := suite.Table{Title: f.title, Columns: []string{"flows", "DCQCN, paper", "DCQCN, ours",
			"DCQCN+ by parameters, paper", "DCQCN+ by parameters, ours", "DCQCN+ itself, ours"}}
		for i, n := range plusFlows {
			if len(plusDCQCN.of(found, int(n))) == 0 {
				continue
			}
			row := []string{fmt.Sprint(n)}
			for _, v := range []struct {
				of    plusControl
				paper []float64
			}{{plusDCQCN, f.dcqcn}, {plusImitated, f.plus}, {plusAdaptive, nil}} {
				if v.paper != nil {
					row = append(row, fmt.Sprintf("%.1f", v.paper[i]))
				}
				ours, _ := v.of.mean(found, int(n), f.number)
				row = append(row, fmt.Sprintf("%.1f", ours))
			}
			t.Rows = append(t.Rows, row)
		}
		all = append(all, t)
	}
	return append(all, plusOutcomes(found))
}

// plusOutcomes tell of every control and size what it came to.
func plusOutcomes(found []suite.Outcome) suite.Table {
	t := suite.Table{Title: "The end of each run",
		Columns: []string{"control", "flows", "utilisation, %", "Jain index"}}
	for _, c := range plusControls {
		for _, o := range c.of(found, 0) {
			n := o.Numbers
			t.Rows = append(t.Rows, []string{c.name, fmt.Sprintf("%.0f", n[plusSize]),
				fmt.Sprintf("%.1f", n[plusUse]), fmt.Sprintf("%.3f", n[plusShares])})
		}
	}
	return t
}

func plusNotes(found []suite.Outcome) []string {
	fast, _ := plusFastAlpha.mean(found, 80, plusBuffer)
	notes := []string{plusMarkingNote,
		fmt.Sprintf("With mlx5's dce_tcp_rtt of 1 us as the timer of alpha 80 flows of DCQCN have "+
			"%.0f KB at the end: they take longer to converge. We take 55 us, which the thesis "+
			"gives.", fast),
		"The receiver of DCQCN and of the imitation makes a CNP each microsecond at most, as the " +
			"thesis measured it; it does not say that the 4 us that the maker sets were set " +
			"back. The flows begin within 0.1 s; in the thesis within a second.",
		"Latency is half of the time from the post of two bytes to their acknowledgement.",
	}
	var uneven []string
	for _, o := range plusAdaptive.of(found, 0) {
		if o.Numbers[plusShares] < plusFair {
			uneven = append(uneven, fmt.Sprintf("%.0f (%.2f)", o.Numbers[plusSize],
				o.Numbers[plusShares]))
		}
	}
	if len(uneven) > 0 {
		notes = append(notes, "The shares of DCQCN+ itself are not equal by the end of the run, "+
			"with flows (Jain index): "+strings.Join(uneven, ", ")+". A flow that was cut to the "+
			"least rate when it began has a timer of 27 ms there, K = 3.1 MTU/R_C, and comes "+
			"back by the round: cc-equal-shares follows it for longer.")
	}
	if most := plusMost(found); most < 640 {
		notes = append(notes, fmt.Sprintf("DCQCN with more than %.0f flows has not emptied the "+
			"buffer by the end of our run; in the thesis it had, with up to 640, after 5 s.", most))
	}
	return notes
}
