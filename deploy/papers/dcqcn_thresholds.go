package papers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/rocelab/rocelab/deploy/check"
	"github.com/rocelab/rocelab/deploy/result"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/switchd/thresholds"
)

// dcqcnThresholds computes the buffer thresholds of [DCQCN] section 4 for the paper's switch.
func dcqcnThresholds() suite.Experiment {
	return suite.Experiment{
		ID: "dcqcn-thresholds", Paper: dcqcn, Where: "section 4",
		Title: "How the buffer of the testbed's switch must be divided so that nothing is lost " +
			"and ECN marks before PFC pauses.",
		Modes: []suite.Mode{suite.Virtual}, Seeds: 1,
		Cells: func(suite.Options) []suite.Cell {
			return []suite.Cell{{Name: "calculator", Run: calculateThresholds}}
		},
		Judge: func(_ suite.Options, found []suite.Outcome) suite.Verdict {
			return judgeThresholds(found[0].Numbers)
		},
	}
}

// The numbers of the calculator, in KB unless they say something else.
const (
	thresholdFlight     = "t_flight"
	thresholdPFC        = "static t_PFC"
	thresholdStaticECN  = "static t_ECN"
	thresholdDynamicECN = "dynamic t_ECN"
	thresholdMTU        = "MTU"
	thresholdWarnings   = "warnings" // that name the inequality, of the misconfigured switch
)

func calculateThresholds(context.Context, suite.Env) (o suite.Outcome, err error) {
	s := thresholds.Paper()
	warnings, err := warningsOfMisconfigured(s.Ports)
	if err != nil {
		return o, err
	}
	o.Parameters = []result.Line{
		{Name: "shared buffer", Value: fmt.Sprint(s.Buffer)},
		{Name: "ports", Value: fmt.Sprint(s.Ports)},
		{Name: "lossless priorities", Value: fmt.Sprint(s.Priorities)},
		{Name: "MTU", Value: fmt.Sprintf("%d bytes", s.MTU)},
		{Name: "beta", Value: fmt.Sprint(s.Beta)},
	}
	o.Numbers = map[string]float64{
		thresholdFlight: float64(s.Flight) / 1e3, thresholdPFC: s.StaticPFC() / 1e3,
		thresholdStaticECN: s.StaticECN() / 1e3, thresholdDynamicECN: s.DynamicECN() / 1e3,
		thresholdMTU: float64(s.MTU) / 1e3, thresholdWarnings: warnings,
	}
	return o, nil
}

// warningsOfMisconfigured counts what is said of the paper's misconfigured switch: t_PFC is its
// static bound, and t_ECN five times that. [DCQCN] section 6.2
func warningsOfMisconfigured(ports int) (warnings float64, err error) {
	dir, err := os.MkdirTemp("", "thresholds-")
	if err != nil {
		return 0, fmt.Errorf("make a configuration: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var b strings.Builder
	b.WriteString("name: misconfigured\nports:\n")
	for i := range ports {
		fmt.Fprintf(&b, "  - {name: swp%d, rate: 40Gb/s, delay: 1us}\n", i+1)
	}
	b.WriteString("lossless_profile: {dynamic_th: null, static_th: 24470}\n" +
		"wred_profile: {green_min_threshold: 120KB}\n")
	name := filepath.Join(dir, "switch.yaml")
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		return 0, fmt.Errorf("make a configuration: %w", err)
	}
	report, err := check.File(name)
	if err != nil {
		return 0, fmt.Errorf("check the paper's misconfigured switch: %w", err)
	}
	for _, w := range report.Warnings {
		if w.Check == "ecn-before-pfc" && strings.Contains(w.Text, "t_PFC 24470 <= n t_ECN") {
			warnings++
		}
	}
	return warnings, nil
}

func judgeThresholds(n map[string]float64) (v suite.Verdict) {
	v.Claims = []suite.Claim{
		printed("The headroom of a port and priority, t_flight.", "22.4 KB", 22.4,
			n[thresholdFlight]),
		printed("The most that a fixed t_PFC may be.", "24.47 KB", 24.47, n[thresholdPFC]),
		printed("What t_ECN must be below with that t_PFC.", "0.85 KB", 0.85,
			n[thresholdStaticECN]),
		{Text: "That is less than one frame: a fixed t_PFC is infeasible.", Paper: "infeasible",
			Ours: n[thresholdStaticECN], Unit: "KB", Rule: "static t_ECN < MTU of 1.5 KB",
			Holds: n[thresholdStaticECN] < n[thresholdMTU]},
		printed("What t_ECN must be below with a dynamic t_PFC, beta = 8.", "21.75 KB", 21.75,
			n[thresholdDynamicECN]),
		{Text: "A configuration that breaks \"ECN before PFC\" is warned of by the inequality.",
			Ours: n[thresholdWarnings], Unit: "warnings",
			Rule:  "one at least for the paper's misconfigured switch, section 6.2",
			Holds: n[thresholdWarnings] >= 1},
	}
	v.Figures = []suite.Figure{{
		Title: "Section 4: thresholds of the switch",
		X: suite.Axis{Label: "threshold", Names: []string{"t_flight", "static t_PFC",
			"static t_ECN", "dynamic t_ECN"}},
		Y: suite.Axis{Label: "size", Unit: "KB", Log: true},
		Curves: []suite.Curve{
			{Name: "thresholds", Kind: suite.Bars, From: suite.Ours, Series: suite.Series{
				X: []float64{0, 1, 2, 3}, Y: []float64{n[thresholdFlight], n[thresholdPFC],
					n[thresholdStaticECN], n[thresholdDynamicECN]}}},
			{Name: "thresholds", Kind: suite.Bars, From: suite.Printed, Series: suite.Series{
				X: []float64{0, 1, 2, 3}, Y: []float64{22.4, 24.47, 0.85, 21.75}}},
		},
	}}
	v.Notes = []string{
		"t_flight is an input, the paper's own value: it does not name the cable that it is for.",
		"The paper prints 0.85 KB for the fixed t_PFC. Its inequality t_PFC > n t_ECN with its " +
			"own 24.47 KB and 32 ports gives 24.47 / 32 = 0.76 KB. The conclusion is the same.",
	}
	return v
}

// printed is a claim that a number has the two decimals that the paper prints. The paper cuts
// further digits off, as is right for upper bounds.
func printed(text, paper string, want, ours float64) suite.Claim {
	return suite.Claim{Text: text, Paper: paper, Ours: ours, Unit: "KB",
		Rule:  "the printed digits, others cut off",
		Holds: math.Floor(ours*100+1e-6) == math.Round(want*100)}
}
