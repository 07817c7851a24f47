package papers

import (
	"fmt"
	"slices"
	"time"

	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/roce/fluid"
)

// dcqcnIncast19 is the last microbenchmark of [DCQCN] section 6.1.
func dcqcnIncast19() suite.Experiment {
	return suite.Experiment{
		ID: "dcqcn-incast-19", Paper: dcqcn, Where: "section 6.1",
		Title: "Throughput and queue of incasts of 1 to 19 senders through one switch.",
		Modes: []suite.Mode{suite.Virtual}, Seeds: 1,
		Shorter: "The paper does not say for how long it looked; here it is 150 ms, of which the " +
			"first 50 ms are taken as the transient.",
		Cells: incastCells,
		Judge: judgeIncast19,
	}
}

// figure14Pmax is the paper's, in percent. We look at a greater one, too, because the fluid model
// says that it takes more marking than that to hold many flows down.
const figure14Pmax, otherPmax = 1, 10

// mostSenders is the paper's: 20 machines on a switch, of which one receives.
const mostSenders = 19

func incastCells(o suite.Options) (cells []suite.Cell) {
	duration, warmup := 150*time.Millisecond, 50*time.Millisecond
	var degrees []int
	for k := range mostSenders {
		degrees = append(degrees, k+1)
	}
	if o.Short {
		duration, warmup, degrees = 100*time.Millisecond, 50*time.Millisecond, []int{2, 8, 19}
	}
	add := func(k int, pmax float64, seed uint64) {
		name := fmt.Sprintf("senders=%d Pmax=%v%% seed=%d", k, pmax, seed)
		cells = append(cells, run(name, func() *scenario.Scenario {
			s := dcqcnIncast(k)
			s.Topology.Seed, s.Topology.Switch.WRED.DropProbability = seed, pmax
			s.Duration, s.Warmup, s.Interval = duration, warmup, 10*time.Microsecond
			return s
		}, func(r *scenario.Run, out *suite.Outcome) {
			out.Numbers[incastSenders], out.Numbers[incastPmax] = float64(k), pmax
			measureIncast(r, out)
		}))
	}
	o.Each(func(seed uint64) {
		for _, k := range degrees {
			add(k, figure14Pmax, seed)
		}
		for _, k := range []int{2, 8, mostSenders} {
			add(k, otherPmax, seed)
		}
	})
	return cells
}

// Names of what an incast's run tells.
const (
	incastSenders   = "senders"
	incastPmax      = "Pmax %"
	incastTotal     = "throughput Gb/s"       // of the receiver's link, after the warm-up
	incastQueue     = "most of the queue KB"  // after the warm-up
	incastTransient = "before the warm-up KB" // the most of the queue
	incastPauses    = "pauses of the switch"  // XOFF and XON, all ports
	queueSeries     = "queue KB"              // over time, every tenth sample
)

func measureIncast(r *scenario.Run, out *suite.Outcome) {
	all, warm := r.QueueBytes(0), r.WarmQueueBytes(0)
	out.Numbers[incastTotal] = r.Utilisation(0) * float64(dcqcnRate) / 1e9
	out.Numbers[incastQueue] = slices.Max(warm) / 1e3
	out.Numbers[incastTransient] = slices.Max(all[:len(all)-len(warm)]) / 1e3
	sent, _ := r.PFC("sw0")
	out.Numbers[incastPauses] = float64(sent)
	out.Series[queueSeries] = thinned(over(r, scaled(all, 1e-3)), 10)
}

// thinned keeps every n-th point.
func thinned(s suite.Series, n int) (t suite.Series) {
	for i := n - 1; i < len(s.X); i += n {
		t.X, t.Y = append(t.X, s.X[i]), append(t.Y, s.Y[i])
	}
	return t
}

// bySenders is a number of all runs with a Pmax, by senders.
func bySenders(name string, found []suite.Outcome, number string, pmax float64) suite.Curve {
	c := suite.Curve{Name: name, Kind: suite.Points, From: suite.Ours}
	for _, o := range found {
		if o.Numbers[incastPmax] == pmax {
			c.X, c.Y = append(c.X, o.Numbers[incastSenders]), append(c.Y, o.Numbers[number])
		}
	}
	return c
}

func judgeIncast19(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	total := bySenders("Pmax = 1 %", found, incastTotal, figure14Pmax)
	queue := bySenders("Pmax = 1 %", found, incastQueue, figure14Pmax)
	start := bySenders("Pmax = 1 %, in the transient", found, incastTransient, figure14Pmax)
	otherTotal := bySenders("Pmax = 10 %", found, incastTotal, otherPmax)
	otherQueue := bySenders("Pmax = 10 %", found, incastQueue, otherPmax)
	least, most := slices.Min(total.Y), slices.Max(queue.Y)
	good := 0.0 // up to so many senders both hold
	for i := range total.X {
		if total.Y[i] <= 39 || queue.Y[i] > 100 {
			break
		}
		good = total.X[i]
	}
	v.Claims = []suite.Claim{
		{Text: "The total throughput is always more than 39 Gb/s.", Paper: "> 39 Gb/s",
			Ours: least, Unit: "Gb/s", Rule: "least of all K above 39 Gb/s, after the transient",
			Holds: least > 39},
		{Text: "The queue never exceeds 100 KB.", Paper: "< 100 KB", Ours: most, Unit: "KB",
			Rule: "most of all K at most 100 KB, after the transient", Holds: most <= 100},
	}
	senders := suite.Axis{Label: "senders"}
	v.Figures = []suite.Figure{
		{Title: "Section 6.1: throughput of K:1 incasts", X: senders,
			Y:      suite.Axis{Label: "throughput", Unit: "Gb/s"},
			Curves: []suite.Curve{total, otherTotal}},
		{Title: "Section 6.1: the longest queue of K:1 incasts", X: senders,
			Y:      suite.Axis{Label: "queue", Unit: "KB", Log: true},
			Curves: []suite.Curve{queue, otherQueue, start, fixedPoints()}},
	}
	v.Notes = []string{
		fmt.Sprintf("Both hold for up to %.0f senders.", good),
		fmt.Sprintf("When all begin at line rate the queue is longer: up to %.0f KB.",
			slices.Max(start.Y)),
		manyFlowsNote,
		fmt.Sprintf("With Pmax = 10 %% instead of the 1 %% of figure 14 the least throughput is "+
			"%.2f Gb/s and the longest queue %.0f KB, for 2, 8 and 19 senders.",
			slices.Min(otherTotal.Y), slices.Max(otherQueue.Y)),
		throughputNote,
	}
	return v
}

// fixedPoints are the queues at which the fluid model comes to rest, for all numbers of flows for
// which it does.
func fixedPoints() suite.Curve {
	c := suite.Curve{Name: "Pmax = 1 %, fixed point of the fluid model", Kind: suite.Line,
		From: suite.Model}
	p := fluid.Default()
	p.Packet = dcqcnPacket
	for k := 2; k <= mostSenders; k++ {
		if at, err := p.FixedPoint(k); err == nil {
			c.X, c.Y = append(c.X, float64(k)), append(c.Y, float64(at.Queue)/1e3)
		}
	}
	return c
}
