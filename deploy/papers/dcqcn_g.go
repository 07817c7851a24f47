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

// dcqcnG is [DCQCN] figure 12: the queue of incasts with different g.
func dcqcnG() suite.Experiment {
	return suite.Experiment{
		ID: "dcqcn-g", Paper: dcqcn, Where: "figure 12",
		Title: "Queue of 2:1 and 16:1 incasts with different g, and of 32:1 with R_AI halved: " +
			"fluid model and packets.",
		Modes: []suite.Mode{suite.Virtual}, Seeds: 2,
		Shorter: "The paper does not say for how long it looked. Here it is 100 ms, of which the " +
			"last 60 ms count.",
		Cells: gCells,
		Judge: judgeG,
	}
}

// gPoint is one run.
type gPoint struct {
	senders int
	inverse float64 // of g
	rateAI  unit.Rate
	payload int // of a packet
}

func (p gPoint) String() string {
	return fmt.Sprintf("%d:1 g=1/%v R_AI=%v MTU=%d", p.senders, p.inverse, p.rateAI, p.payload)
}

func (p gPoint) params() fluid.Params {
	f := fluidParams()
	f.G, f.RateAI = 1/p.inverse, p.rateAI
	f.Packet = unit.Bytes(p.payload) + dcqcnPacket - dcqcnPayload
	return f
}

const paperAI = 40 * unit.MbPerSecond // R_AI: [DCQCN] table 2

// The values of g: from the strawman's to the chosen one.
const gCoarse, gMiddle, gFine = 16, 64, 256

// The points that claims name.
var (
	gStarved = gPoint{32, gFine, paperAI, dcqcnPayload}
	gHalved  = gPoint{32, gFine, paperAI / 2, dcqcnPayload}
)

// gSmall has smaller packets, of which marking may be rarer: see the notes.
var gSmall = gPoint{16, gFine, paperAI, dcqcnPayload / 2}

func gPoints(short bool) (points []gPoint) {
	values := []float64{gCoarse, gMiddle, gFine}
	if short {
		values = []float64{gCoarse, gFine}
	}
	for _, n := range []int{2, 16} {
		for _, inverse := range values {
			points = append(points, gPoint{n, inverse, paperAI, dcqcnPayload})
		}
	}
	if points = append(points, gStarved, gHalved); !short {
		points = append(points, gSmall)
	}
	return points
}

// gTiming is when a run ends and from when on it counts.
func gTiming(short bool) (until, warmup time.Duration) {
	if short {
		return 40 * time.Millisecond, 20 * time.Millisecond
	}
	return 100 * time.Millisecond, 40 * time.Millisecond
}

// What is measured of a queue, in KB.
const (
	gMean      = "mean"
	gDeviation = "standard deviation"
	gEmpty     = "part of the time empty"
	gQueue     = "queue"
)

const gEvery = 10 * time.Microsecond

func gCells(o suite.Options) (cells []suite.Cell) {
	until, warmup := gTiming(o.Short)
	for _, point := range gPoints(o.Short) {
		p := point.params()
		flow := p.AtLineRate(0)
		flow.Count = point.senders
		cells = append(cells, modelled(fmt.Sprint(byModel.name, " ", point), p,
			[]fluid.Flow{flow}, until, gEvery, func(list []fluid.Sample, out *suite.Outcome) {
				var s suite.Series
				for _, one := range list {
					s.X = append(s.X, one.At.Seconds()*1e3)
					s.Y = append(s.Y, float64(one.Queue)/1e3)
				}
				measureG(s, warmup, out)
			}))
		o.Each(func(seed uint64) {
			name := fmt.Sprintf("%s %v seed=%d", byPackets.name, point, seed)
			cells = append(cells, run(name, func() *scenario.Scenario {
				s := dcqcnIncast(point.senders)
				s.Topology.Seed = seed
				asModelled(&s.Topology, p)
				s.Topology.NIC.MTU = point.payload
				s.Duration, s.Warmup, s.Interval = until, warmup, gEvery
				return s
			}, func(r *scenario.Run, out *suite.Outcome) {
				measureG(over(r, scaled(r.QueueBytes(0), 1e-3)), warmup, out)
			}))
		})
	}
	return cells
}

// measureG takes the mean and the deviation of a queue after the warm-up.
func measureG(s suite.Series, warmup time.Duration, out *suite.Outcome) {
	from := int(warmup / gEvery)
	var sum, squares, empty float64
	for _, q := range s.Y[from:] {
		sum, squares = sum+q, squares+float64(q*q)
		if q == 0 {
			empty++
		}
	}
	n := float64(len(s.Y) - from)
	mean := sum / n
	out.Numbers[gMean] = mean
	out.Numbers[gDeviation] = math.Sqrt(max(0, squares/n-float64(mean*mean)))
	out.Numbers[gEmpty] = empty / n
	out.Series[gQueue] = thinned(suite.Series{X: s.X[from:], Y: s.Y[from:]}, 10)
}

// gFound is what an engine found of a point, as the mean over seeds.
type gFound struct {
	mean, deviation, empty float64
	queue                  suite.Series // of the last seed
}

