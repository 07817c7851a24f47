package papers

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
)

// timing is how often and how long a scenario runs.
type timing struct {
	draws            int // of all dice, for each seed
	duration, warmup time.Duration
}

// draws makes so many cells for each seed that is asked for, each with dice of its own: what ECMP
// chooses and which packets are marked.
func draws(o suite.Options, n int, cell func(name string, seed uint64) suite.Cell,
) (cells []suite.Cell) {
	o.Each(func(seed uint64) {
		for i := range n {
			name := fmt.Sprintf("draw=%d seed=%d", i+1, seed)
			cells = append(cells, cell(name, seed<<16+uint64(i)))
		}
	})
	return cells
}

// fourSenders are runs of the flows of [DCQCN] figure 3, each with another choice of ECMP.
func fourSenders(o suite.Options, c control, t timing) (cells []suite.Cell) {
	return draws(o, t.draws, func(name string, seed uint64) suite.Cell {
		return run(name, func() *scenario.Scenario {
			top := dcqcnTestbed("four-senders", 2, c)
			top.Seed = seed
			return &scenario.Scenario{Topology: top, Flows: unfairFlows(), Duration: t.duration,
				Warmup: t.warmup, Interval: 20 * time.Microsecond}
		}, measureFour)
	})
}

// senders is how many flows figures 3 and 8 have.
const senders = 4

// sender is the name of one of the four, counted from 0.
func sender(i int) string { return fmt.Sprintf("H%d", i+1) }

// Names of what measureFour finds for a sender, in Gb/s of the link.
const (
	throughputOf = "throughput of "
	transfersOf  = "transfers of "
)

// measureFour takes the throughput of each flow, and that of its transfers.
func measureFour(r *scenario.Run, out *suite.Outcome) {
	for i := range r.Flows {
		out.Numbers[throughputOf+sender(i)] = onLine(r.Goodput(i)) / 1e9
		var s suite.Series
		for n, g := range r.Transfers(i) {
			s.X = append(s.X, float64(n+1))
			s.Y = append(s.Y, onLine(g)/1e9)
		}
		out.Series[transfersOf+sender(i)] = s
	}
}

// throughputs of the four in one run.
func throughputs(o *suite.Outcome) (all [senders]float64) {
	for i := range all {
		all[i] = o.Numbers[throughputOf+sender(i)]
	}
	return all
}

// spread is the least, the middle and the most of some values.
type spread struct{ low, median, high float64 }

func spreadOf(values []float64) spread {
	return spread{suite.Quantile(values, 0), suite.Quantile(values, 0.5), suite.Quantile(values, 1)}
}

// transfersBySender is the spread of the throughput of all transfers of each sender. Where the time
// was too short for one, as on real frames, that of the flow stands for it.
func transfersBySender(found []suite.Outcome) (by [senders]spread) {
	for i := range by {
		var all []float64
		for _, o := range found {
			if one := o.Series[transfersOf+sender(i)].Y; len(one) > 0 {
				all = append(all, one...)
			} else {
				all = append(all, o.Numbers[throughputOf+sender(i)])
			}
		}
		by[i] = spreadOf(all)
	}
	return by
}

// spreadFigure is drawn like [DCQCN] figures 3(b) and 8: a bar for each sender, with its least and
// its most.
func spreadFigure(title string, by [senders]spread) suite.Figure {
	c := suite.Curve{Name: "median, least and most", Kind: suite.Bars, From: suite.Ours}
	x := suite.Axis{Label: "sender"}
	for i, s := range by {
		x.Names = append(x.Names, sender(i))
		c.X, c.Y = append(c.X, float64(i)), append(c.Y, s.median)
		c.Low, c.High = append(c.Low, s.low), append(c.High, s.high)
	}
	return suite.Figure{Title: title, X: x, Y: suite.Axis{Label: "throughput", Unit: "Gb/s"},
		Curves: []suite.Curve{c}}
}

// dcqcnIncast is an incast of n hosts with DCQCN to one more on one switch, whose queue is sampled.
// Nothing ends before the caller gives it a duration.
func dcqcnIncast(n int) *scenario.Scenario {
	top := dcqcnStar("incast", n+1, dcqcnOn)
	to := fmt.Sprintf("h%d", n+1)
	var from []string
	for i := range n {
		from = append(from, fmt.Sprintf("h%d", i+1))
	}
	return &scenario.Scenario{Topology: top,
		Flows: scenario.Many(to, nicd.FlowRequest{MessageBytes: dcqcnMessage}, from...),
		Queues: []scenario.Queue{{Switch: "sw0", Port: fmt.Sprintf("swp%d", n+1),
			Queue: scenario.DataQueue}}}
}
