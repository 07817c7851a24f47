package papers

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
)

// ldcpRun is a cell of the steady state: senders to one host.
type ldcpRun struct {
	name    string
	senders int
	control nicd.CCConfig
	marks   ldcpMarking
}

// ldcpSteadyQueue compares LDCP in steady state with DCQCN, and sweeps what the draft leaves open.
func ldcpSteadyQueue() suite.Experiment {
	return suite.Experiment{ID: "ldcp-steady-queue", Paper: ldcp, Where: "section 2.2",
		Title: "Queue and utilisation of 8 flows into 40 Gb/s without PFC, beside DCQCN.",
		Modes: []suite.Mode{suite.Virtual, suite.Real}, Seeds: 3, RealSeeds: 1,
		Shorter: "On real frames 4 flows, without the sweep.",
		Cells:   ldcpSteadyCells, Judge: judgeLDCPSteady}
}

const (
	cellLDCP  = "LDCP"
	cellDCQCN = "DCQCN"
)

func ldcpSteadyCells(o suite.Options) (cells []suite.Cell) {
	n := 8
	if o.Mode == suite.Real {
		n = 4
	}
	runs := []ldcpRun{{cellLDCP, n, ldcpControl, ldcpMarks},
		{cellDCQCN, n, dcqcnControl, dcqcnMarks}}
	o.Each(func(seed uint64) {
		for _, r := range runs {
			cells = append(cells, r.cell(seed))
		}
	})
	if o.Mode == suite.Virtual && !o.Short {
		for _, r := range ldcpSweep(n) {
			cells = append(cells, r.cell(o.Seed))
		}
	}
	return cells
}

// ldcpSweep varies one value at a time.
func ldcpSweep(n int) (runs []ldcpRun) {
	with := func(name string, m ldcpMarking) {
		runs = append(runs, ldcpRun{"sweep " + name, n, ldcpControl, m})
	}
	for _, k := range []unit.Bytes{2500, 10_000, 20_000} {
		m := ldcpMarks
		m.min = k
		with(fmt.Sprintf("K_min=%v", k), m)
	}
	for _, k := range []unit.Bytes{25_000, 100_000, 200_000} {
		m := ldcpMarks
		m.max, m.k = k, k
		with(fmt.Sprintf("K_max=%v", k), m)
	}
	for _, p := range []float64{10, 50} {
		m := ldcpMarks
		m.percent = p
		with(fmt.Sprintf("P_max=%v%%", p), m)
	}
	for _, name := range []string{"alpha", "beta"} {
		for _, value := range []float64{0.25, 0.5, 1} {
			c := ldcpControl
			c.Params = map[string]any{name: value}
			runs = append(runs, ldcpRun{fmt.Sprintf("sweep %s=%v", name, value), n, c, ldcpMarks})
		}
	}
	return runs
}

// Numbers of a cell, after the warm-up.
const (
	ldcpMean    = "mean queue" // KB
	ldcpP99     = "99 % queue"
	ldcpSpread  = "deviation of the queue"
	ldcpUse     = "utilisation" // %
	ldcpJain    = "Jain index"
	ldcpDropped = "dropped" // frames, from the start
	ldcpQueue   = "queue"   // KB over ms
)

func (l ldcpRun) cell(seed uint64) suite.Cell {
	return run(fmt.Sprintf("%s seed=%d", l.name, seed), func() *scenario.Scenario {
		// DCQCN is back from its start, at which it overreacts, after some 14 ms.
		s := &scenario.Scenario{Topology: ldcpStar(l.senders+1, l.control, l.marks, seed),
			Flows: scenario.Many(fmt.Sprintf("h%d", l.senders+1), nicd.FlowRequest{},
				hostNames(l.senders)...),
			Queues:   bottleneck(l.senders + 1),
			Duration: 40 * time.Millisecond, Warmup: 20 * time.Millisecond,
			Interval: 20 * time.Microsecond}
		if l.control.Algorithm == probeControl.Algorithm {
			// A CNP stands for a mark, [LDCP] 3.2: none is held back.
			s.Topology.NIC.CNPInterval = new(time.Duration)
		}
		return s
	}, measureLDCP)
}

func measureLDCP(r *scenario.Run, out *suite.Outcome) {
	queue := scaled(r.WarmQueueBytes(0), 1e-3)
	mean, squares := average(queue), 0.0
	for _, q := range queue {
		squares += (q - mean) * (q - mean)
	}
	out.Numbers[ldcpMean], out.Numbers[ldcpP99] = mean, suite.Quantile(queue, 0.99)
	out.Numbers[ldcpSpread] = math.Sqrt(squares / float64(len(queue)))
	out.Numbers[ldcpUse] = 100 * r.Utilisation(0)
	out.Numbers[ldcpJain] = suite.Jain(r.Goodputs())
	out.Numbers[ldcpDropped] = 0
	for _, n := range r.Dropped() {
		out.Numbers[ldcpDropped] += float64(n)
	}
	out.Series[ldcpQueue] = over(r, scaled(r.QueueBytes(0), 1e-3))
}

