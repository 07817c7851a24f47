package papers

import (
	"fmt"

	"github.com/rocelab/rocelab/deploy/suite"
)

// cellPCC is LDCP as standard RoCE allows it: package cc's ldcp_probe.
const cellPCC = "LDCP by probes and CNPs"

// ldcpPCC runs the variant for NICs with standard RoCE beside the one with an acknowledgement for
// each packet, and DCQCN, which has the same signals.
func ldcpPCC() suite.Experiment {
	return suite.Experiment{ID: "ldcp-pcc", Paper: ldcp, Where: "section 3.2",
		Title: "LDCP by RTT probes and CNPs beside LDCP by acknowledgements, and DCQCN.",
		Modes: []suite.Mode{suite.Virtual, suite.Real}, Seeds: 1,
		Shorter: "On real frames 4 flows.",
		Cells: func(o suite.Options) (cells []suite.Cell) {
			n := 8
			if o.Mode == suite.Real {
				n = 4
			}
			o.Each(func(seed uint64) {
				runs := []ldcpRun{{cellPCC, n, probeControl, ldcpMarks},
					{cellLDCP, n, ldcpControl, ldcpMarks},
					{cellDCQCN, n, dcqcnControl, dcqcnMarks}}
				if o.Mode == suite.Virtual && !o.Short {
					runs = append(runs, pccSweep(n)...)
				}
				for _, r := range runs {
					cells = append(cells, r.cell(seed))
				}
			})
			return cells
		},
		Judge: judgeLDCPPCC,
	}
}

// pccBetas are smaller decreases by a CNP.
var pccBetas = []float64{0.25, 0.125}

func pccCell(beta float64) string { return fmt.Sprintf("%s, beta=%v", cellPCC, beta) }

func pccSweep(n int) (runs []ldcpRun) {
	for _, beta := range pccBetas {
		c := probeControl
		c.Params = map[string]any{"beta": beta}
		runs = append(runs, ldcpRun{pccCell(beta), n, c, ldcpMarks})
	}
	return runs
}

func judgeLDCPPCC(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	claim := func(text, number, unit, rule string, holds func(ours, dcqcn float64) bool) {
		ours, ci := meanOf(found, cellPCC, number)
		each, _ := meanOf(found, cellLDCP, number)
		other, _ := meanOf(found, cellDCQCN, number)
		v.Claims = append(v.Claims, suite.Claim{Text: text, Ours: ours, Unit: unit, Interval: ci,
			Rule: fmt.Sprintf("%s; by acknowledgements %s, DCQCN %s", rule, brief(each),
				brief(other)),
			Holds: holds(ours, other)})
	}
	claim("The variant keeps the link in use.", ldcpUse, "%", "no less than DCQCN",
		func(ours, dcqcn float64) bool { return ours >= dcqcn-0.05 })
	claim("Its queue is shorter than DCQCN's.", ldcpMean, "KB", "mean below DCQCN's",
		func(ours, dcqcn float64) bool { return ours < dcqcn })
	claim("It loses no more.", ldcpDropped, "frames", "at most DCQCN's",
		func(ours, dcqcn float64) bool { return ours <= dcqcn })
	fig := suite.Figure{Title: "Queue of the bottleneck", X: suite.Axis{Label: "time", Unit: "ms"},
		Y: suite.Axis{Label: "queue", Unit: "KB"}}
	for _, name := range []string{cellPCC, cellLDCP, cellDCQCN} {
		for _, c := range curves(named(found, name)[0], ldcpQueue) {
			c.Name = name
			fig.Curves = append(fig.Curves, c)
		}
	}
	v.Figures = []suite.Figure{fig}
	v.Notes = append(ldcpNotes(), "The decrease is meant for every CNP, and a CNP for every mark: "+
		"receivers of the variant hold none back. DCQCN's have 50 us between two.",
		"A rate falls with each CNP but does not stop what is on its way, as a window does: "+
			"decreases come late, and the link runs empty. How often hangs on beta.",
		"The draft says that the variant outperforms DCQCN in throughput and latency, on hardware "+
			"and with values that it does not tell.")
	for _, beta := range pccBetas {
		if some := named(found, pccCell(beta)); len(some) > 0 {
			use, _ := meanOf(found, pccCell(beta), ldcpUse)
			queue, _ := meanOf(found, pccCell(beta), ldcpMean)
			v.Notes = append(v.Notes, fmt.Sprintf("With beta = %v in place of 1/2 it is "+
				"%.1f %% and %.1f KB.", beta, use, queue))
		}
	}
	return v
}
