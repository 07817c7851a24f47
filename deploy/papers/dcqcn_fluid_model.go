package papers

import (
	"fmt"
	"math"
	"time"

	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/roce/fluid"
)

// dcqcnFluidModel is [DCQCN] figure 10: the fluid model over the implementation.
func dcqcnFluidModel() suite.Experiment {
	return suite.Experiment{
		ID: "dcqcn-fluid-model", Paper: dcqcn, Where: "figure 10, equations 5 to 11",
		Title: "Sending rate of a sender that begins 10 ms after another one to the same " +
			"receiver: fluid model and packets.",
		Modes: []suite.Mode{suite.Virtual, suite.Real}, Seeds: 8, RealSeeds: 2,
		Shorter: "On real frames the second sender is followed for 10 ms, with two seeds. In " +
			"virtual time it is as in the paper.",
		Cells: fluidModelCells,
		Judge: judgeFluidModel,
	}
}

const (
	secondJoins = 10 * time.Millisecond // after the first: section 6.1
	secondRate  = "rate of the second sender"
)

// secondFollowed is for how long.
func secondFollowed(o suite.Options) time.Duration {
	if o.Mode == suite.Real {
		return 10 * time.Millisecond
	}
	return 100 * time.Millisecond
}

func fluidModelCells(o suite.Options) []suite.Cell {
	const every = 100 * time.Microsecond
	until, p := secondJoins+secondFollowed(o), fluidParams()
	flows := []fluid.Flow{p.AtLineRate(0), p.AtLineRate(secondJoins)}
	cells := []suite.Cell{modelled(byModel.name, p, flows, until, every,
		func(list []fluid.Sample, out *suite.Outcome) {
			var s suite.Series
			for _, one := range list {
				s.X = append(s.X, one.At.Seconds()*1e3)
				s.Y = append(s.Y, float64(one.Flows[1].Current)/1e9)
			}
			out.Series[secondRate] = sinceJoined(s)
		})}
	o.Each(func(seed uint64) {
		name := fmt.Sprintf("%s seed=%d", byPackets.name, seed)
		cells = append(cells, run(name, func() *scenario.Scenario {
			s := joining(p, seed, secondJoins)
			s.Duration, s.Interval = until, every
			return s
		}, func(r *scenario.Run, out *suite.Outcome) {
			out.Series[secondRate] = sinceJoined(over(r, scaled(r.Limits(1), 1e-9)))
		}))
	})
	return cells
}

// joining is section 6.1's setup: three machines on a switch, two of them greedy senders, of which
// the second begins later.
func joining(p fluid.Params, seed uint64, after time.Duration) *scenario.Scenario {
	s := dcqcnIncast(2)
	s.Topology.Seed = seed
	asModelled(&s.Topology, p)
	s.Flows[1].StartNs = after.Nanoseconds()
	return s
}

// sinceJoined counts the time from the second sender's start on.
func sinceJoined(s suite.Series) (t suite.Series) {
	const start = float64(secondJoins) / float64(time.Millisecond)
	for i, x := range s.X {
		if x > start {
			t.X, t.Y = append(t.X, x-start), append(t.Y, s.Y[i])
		}
	}
	return t
}

func judgeFluidModel(o suite.Options, found []suite.Outcome) (v suite.Verdict) {
	model := byModel.of(found)[0].Series[secondRate]
	mean := suite.Curve{Name: "packets, mean of seeds with least and most", Kind: suite.Line,
		From: suite.Ours, Series: suite.Series{X: model.X, Y: make([]float64, len(model.X))}}
	var off []float64
	packets := byPackets.of(found)
	for _, one := range packets {
		rate := one.Series[secondRate]
		off = append(off, rms(rate.Y, model.Y))
		for i, y := range rate.Y {
			mean.Y[i] += y / float64(len(packets))
		}
	}
	mean.Low, mean.High = envelope(packets, secondRate)
	ours, interval := suite.Interval(off)
	whole := rms(mean.Y, model.Y)
	rule := fmt.Sprintf("at most 2 Gb/s, a tenth of the fair share, over %v (the paper has only "+
		"a picture)", secondFollowed(o))
	v.Claims = []suite.Claim{
		{Text: "The fluid model closely matches the implementation: RMS difference of the " +
			"second sender's rate from it.", Ours: ours, Unit: "Gb/s", Interval: interval,
			Rule: rule, Holds: ours <= 2},
		{Text: "RMS difference of the mean of all runs from the model.", Ours: whole,
			Unit: "Gb/s", Rule: rule, Holds: whole <= 2},
	}
	v.Notes = []string{
		"The paper does not say how large a packet of the model is. Ours are as large as the " +
			"machines' on the line, 1106 bytes.",
		"The model knows no chance. In a run packets are marked by dice, and rarely: two flows " +
			"need 0.09 % marked (dcqcn-g). So shares wander about the fair one for tens of " +
			"milliseconds.",
	}
	if o.Mode == suite.Real {
		v.Claims = []suite.Claim{sameAsVirtual(packets)}
		v.Notes = append(v.Notes, fmt.Sprintf("On real frames there is time for the start only, "+
			"when rates are furthest from rest: the RMS difference over %v is %.2f Gb/s.",
			secondFollowed(o), ours))
	}
	v.Figures = []suite.Figure{{Title: "Figure 10: sending rate of the second sender",
		X: suite.Axis{Label: "time since its start", Unit: "ms"},
		Y: suite.Axis{Label: "rate", Unit: "Gb/s"},
		Curves: []suite.Curve{mean,
			{Name: "fluid model", Kind: suite.Line, From: suite.Model, Series: model}}}}
	return v
}

// rms is the root of the mean squared difference of two curves with the same times.
func rms(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += float64((a[i] - b[i]) * (a[i] - b[i]))
	}
	return math.Sqrt(sum / float64(len(a)))
}

// envelope is the least and the most of a series at each time.
func envelope(found []suite.Outcome, name string) (low, high []float64) {
	for i := range found[0].Series[name].Y {
		var all []float64
		for _, o := range found {
			all = append(all, o.Series[name].Y[i])
		}
		s := spreadOf(all)
		low, high = append(low, s.low), append(high, s.high)
	}
	return low, high
}
