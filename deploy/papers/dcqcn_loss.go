package papers

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
)

// dcqcnLoss is [DCQCN] figure 21: what packet loss does to go-back-N.
func dcqcnLoss() suite.Experiment {
	return suite.Experiment{
		ID: "dcqcn-loss", Paper: dcqcn, Where: "figure 21",
		Title: "Throughput of one flow of 4 MB messages on a link that loses packets.",
		Modes: []suite.Mode{suite.Virtual, suite.Real}, Seeds: 1,
		Shorter: "The paper does not say for how long it looked; here it is 400 ms three times " +
			"for each rate, or 5.4 million packets. On real frames it is 4 ms and three rates, " +
			"in which the first timeout does not end.",
		Cells: lossCells,
		Judge: judgeLoss,
	}
}

// Names of what a run tells.
const (
	lossRate       = "loss rate"
	lossThroughput = "throughput Gb/s"
	lossTimeouts   = "timeouts" // of the sender
	lossTimeout    = "timeout"  // that it has
)

// lossWait is how long the sender waits for an answer, in the steps of the verbs; 0 is the
// default's.
type lossWait uint8

// lossWaits are perftest's default, 67 ms, and 1 ms (4.096 us x 2^8). The paper gives none, and
// what is lost twice waits for it.
var lossWaits = []lossWait{0, 8}

func (w lossWait) String() string {
	if w == 0 {
		return ""
	}
	return fmt.Sprintf(" timeout=%d", uint8(w))
}

// lossCase is a point of the figure.
type lossCase struct {
	rate    float64
	timeout lossWait
}

func lossCases(rates []float64) (all []lossCase) {
	for _, w := range lossWaits {
		for _, rate := range rates {
			all = append(all, lossCase{rate, w})
		}
	}
	return all
}

func lossCells(o suite.Options) (cells []suite.Cell) {
	rates := []float64{1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2}
	t := timing{draws: 3, duration: 400 * time.Millisecond}
	switch {
	case o.Mode == suite.Real:
		rates, t = []float64{1e-4, 1e-3, 1e-2}, timing{draws: 1, duration: 4 * time.Millisecond}
	case o.Short:
		rates, t = []float64{1e-4, 1e-3, 1e-2}, timing{draws: 1, duration: 100 * time.Millisecond}
	}
	for _, c := range lossCases(rates) {
		cells = append(cells, draws(o, t.draws, func(name string, seed uint64) suite.Cell {
			name = fmt.Sprintf("loss=%g%s %s", c.rate, c.timeout, name)
			return run(name, func() *scenario.Scenario {
				return c.scenario(seed, t.duration)
			}, func(r *scenario.Run, out *suite.Outcome) {
				out.Numbers[lossRate], out.Numbers[lossTimeout] = c.rate, float64(c.timeout)
				out.Numbers[lossThroughput] = onLine(r.Goodput(0)) / 1e9
				out.Numbers[lossTimeouts] = float64(r.NIC("h1").Counters["local_ack_timeout_err"])
			})
		})...)
	}
	return cells
}

// scenario is a flow to a host whose link loses what the switch sends.
func (c lossCase) scenario(seed uint64, duration time.Duration) *scenario.Scenario {
	s := dcqcnIncast(1)
	if c.timeout != 0 {
		s.Topology.NIC.QP.Timeout = uint8(c.timeout)
	}
	s.Topology.Seed = seed
	s.Topology.Faults = []lab.Fault{{Port: lab.Endpoint{Node: "sw0", Device: "swp2"},
		Fault: fault.Spec{Kind: fault.Loss, Rule: link.Rule{Effect: link.Lose, Chance: c.rate}}}}
	s.Duration, s.Interval = duration, 100*time.Microsecond
	return s
}

// lossCurve is the mean of a number at each loss rate, with a timeout.
func lossCurve(found []suite.Outcome, timeout lossWait, number string) suite.Curve {
	c := suite.Curve{Name: "go-back-N" + timeout.String(), Kind: suite.Line, From: suite.Ours}
	runs := map[float64][]float64{}
	for _, o := range found {
		if o.Numbers[lossTimeout] != float64(timeout) {
			continue
		}
		rate := o.Numbers[lossRate]
		if !slices.Contains(c.X, rate) {
			c.X = append(c.X, rate)
		}
		runs[rate] = append(runs[rate], o.Numbers[number])
	}
	for _, rate := range c.X {
		mean, _ := suite.Interval(runs[rate])
		c.Y = append(c.Y, mean)
	}
	return c
}

func judgeLoss(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	fig := suite.Figure{Title: "Figure 21: impact of packet loss rate on throughput",
		X: suite.Axis{Label: "loss rate", Log: true},
		Y: suite.Axis{Label: "throughput", Unit: "Gb/s"}}
	at := func(c suite.Curve, rate float64) float64 { return c.Y[slices.Index(c.X, rate)] }
	var told []string
	for _, w := range lossWaits {
		c, timeouts := lossCurve(found, w, lossThroughput), lossCurve(found, w, lossTimeouts)
		kept, fell := at(c, 1e-3)/slices.Max(c.Y), at(c, 1e-2)/at(c, 1e-3)
		with := ""
		if w != 0 {
			with = "With" + w.String() + ": "
		}
		v.Claims = append(v.Claims, suite.Claim{
			Text: with + "Go-back-N is sufficient where the loss rate is low.", Ours: 100 * kept,
			Unit: "%", Rule: "at 0.1 % at least 90 % of the throughput with the least loss",
			Holds: kept >= 0.9,
		}, suite.Claim{
			Text: with + "Throughput degrades rapidly above 0.1 %.", Ours: 100 * fell, Unit: "%",
			Rule: "at 1 % at most half of that at 0.1 %", Holds: fell <= 0.5})
		fig.Curves = append(fig.Curves, c)
		told = append(told, fmt.Sprintf("%s%.1f timeouts a run at 0.1 %%, %.1f at 1 %%", with,
			at(timeouts, 1e-3), at(timeouts, 1e-2)))
	}
	v.Figures = []suite.Figure{fig}
	v.Notes = []string{
		"A loss costs what is on its way until the sender goes back: a round trip, some 25 " +
			"packets. That is 2 % of the link at 0.1 %. What is dear is a packet that is lost " +
			"again when it is sent again: the receiver has sent its one NAK for it (IBTA " +
			"9.7.5.1), so the sender stands still until its timeout. That grows with the square " +
			"of the loss rate, and makes the knee: " + strings.Join(told, ". ") + ".",
		"The paper gives no timeout. Ours is 67 ms, perftest's default, beside 1 ms (timeout=8): " +
			"where the knee is hangs on it, so both are judged, and neither was chosen by what " +
			"comes out.",
		throughputNote,
	}
	return v
}
