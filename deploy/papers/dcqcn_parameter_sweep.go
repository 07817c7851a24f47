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

// dcqcnParameterSweep is [DCQCN] figure 11: which parameters let two unequal flows converge.
func dcqcnParameterSweep() suite.Experiment {
	return suite.Experiment{
		ID: "dcqcn-parameter-sweep", Paper: dcqcn, Where: "figure 11",
		Title: "Difference of two flows that begin at 40 and at 0 Gb/s, against byte counter, " +
			"timer, Kmax and Pmax: fluid model and packets.",
		Modes: []suite.Mode{suite.Virtual}, Seeds: 6,
		Cells: sweepCells,
		Judge: judgeSweep,
	}
}

// sweepPanel is one of the figure's four.
type sweepPanel struct {
	title  string
	points []sweepPoint
}

type sweepPoint struct {
	label string // of its curve
	fluid.Params
}

// swept is the strawman with something changed.
func swept(label string, change func(p *fluid.Params)) sweepPoint {
	p := strawmanParams()
	change(&p)
	return sweepPoint{label, p}
}

// cell names the run of a point. Panels share some.
func (p *sweepPoint) cell() string {
	return fmt.Sprintf("B=%v T=%v K=%v-%v Pmax=%v", p.ByteCounter, p.Timer, p.Kmin, p.Kmax, p.Pmax)
}

// sweepPanels are the figure's. The text has the ends of the ranges, which are the strawman's and
// the chosen values, and wants the byte counter large where the timer is fast: 10 MB.
func sweepPanels(short bool) (panels []sweepPanel) {
	panels = make([]sweepPanel, 4)
	a, b, c, d := &panels[0], &panels[1], &panels[2], &panels[3]
	a.title = "(a) byte counter, else the strawman's parameters"
	for _, counter := range []unit.Bytes{150 * unit.KB, unit.MB, 10 * unit.MB} {
		a.points = append(a.points, swept(fmt.Sprintf("B = %v", counter),
			func(p *fluid.Params) { p.ByteCounter = counter }))
	}
	b.title = "(b) timer, with a byte counter of 10 MB"
	for _, timer := range []time.Duration{1500, 300, 55} {
		timer *= time.Microsecond
		b.points = append(b.points, swept(fmt.Sprintf("T = %v", timer),
			func(p *fluid.Params) { p.ByteCounter, p.Timer = 10*unit.MB, timer }))
	}
	c.title = "(c) Kmax, with Kmin 5 KB and Pmax 1"
	for _, k := range []unit.Bytes{40 * unit.KB, 100 * unit.KB, 200 * unit.KB} {
		c.points = append(c.points, swept(fmt.Sprintf("Kmax = %v", k),
			func(p *fluid.Params) { p.Kmin, p.Kmax = 5*unit.KB, k }))
	}
	d.title = "(d) Pmax, with Kmin 5 KB and Kmax 200 KB"
	for _, most := range []float64{1, 0.1, 0.01} {
		d.points = append(d.points, swept(fmt.Sprintf("Pmax = %v", most),
			func(p *fluid.Params) { p.Kmin, p.Kmax, p.Pmax = 5*unit.KB, 200*unit.KB, most }))
	}
	if short { // what the claims name
		a.points = []sweepPoint{a.points[0], a.points[2]}
		b.points = []sweepPoint{b.points[0], b.points[2]}
		d.points = d.points[1:]
		panels = []sweepPanel{*a, *b, *d}
	}
	return panels
}

// sweepTime is how long the flows are followed. The figure leaves out the first 10 ms, and what is
// judged is the last tenth.
func sweepTime(o suite.Options) time.Duration {
	if o.Short {
		return 60 * time.Millisecond
	}
	return 200 * time.Millisecond
}

const (
	sweepOmitted = 10.0 // ms
	apartSeries  = "difference"
	apartAtEnd   = "difference at the end"
	apartMean    = "mean difference" // of what the figure shows
)

