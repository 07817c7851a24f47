package papers

import (
	"fmt"
	"slices"
	"time"

	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
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
	o.Each(func(seed uint64) {
		for _, k := range degrees {
			name := fmt.Sprintf("senders=%d seed=%d", k, seed)
			cells = append(cells, run(name, func() *scenario.Scenario {
				s := dcqcnIncast(k, dcqcnOn)
				s.Topology.Seed = seed
				s.Duration, s.Warmup, s.Interval = duration, warmup, 10*time.Microsecond
				return s
			}, func(r *scenario.Run, out *suite.Outcome) {
				out.Numbers[incastSenders] = float64(k)
				measureIncast(r, out)
			}))
		}
	})
	return cells
}

// Names of what an incast's run tells.
const (
	incastSenders   = "senders"
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

func judgeIncast19(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	total := suite.Curve{Name: "throughput", Kind: suite.Points, From: suite.Ours}
	queue := suite.Curve{Name: "after the transient", Kind: suite.Points, From: suite.Ours}
	start := suite.Curve{Name: "in the transient", Kind: suite.Points, From: suite.Ours}
	for _, o := range found {
		k := o.Numbers[incastSenders]
		for _, c := range []struct {
			number string
			*suite.Curve
		}{{incastTotal, &total}, {incastQueue, &queue}, {incastTransient, &start}} {
			c.X, c.Y = append(c.X, k), append(c.Y, o.Numbers[c.number])
		}
	}
	least, most := slices.Min(total.Y), slices.Max(queue.Y)
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
			Y: suite.Axis{Label: "throughput", Unit: "Gb/s"}, Curves: []suite.Curve{total}},
		{Title: "Section 6.1: the longest queue of K:1 incasts", X: senders,
			Y:      suite.Axis{Label: "queue", Unit: "KB", Log: true},
			Curves: []suite.Curve{queue, start}},
	}
	v.Notes = []string{
		fmt.Sprintf("When all begin at line rate the queue is longer: up to %.0f KB.",
			slices.Max(start.Y)),
		throughputNote,
	}
	return v
}