// named are the outcomes of cells of a name, whatever their seed.
func named(found []suite.Outcome, name string) (some []suite.Outcome) {
	for _, o := range found {
		if cell, _, _ := strings.Cut(o.Cell, " seed="); cell == name {
			some = append(some, o)
		}
	}
	return some
}

// meanOf is the mean over seeds of a number of the cells of a name.
func meanOf(found []suite.Outcome, name, number string) (float64, *[2]float64) {
	return suite.Interval(numbers(named(found, name), number))
}

func judgeLDCPSteady(o suite.Options, found []suite.Outcome) (v suite.Verdict) {
	claim := func(text, number, unit, rule string, holds func(x float64) bool) {
		x, ci := meanOf(found, cellLDCP, number)
		v.Claims = append(v.Claims, suite.Claim{Text: text, Ours: x, Unit: unit, Interval: ci,
			Rule: rule, Holds: holds(x)})
	}
	mean, _ := meanOf(found, cellDCQCN, ldcpMean)
	spread, _ := meanOf(found, cellDCQCN, ldcpSpread)
	claim("The queue is low.", ldcpMean, "KB",
		fmt.Sprintf("mean below K_max = 50 KB and below DCQCN's, %.1f KB", mean),
		func(x float64) bool { return x < 50 && x < mean })
	claim("The queue is stable.", ldcpSpread, "KB",
		fmt.Sprintf("standard deviation below DCQCN's, %.1f KB", spread),
		func(x float64) bool { return x < spread })
	claim("The link is in use.", ldcpUse, "%", "above 95 %",
		func(x float64) bool { return x > 95 })
	claim("Almost nothing is lost, without PFC.", ldcpDropped, "frames",
		"0 after the first packets, which may be dropped: at most those of the initial windows",
		func(x float64) bool { return x <= ldcpFirst*8 })
	claim("Flows share the link.", ldcpJain, "", "Jain index above 0.95",
		func(x float64) bool { return x > 0.95 })
	fig := suite.Figure{Title: "Queue of the bottleneck", X: suite.Axis{Label: "time", Unit: "ms"},
		Y: suite.Axis{Label: "queue", Unit: "KB"}}
	for _, name := range []string{cellLDCP, cellDCQCN} {
		for _, c := range curves(named(found, name)[0], ldcpQueue) {
			c.Name = name
			fig.Curves = append(fig.Curves, c)
		}
	}
	v.Figures = []suite.Figure{fig}
	v.Notes = ldcpNotes()
	if o.Mode == suite.Virtual && !o.Short {
		v.Figures = append(v.Figures, ldcpSweepFigures(found)...)
	}
	return v
}

// ldcpFirst is how many packets an initial window has: 50 KB.
const ldcpFirst = 50

// ldcpNotes say what was chosen.
func ldcpNotes() []string {
	return []string{
		"The draft gives no values. Chosen: 40 Gb/s and a round trip of 10 us, whose product is " +
			"50 KB; K_min 5 KB, a tenth of it; K_max and K 50 KB; P_max 1; alpha 1, beta 1/2, " +
			"gamma 1/8, eta 1/2. DCQCN has its own marking: 5 KB, 200 KB, 1 %.",
	}
}

// ldcpSweepFigures have a group of bars for each value that was varied.
func ldcpSweepFigures(found []suite.Outcome) (all []suite.Figure) {
	for _, of := range []struct{ number, unit string }{{ldcpMean, "KB"}, {ldcpUse, "%"},
		{ldcpSpread, "KB"}} {
		fig := suite.Figure{Title: "Sweep: " + of.number, X: suite.Axis{Label: "value"},
			Y: suite.Axis{Label: of.number, Unit: of.unit}}
		c := suite.Curve{Name: of.number, Kind: suite.Bars, From: suite.Ours}
		for _, o := range found {
			cell, _, _ := strings.Cut(o.Cell, " seed=")
			if name, ok := strings.CutPrefix(cell, "sweep "); ok {
				fig.X.Names = append(fig.X.Names, name)
				c.X, c.Y = append(c.X, float64(len(c.X))), append(c.Y, o.Numbers[of.number])
			}
		}
		fig.Curves = []suite.Curve{c}
		all = append(all, fig)
	}
	return all
}
