package report

import (
	"fmt"
	"math"

	"github.com/rocelab/rocelab/deploy/result"
)

// panel is one quantity over time, drawn for every run on the same axes.
type panel struct {
	Title string
	Unit  string
	Plots []*plot // one per run
}

// canvas is what all plots share: the span of time and the axis under it.
type canvas struct {
	span int64
	time axis
	runs []result.Run
}

// The heights of the panels' drawings, in the units of the SVG.
const (
	tallHeight  = 210
	wideHeight  = 160
	smallHeight = 66
)

// panels draws what the result has series for.
func panels(r *result.Result) []panel {
	c := canvas{runs: r.Runs}
	for i := range r.Runs {
		run := &r.Runs[i]
		c.span = max(c.span, run.DurationNs)
		for _, t := range run.Series.TimeNs {
			c.span = max(c.span, t)
		}
	}
	if c.span <= 0 {
		return nil
	}
	c.time = newAxis(times, float64(c.span), 7, false)
	out := []panel{c.rates(&r.Scenario)}
	if c.any(func(s *result.Series) bool { return hasValues(s.LimitsBps...) }) {
		out = append(out, c.limits(&r.Scenario))
	}
	out = append(out, c.queue())
	if c.queuesDiffer() {
		out = append(out, c.queueAlone())
	}
	if c.any(func(s *result.Series) bool { return hasValues(s.PausedFrac) }) {
		out = append(out, c.paused())
	}
	for _, k := range counters {
		if c.any(func(s *result.Series) bool { return hasValues(k.values(s)) }) {
			out = append(out, c.counts(k))
		}
	}
	for i := range out {
		for j, p := range out[i].Plots {
			p.ID = fmt.Sprintf("plot-%d-%d", i, j)
			p.Name = fmt.Sprintf("%s, %s, over time", out[i].Title, p.Run)
		}
	}
	return out
}

func (c *canvas) any(has func(*result.Series) bool) bool {
	for i := range c.runs {
		if has(&c.runs[i].Series) {
			return true
		}
	}
	return false
}

// hasValues says whether anything but absence would be drawn.
func hasValues(series ...[]float64) bool {
	for _, values := range series {
		for _, v := range values {
			if known(v) {
				return true
			}
		}
	}
	return false
}

func largest(series ...[]float64) (m float64) {
	for _, values := range series {
		for _, v := range values {
			if known(v) {
				m = max(m, v)
			}
		}
	}
	return m
}

// rates draws every flow, and what each would have if the link's payload rate were shared alike.
func (c *canvas) rates(s *result.Scenario) panel {
	top := 0.0
	for i := range c.runs {
		top = max(top, largest(c.runs[i].Series.RatesBps...), fairShare(s, len(c.runs[i].Flows)))
	}
	y := newAxis(bitRates, belowLink(top, s), 5, true)
	p := panel{Title: "Rate of each flow", Unit: y.unit.name}
	for i := range c.runs {
		run := &c.runs[i]
		plot := c.plot(run, y, tallHeight)
		plot.flows(c, run, run.Series.RatesBps)
		if fair := fairShare(s, len(run.Flows)); fair > 0 {
			plot.reference(fair, "fair share "+y.text(fair))
		}
		p.Plots = append(p.Plots, plot)
	}
	return p
}

// limits draws what congestion control allows each flow.
func (c *canvas) limits(s *result.Scenario) panel {
	top := 0.0
	for i := range c.runs {
		top = max(top, largest(c.runs[i].Series.LimitsBps...))
	}
	y := newAxis(bitRates, belowLink(top, s), 4, true)
	p := panel{Title: "Limit set by congestion control", Unit: y.unit.name}
	for i := range c.runs {
		run := &c.runs[i]
		plot := c.plot(run, y, wideHeight)
		plot.flows(c, run, run.Series.LimitsBps)
		if plot.Empty != "" && len(run.Series.TimeNs) > 0 {
			plot.Empty = "no limit: congestion control is off"
		}
		plot.Legend = nil
		p.Plots = append(p.Plots, plot)
	}
	return p
}