func sweepCells(o suite.Options) (cells []suite.Cell) {
	seen, until := map[string]bool{}, sweepTime(o)
	for _, panel := range sweepPanels(o.Short) {
		for _, p := range panel.points {
			if seen[p.cell()] {
				continue
			}
			seen[p.cell()] = true
			cells = append(cells, sweepModel(p, until))
			o.Each(func(seed uint64) { cells = append(cells, sweepPackets(p, until, seed)) })
		}
	}
	return cells
}

func sweepModel(p sweepPoint, until time.Duration) suite.Cell {
	flows := []fluid.Flow{{Current: p.Capacity, Target: p.Capacity, Alpha: 1}, {Alpha: 1}}
	return modelled(byModel.name+" "+p.cell(), p.Params, flows, until, time.Millisecond,
		func(list []fluid.Sample, out *suite.Outcome) {
			var s suite.Series
			for _, one := range list {
				s.X = append(s.X, one.At.Seconds()*1e3)
				s.Y = append(s.Y, float64(one.Flows[0].Current-one.Flows[1].Current)/1e9)
			}
			measureApart(s, out)
		})
}

// sweepPackets lets the second flow begin at the least rate, though a NIC begins at that of its
// line: it meets a message of a third host, and has a first_cnp_rate of next to nothing, so that
// its first CNP brings it down. The first flow begins when that is over.
func sweepPackets(p sweepPoint, until time.Duration, seed uint64) suite.Cell {
	name := fmt.Sprintf("%s %s seed=%d", byPackets.name, p.cell(), seed)
	return run(name, func() *scenario.Scenario {
		s := dcqcnIncast(3)
		s.Topology.Seed = seed
		asModelled(&s.Topology, p.Params)
		ownCC(&s.Topology, "h2", "first_cnp_rate", 1e-6)
		s.Flows[0].StartNs = sweepStart.Nanoseconds()
		s.Flows[2].MessageBytes, s.Flows[2].Messages = 500_000, 1 // 100 us, in which CNPs arrive
		s.Duration, s.Interval = until, time.Millisecond
		return s
	}, func(r *scenario.Run, out *suite.Outcome) {
		first, second := r.Rates(0), r.Rates(1)
		for i := range first {
			first[i] = onLine(first[i]-second[i]) / 1e9
		}
		measureApart(over(r, first), out)
	})
}

// sweepStart is when the first flow begins; 1 MB has left the queue after 200 us.
const sweepStart = 500 * time.Microsecond

// measureApart is told by how much the first flow is faster, in Gb/s.
func measureApart(s suite.Series, out *suite.Outcome) {
	tail := s.Y[len(s.Y)*9/10:]
	sum := 0.0
	for _, y := range tail {
		sum += y
	}
	out.Numbers[apartAtEnd] = math.Abs(sum) / float64(len(tail))
	var shown suite.Series
	sum = 0
	for i, x := range s.X {
		if x > sweepOmitted {
			shown.X, shown.Y = append(shown.X, x), append(shown.Y, math.Abs(s.Y[i]))
			sum += math.Abs(s.Y[i])
		}
	}
	out.Numbers[apartMean] = sum / float64(len(shown.Y))
	out.Series[apartSeries] = shown
}

// sweepFound is what an engine found of a point, one value of each seed.
type sweepFound struct {
	mean, end []float64
	curve     suite.Series // of the first seed
}

func findSweep(e engine, found []suite.Outcome, p *sweepPoint) (f sweepFound) {
	for _, o := range e.of(found) {
		if !isPoint(e, o.Cell, p.cell()) {
			continue
		}
		if len(f.mean) == 0 {
			f.curve = o.Series[apartSeries]
		}
		f.mean = append(f.mean, o.Numbers[apartMean])
		f.end = append(f.end, o.Numbers[apartAtEnd])
	}
	return f
}