func findG(e engine, found []suite.Outcome, point gPoint) (g gFound) {
	var mean, deviation, empty []float64
	for _, o := range e.of(found) {
		if isPoint(e, o.Cell, point.String()) {
			mean = append(mean, o.Numbers[gMean])
			deviation = append(deviation, o.Numbers[gDeviation])
			empty = append(empty, o.Numbers[gEmpty])
			g.queue = o.Series[gQueue]
		}
	}
	g.mean, _ = suite.Interval(mean)
	g.deviation, _ = suite.Interval(deviation)
	g.empty, _ = suite.Interval(empty)
	return g
}

func judgeG(o suite.Options, found []suite.Outcome) (v suite.Verdict) {
	table := suite.Table{Title: "The queue after the warm-up", Columns: []string{"incast", "engine",
		"mean KB", "standard deviation KB", "empty %"}}
	figures := map[int]*suite.Figure{}
	for _, n := range []int{2, 16, 32} {
		figures[n] = &suite.Figure{Title: fmt.Sprintf("Figure 12: queue of a %d:1 incast", n),
			X: suite.Axis{Label: "time", Unit: "ms"}, Y: suite.Axis{Label: "queue", Unit: "KB"}}
	}
	for _, point := range gPoints(o.Short) {
		for _, e := range engines {
			g := findG(e, found, point)
			table.Rows = append(table.Rows, []string{point.String(), e.name,
				fmt.Sprintf("%.1f", g.mean), fmt.Sprintf("%.1f", g.deviation),
				fmt.Sprintf("%.2f", 100*g.empty)})
			f := figures[point.senders]
			f.Curves = append(f.Curves, suite.Curve{Kind: suite.Line, From: e.from,
				Name: fmt.Sprintf("%v, %s", point, e.name), Series: g.queue})
		}
	}
	for _, e := range engines {
		v.Claims = append(v.Claims, gClaims(e, found)...)
	}
	v.Tables = []suite.Table{table}
	v.Figures = []suite.Figure{*figures[2], *figures[16], *figures[32]}
	v.Notes = gNotes()
	return v
}

// gClaims are the sentences of section 5.2.
func gClaims(e engine, found []suite.Outcome) (claims []suite.Claim) {
	by := " (" + e.name + ")"
	for _, n := range []int{2, 16} {
		coarse := findG(e, found, gPoint{n, gCoarse, paperAI, dcqcnPayload})
		fine := findG(e, found, gPoint{n, gFine, paperAI, dcqcnPayload})
		claims = append(claims,
			suite.Claim{Text: fmt.Sprintf("%d:1: a smaller g gives a shorter queue.%s", n, by),
				Ours: fine.mean, Unit: "KB", Holds: fine.mean < coarse.mean,
				Rule: fmt.Sprintf("mean with 1/%d below that with 1/%d, %.1f KB", gFine, gCoarse,
					coarse.mean)},
			suite.Claim{Text: fmt.Sprintf("%d:1: a smaller g gives a steadier queue.%s", n, by),
				Ours: fine.deviation, Unit: "KB", Holds: fine.deviation < coarse.deviation,
				Rule: fmt.Sprintf("standard deviation with 1/%d below that with 1/%d, %.1f KB",
					gFine, gCoarse, coarse.deviation)})
	}
	fine := findG(e, found, gPoint{16, gFine, paperAI, dcqcnPayload})
	starved, halved := findG(e, found, gStarved), findG(e, found, gHalved)
	return append(claims,
		suite.Claim{Text: "16:1: the buffer does not run empty." + by, Ours: 100 * fine.empty,
			Unit: "% of the time", Rule: "never after the warm-up", Holds: fine.empty == 0},
		suite.Claim{Text: "32:1: with half the R_AI the buffer does not run empty." + by,
			Ours: 100 * halved.empty, Unit: "% of the time",
			Rule: fmt.Sprintf("never after the warm-up; with the whole R_AI it is %.2f %%",
				100*starved.empty),
			Holds: halved.empty == 0})
}

// gNotes say what marking the model needs: where more than Pmax, there is no fixed point.
func gNotes() []string {
	marking := func(point gPoint) string {
		p := point.params()
		p.Pmax = 1 // as far as it takes
		at, err := p.FixedPoint(point.senders)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%.2f %%", 100*at.Marking)
	}
	sixteen := gPoint{16, gFine, paperAI, dcqcnPayload}
	return []string{
		"By the model's own equations 16 flows need " + marking(sixteen) + " of the packets " +
			"marked to stay at their share, and 32 need " + marking(gStarved) + ", or " +
			marking(gHalved) + " with half the R_AI. That is above Pmax, 1 %: there is no fixed " +
			"point below Kmax, and the queue swings between nothing and more than Kmax, by the " +
			"model and by packets alike. Two flows need " +
			marking(gPoint{2, gFine, paperAI, dcqcnPayload}) + ".",
		"The smaller packets are, the rarer marks need be: with a path MTU of 512 bytes 16 " +
			"flows need " + marking(gSmall) + ", and the model's queue is steady and never " +
			"empty, as the paper says. It does not say what packets its model has. The queue of " +
			"packets swings there, too: chance carries it over Kmax, where all is marked and all " +
			"flows are cut at once.",
		"The model knows no chance: of two flows marked rarely, by dice, the queue of packets is " +
			"far less steady than the model's with any g. A large g makes its mean no longer " +
			"but shorter, because deeper cuts leave it empty more often.",
	}
}
