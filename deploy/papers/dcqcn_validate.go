package papers

import (
	"fmt"
	"math"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/roce/fluid"
)

// dcqcnValidate is [DCQCN] figure 13: what the model predicts, on machines.
func dcqcnValidate() suite.Experiment {
	return suite.Experiment{
		ID: "dcqcn-validate", Paper: dcqcn, Where: "figure 13",
		Title: "Throughput of two senders to one receiver, of which the second begins later, " +
			"with four sets of parameters.",
		Modes: []suite.Mode{suite.Virtual, suite.Real}, Seeds: 6, RealSeeds: 2,
		Shorter: "The paper's second sender begins after 500 ms; here it is after 20 ms, when " +
			"the first has long been at line rate, and shares are taken over the last 400 of " +
			"the following 480 ms. On real frames a run lasts 6 ms, and there are two seeds.",
		Cells: validateCells,
		Judge: judgeValidate,
	}
}

// validatePanel is one of the figure's.
type validatePanel struct {
	name   string // of cells
	title  string
	params fluid.Params
}

// validateForgets names runs of (a) with reaction points that forget alpha on release.
const validateForgets = "strawman forgets"

// validatePanels are the four of figure 13. What section 6.1 does not say of a set is the
// strawman's, but for the byte counter beside a fast timer, of which 5.2 says that it should be
// large: 10 MB.
func validatePanels() []validatePanel {
	timer, red := strawmanParams(), strawmanParams()
	timer.Timer, timer.ByteCounter = 55*time.Microsecond, 10*unit.MB
	red.Kmin, red.Kmax, red.Pmax = 5*unit.KB, 200*unit.KB, 0.01
	return []validatePanel{
		{"strawman", "(a) strawman's parameters", strawmanParams()},
		{"timer", "(b) timer of 55 us, cut-off marking", timer},
		{"red", "(c) RED-like marking, slow timer", red},
		{"both", "(d) both, and g 1/256", fluidParams()},
	}
}

// validateTiming is when the second sender begins and the run ends, and from when on shares count.
func validateTiming(o suite.Options) (joins, from, until time.Duration) {
	const ms = time.Millisecond
	switch {
	case o.Mode == suite.Real:
		return ms, 2 * ms, 6 * ms
	case o.Short:
		return 5 * ms, 80 * ms, 160 * ms
	}
	return 20 * ms, 100 * ms, 500 * ms
}

// What is measured of the two flows; rates in Gb/s.
const (
	shareOfFirst  = "throughput of the first"
	shareOfSecond = "throughput of the second"
	unsteady      = "standard deviation" // of throughput in milliseconds, of both
)

func validateCells(o suite.Options) (cells []suite.Cell) {
	joins, from, until := validateTiming(o)
	every := time.Millisecond
	if o.Mode == suite.Real {
		every /= 10
	}
	if o.Mode == suite.Virtual {
		p := strawmanParams()
		cells = append(cells, modelled(byModel.name, p,
			[]fluid.Flow{p.AtLineRate(0), p.AtLineRate(joins)}, until, every,
			func(list []fluid.Sample, out *suite.Outcome) { measureModelled(list, from, out) }))
	}
	add := func(name string, params fluid.Params, seed uint64, keepAlpha bool) {
		cells = append(cells, run(fmt.Sprintf("%s seed=%d", name, seed), func() *scenario.Scenario {
			s := joining(params, seed, joins)
			s.Topology.NIC.CC.Params["keep_alpha"] = keepAlpha
			s.Duration, s.Warmup, s.Interval = until, from, every
			return s
		}, measureTwo))
	}
	for _, panel := range validatePanels() {
		o.Each(func(seed uint64) { add(panel.name, panel.params, seed, true) })
	}
	if o.Mode == suite.Virtual {
		add(validateForgets, strawmanParams(), o.Seed, false)
	}
	return cells
}

// measureTwo takes shares and steadiness of two flows after the warm-up.
func measureTwo(r *scenario.Run, out *suite.Outcome) {
	variance := 0.0
	for i, name := range []string{shareOfFirst, shareOfSecond} {
		rates := scaled(r.Rates(i), onLine(1e-9))
		mean := onLine(r.Goodput(i)) / 1e9
		out.Numbers[name] = mean
		out.Series[name] = over(r, rates)
		warm := rates[int(r.Scenario.Warmup/r.Scenario.Interval):]
		for _, x := range warm {
			variance += float64((x-mean)*(x-mean)) / float64(2*len(warm))
		}
	}
	out.Numbers[unsteady] = math.Sqrt(variance)
}

// measureModelled takes the shares of two flows of the model from a time on.
func measureModelled(list []fluid.Sample, from time.Duration, out *suite.Outcome) {
	for i, name := range []string{shareOfFirst, shareOfSecond} {
		var s suite.Series
		sum, n := 0.0, 0.0
		for _, one := range list {
			rate := float64(one.Flows[i].Current) / 1e9
			s.X, s.Y = append(s.X, one.At.Seconds()*1e3), append(s.Y, rate)
			if one.At > from {
				sum, n = sum+rate, n+1
			}
		}
		out.Numbers[name], out.Series[name] = sum/n, s
	}
}

// validateFound is what was found of a panel.
type validateFound struct {
	first, second, jain, deviation float64 // means over seeds
	jainInterval                   *[2]float64
	curves                         []suite.Curve
}