func judgeSweep(o suite.Options, found []suite.Outcome) (v suite.Verdict) {
	panels := sweepPanels(o.Short)
	table := suite.Table{Title: "Difference of the two flows in Gb/s: mean of what is shown, and " +
		"in the last tenth of the time",
		Columns: []string{"panel", "value", "model, mean", "model, end", "packets, mean",
			"packets, end"}}
	for _, panel := range panels {
		f := suite.Figure{Title: "Figure 11" + panel.title,
			X: suite.Axis{Label: "time", Unit: "ms"},
			Y: suite.Axis{Label: "throughput difference", Unit: "Gb/s"}}
		for _, p := range panel.points {
			row := []string{panel.title, p.label}
			for _, e := range engines {
				at := findSweep(e, found, &p)
				mean, _ := suite.Interval(at.mean)
				end, _ := suite.Interval(at.end)
				row = append(row, fmt.Sprintf("%.2f", mean), fmt.Sprintf("%.2f", end))
				f.Curves = append(f.Curves, suite.Curve{Name: p.label + ", " + e.name,
					Kind: suite.Line, From: e.from, Series: at.curve})
			}
			table.Rows = append(table.Rows, row)
		}
		v.Figures = append(v.Figures, f)
	}
	v.Tables = []suite.Table{table}
	for _, e := range engines {
		v.Claims = append(v.Claims, sweepClaims(e, found, panels)...)
	}
	v.Notes = sweepNotes()
	return v
}

// sweepClaims are the sentences of section 5.2. To converge is to differ in the end by less than a
// tenth of the link; what helps makes the mean difference smaller.
func sweepClaims(e engine, found []suite.Outcome, panels []sweepPanel) []suite.Claim {
	const converged = 4.0 // Gb/s
	ends := func(text string, p *sweepPoint, converges bool) suite.Claim {
		end, interval := suite.Interval(findSweep(e, found, p).end)
		c := suite.Claim{Text: text + " (" + e.name + ")", Ours: end, Unit: "Gb/s apart",
			Interval: interval, Rule: "less than 4 Gb/s apart in the end",
			Holds: (end < converged) == converges}
		if !converges {
			c.Rule = "at least 4 Gb/s apart in the end"
		}
		return c
	}
	helps := func(text, than string, p, other *sweepPoint) suite.Claim {
		before, _ := suite.Interval(findSweep(e, found, other).mean)
		mean, interval := suite.Interval(findSweep(e, found, p).mean)
		return suite.Claim{Text: text + " (" + e.name + ")", Ours: mean, Unit: "Gb/s apart",
			Interval: interval, Rule: fmt.Sprintf("in the mean less than %s, %.2f Gb/s", than,
				before), Holds: mean < before}
	}
	last := func(i int) *sweepPoint { return &panels[i].points[len(panels[i].points)-1] }
	straw, red := &panels[0].points[0], panels[len(panels)-1].points
	claims := []suite.Claim{
		ends("With the strawman's parameters the flows do not converge.", straw, false),
		helps("Slowing down the byte counter helps.", "the strawman's", last(0), straw),
		helps("Speeding up the timer is better.", "with the slow counter", last(1), last(0)),
		ends("With the fast timer the flows converge.", last(1), true),
	}
	for i := len(red) - 2; i < len(red); i++ {
		claims = append(claims, ends(fmt.Sprintf("With RED-like marking, %s, the flows converge.",
			red[i].label), &red[i], true))
	}
	return claims
}

func sweepNotes() []string {
	return []string{throughputNote,
		"The paper prints no values of the sweeps but the strawman's and the ones that it " +
			"chooses; those between are ours. Kmin in (c) and (d) is the chosen one.",
		"RED-like marking alone needs time while the timer is slow. Packets wander with it, as " +
			"figure 13(c) has it, so how far they are apart in the last 20 ms is a matter of " +
			"chance.",
	}
}