// queue draws the bottleneck's queue as a filled band.
func (c *canvas) queue() panel {
	top := 0.0
	for i := range c.runs {
		top = max(top, largest(c.runs[i].Series.QueueBytes), c.runs[i].Queue.MeanBytes)
	}
	y := newAxis(sizes, top, 4, true)
	p := panel{Title: "Queue at the bottleneck", Unit: y.unit.name}
	for i := range c.runs {
		run := &c.runs[i]
		plot := c.plot(run, y, wideHeight)
		plot.area(c, run.Series.TimeNs, run.Series.QueueBytes, "queue")
		if mean := run.Queue.MeanBytes; plot.Empty == "" && mean > 0 {
			plot.reference(mean, "mean "+y.text(mean))
		}
		p.Plots = append(p.Plots, plot)
	}
	return p
}

// queuesDiffer says whether some run's queue is lost on the axis of the longest: below a tenth.
func (c *canvas) queuesDiffer() bool {
	least, most := math.Inf(1), 0.0
	for i := range c.runs {
		if q := c.runs[i].Queue.MeanBytes; q > 0 {
			least, most = min(least, q), max(most, q)
		}
	}
	return least < most/10
}

// queueAlone draws each run's queue on an axis of its own, cut at three times its 99th percentile:
// what it was like most of the time.
func (c *canvas) queueAlone() panel {
	p := panel{Title: "The same, each on a scale of its own"}
	for i := range c.runs {
		run := &c.runs[i]
		top := min(largest(run.Series.QueueBytes), 3*run.Queue.P99Bytes)
		y := newAxis(sizes, top, 3, true)
		cut := make([]float64, len(run.Series.QueueBytes))
		for j, v := range run.Series.QueueBytes {
			cut[j] = min(v, y.max*y.unit.size)
		}
		plot := c.plot(run, y, wideHeight)
		plot.area(c, run.Series.TimeNs, cut, "queue")
		if mean := run.Queue.MeanBytes; plot.Empty == "" && mean > 0 {
			plot.reference(mean, "mean "+y.text(mean))
		}
		p.Plots = append(p.Plots, plot)
	}
	return p
}

func (c *canvas) paused() panel {
	y := newAxis(shares, 1, 2, true)
	p := panel{Title: "Senders paused, share of time", Unit: "%"}
	for i := range c.runs {
		run := &c.runs[i]
		plot := c.plot(run, y, smallHeight)
		plot.area(c, run.Series.TimeNs, run.Series.PausedFrac, "pfc")
		p.Plots = append(p.Plots, plot)
	}
	return p
}

// counter is a series of events per interval.
type counter struct {
	title, class string
	values       func(*result.Series) []float64
}

// counters are the events that have a panel.
var counters = []counter{
	{"PFC frames sent by the switch", "pfc",
		func(s *result.Series) []float64 { return s.PFCFrames }},
	{"ECN marks at the bottleneck", "ecn",
		func(s *result.Series) []float64 { return s.ECNMarks }},
	{"CNPs sent by the receiver", "cnp",
		func(s *result.Series) []float64 { return s.CNPs }},
}

// counts draws events as bars of equal width in all runs.
func (c *canvas) counts(k counter) panel {
	width := c.binWidth()
	top, bins := 2.0, make([][]bin, len(c.runs))
	for i := range c.runs {
		s := &c.runs[i].Series
		bins[i] = rebin(s.TimeNs, k.values(s), c.span, width)
		for _, b := range bins[i] {
			top = max(top, b.sum)
		}
	}
	y := newAxis(counts, top, 2, true)
	p := panel{Title: k.title, Unit: "per " + times.short(float64(width))}
	for i := range c.runs {
		plot := c.plot(&c.runs[i], y, smallHeight)
		plot.bars(bins[i], k.class)
		switch {
		case len(k.values(&c.runs[i].Series)) == 0:
			plot.Empty = noSamples
		case len(bins[i]) == 0:
			plot.Empty = "none"
		}
		p.Plots = append(p.Plots, plot)
	}
	return p
}

// binWidth is a round number of the runs' longest interval, wide enough to be seen.
func (c *canvas) binWidth() int64 {
	interval := int64(1)
	for i := range c.runs {
		interval = max(interval, c.runs[i].Series.IntervalNs)
	}
	times := math.Ceil(float64(c.span) / float64(interval) / barsPerPlot)
	return interval * int64(max(1, math.Ceil(roundStep(times))))
}

// belowLink keeps a burst of acknowledgements from flattening everything else: no axis goes
// far beyond the rate of the link.
func belowLink(top float64, s *result.Scenario) float64 {
	if s.LinkRateBps <= 0 {
		return top
	}
	return min(top, 1.1*float64(s.LinkRateBps))
}