func findPanel(p validatePanel, found []suite.Outcome) (f validateFound) {
	var first, second, index, deviation []float64
	for _, o := range found {
		var seed uint64
		if n, err := fmt.Sscanf(o.Cell, p.name+" seed=%d", &seed); n != 1 || err != nil {
			continue
		}
		a, b := o.Numbers[shareOfFirst], o.Numbers[shareOfSecond]
		first, second = append(first, a), append(second, b)
		index = append(index, suite.Jain([]float64{a, b}))
		deviation = append(deviation, o.Numbers[unsteady])
		if len(f.curves) == 0 {
			for _, name := range []string{shareOfFirst, shareOfSecond} {
				f.curves = append(f.curves, suite.Curve{Name: name, Kind: suite.Line,
					From: suite.Ours, Series: o.Series[name]})
			}
		}
	}
	f.first, _ = suite.Interval(first)
	f.second, _ = suite.Interval(second)
	f.jain, f.jainInterval = suite.Interval(index)
	f.deviation, _ = suite.Interval(deviation)
	return f
}

func judgeValidate(o suite.Options, found []suite.Outcome) (v suite.Verdict) {
	table := suite.Table{Title: "The two flows after the warm-up, Gb/s",
		Columns: []string{"parameters", "first", "second", "Jain index", "standard deviation"}}
	var by []validateFound
	for _, p := range validatePanels() {
		f := findPanel(p, found)
		by = append(by, f)
		table.Rows = append(table.Rows, []string{p.title, fmt.Sprintf("%.2f", f.first),
			fmt.Sprintf("%.2f", f.second), fmt.Sprintf("%.4f", f.jain),
			fmt.Sprintf("%.2f", f.deviation)})
		v.Figures = append(v.Figures, suite.Figure{Title: "Figure 13" + p.title,
			X: suite.Axis{Label: "time", Unit: "ms"},
			Y: suite.Axis{Label: "throughput", Unit: "Gb/s"}, Curves: f.curves})
	}
	v.Tables = []suite.Table{table}
	if o.Mode == suite.Real {
		v.Claims = []suite.Claim{sameAsVirtual(found)}
		v.Notes = []string{"A few milliseconds are too short for shares to settle, so none of " +
			"the paper's claims is judged on real frames."}
		return v
	}
	model := byModel.of(found)[0]
	for _, name := range []string{shareOfFirst, shareOfSecond} {
		a := &v.Figures[0]
		a.Curves = append(a.Curves, suite.Curve{Name: name + ", fluid model", Kind: suite.Line,
			From: suite.Model, Series: model.Series[name]})
	}
	v.Claims = append([]suite.Claim{modelUnfair(model)}, validateClaims(by)...)
	v.Notes = []string{throughputNote,
		"The standard deviation is of throughput in milliseconds, of both flows.",
		"Whether (a) is unfair hangs on alpha when the second sender begins. That of the first " +
			"has decayed to nothing by equation 2 while it was alone, the second begins with 1: " +
			"by the paper's text and model. With keep_alpha off, as for hardware that has an " +
			"alpha only while it limits a flow, both begin with 1, are cut alike, and with the " +
			"strawman's parameters nothing drives them apart, nor together " +
			"(dcqcn-parameter-sweep): " + forgetful(found),
	}
	return v
}

// forgetful tells of (a) with reaction points that forget alpha.
func forgetful(found []suite.Outcome) string {
	f := findPanel(validatePanel{name: validateForgets}, found)
	return fmt.Sprintf("then it is %.2f and %.2f Gb/s.", f.first, f.second)
}

// modelUnfair is the prediction that (a) is to confirm.
func modelUnfair(o suite.Outcome) suite.Claim {
	a, b := o.Numbers[shareOfFirst], o.Numbers[shareOfSecond]
	index := suite.Jain([]float64{a, b})
	return suite.Claim{Text: "(a) The fluid model predicts that the strawman's parameters are " +
		"unfair.", Ours: index, Holds: index <= 0.99,
		Rule: fmt.Sprintf("Jain index at most 0.99; Gb/s: %.2f and %.2f", a, b)}
}

func validateClaims(by []validateFound) []suite.Claim {
	straw, timer, red, both := by[0], by[1], by[2], by[3]
	claim := func(text string, f validateFound, fair bool) suite.Claim {
		c := suite.Claim{Text: text, Ours: f.jain, Interval: f.jainInterval,
			Rule:  fmt.Sprintf("Jain index above 0.99; Gb/s: %.2f and %.2f", f.first, f.second),
			Holds: (f.jain > 0.99) == fair}
		if !fair {
			c.Rule = fmt.Sprintf("Jain index at most 0.99; Gb/s: %.2f and %.2f", f.first, f.second)
		}
		return c
	}
	return []suite.Claim{
		claim("(a) The strawman's parameters are unfair.", straw, false),
		claim("(b) A timer of 55 us makes it fair.", timer, true),
		claim("(c) RED-like marking makes it fair, on average.", red, true),
		{Text: "(c) But throughput is unsteady.", Ours: red.deviation, Unit: "Gb/s",
			Rule: fmt.Sprintf("standard deviation above that of (b), %.2f Gb/s, and of (d), %.2f "+
				"Gb/s", timer.deviation, both.deviation),
			Holds: red.deviation > timer.deviation && red.deviation > both.deviation},
		claim("(d) Both together are fair.", both, true),
	}
}

// sameAsVirtual is what can be claimed of runs on real frames that are too short for a paper's
// claim.
func sameAsVirtual(found []suite.Outcome) suite.Claim {
	valid := 0
	for _, o := range found {
		if o.Certificate != nil && o.Certificate.Valid {
			valid++
		}
	}
	return suite.Claim{Text: "On real frames every sample and every counter is that of virtual " +
		"time, where the paper's claims are judged.", Ours: float64(valid), Unit: "runs",
		Rule: fmt.Sprintf("all %d certificates are VALID", len(found)), Holds: valid == len(found)}
}
