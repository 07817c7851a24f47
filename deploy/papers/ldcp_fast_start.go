package papers

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
)

// fastStart is short flows that begin while two long ones are there, or alone.
type fastStart struct {
	name  string
	long  int // flows
	short int
	begin time.Duration // of the first short flow
	marks ldcpMarking
}

// fastStartGap is between the beginnings of two short flows, each of which brings 50 KB, an
// initial window: 0.8 Gb/s of the 40.
const (
	fastStartGap   = 500 * time.Microsecond
	fastStartBytes = 48 << 10
)

// ldcpFastStart is [LDCP] 2.3, zero-RTT bandwidth acquisition.
func ldcpFastStart() suite.Experiment {
	return suite.Experiment{ID: "ldcp-fast-start", Paper: ldcp, Where: "section 2.3",
		Title: "Short flows that begin at full speed, alone and beside two long ones.",
		Modes: []suite.Mode{suite.Virtual, suite.Real}, Seeds: 3, RealSeeds: 1,
		Shorter: "On real frames 2 short flows, from 1 ms on.",
		Cells: func(o suite.Options) (cells []suite.Cell) {
			short, begin := 20, 10*time.Millisecond
			if o.Mode == suite.Real {
				short, begin = 2, time.Millisecond
			}
			o.Each(func(seed uint64) {
				for _, f := range []fastStart{{fastAlone, 0, short, begin, ldcpMarks},
					{fastBeside, 2, short, begin, ldcpMarks}} {
					cells = append(cells, f.cell(seed))
				}
			})
			if o.Mode == suite.Virtual && !o.Short {
				for _, k := range fastThresholds {
					m := ldcpMarks
					m.k = k
					f := fastStart{fastBesideK(k), 2, short, begin, m}
					cells = append(cells, f.cell(o.Seed))
				}
			}
			return cells
		},
		Judge: judgeFastStart,
	}
}

// fastThresholds are other values of K, above which first packets are dropped.
var fastThresholds = []unit.Bytes{10 * unit.KB, 20 * unit.KB}

func fastBesideK(k unit.Bytes) string { return fmt.Sprintf("%s, K=%d", fastBeside, k) }

const (
	fastAlone  = "alone"
	fastBeside = "beside two"

	fastMedian = "median completion" // us, of short flows
	fastLast   = "longest completion"
	fastBefore = "long flows before" // Gb/s, together
	fastDuring = "long flows during"
	fastFirst  = "dropped first packets" // that are not ECN-capable
	fastOther  = "other drops"
	fastRates  = "long flows"
)

func (f fastStart) cell(seed uint64) suite.Cell {
	return run(fmt.Sprintf("%s seed=%d", f.name, seed), func() *scenario.Scenario {
		s := &scenario.Scenario{Topology: ldcpStar(4, ldcpControl, f.marks, seed),
			Flows:  scenario.Many("h4", nicd.FlowRequest{}, hostNames(f.long)...),
			Queues: bottleneck(4), Warmup: f.begin, Interval: 50 * time.Microsecond,
			Duration: f.begin + time.Duration(f.short)*fastStartGap}
		for i := range f.short {
			at := f.begin + time.Duration(i)*fastStartGap
			s.Flows = append(s.Flows, scenario.Flow{From: "h3", To: "h4",
				FlowRequest: nicd.FlowRequest{Name: fmt.Sprintf("short %d", i+1),
					MessageBytes: fastStartBytes, Messages: 1, StartNs: at.Nanoseconds()}})
		}
		return s
	}, func(r *scenario.Run, out *suite.Outcome) { f.measure(r, out) })
}

func (f fastStart) measure(r *scenario.Run, out *suite.Outcome) {
	var times []float64
	for i := f.long; i < len(r.Flows); i++ {
		if m := r.Flow(i).MCT; m.Count > 0 {
			times = append(times, float64(m.MaxNs)/1e3)
		}
	}
	out.Numbers["completed"] = float64(len(times))
	if len(times) > 0 {
		out.Numbers[fastMedian], out.Numbers[fastLast] = suite.Quantile(times, 0.5),
			suite.Quantile(times, 1)
	}
	rates := make([]float64, len(r.Times()))
	for i := range f.long {
		for at, rate := range r.Rates(i) {
			rates[at] += rate / 1e9
		}
	}
	begin := int(f.begin / r.Scenario.Interval)
	out.Numbers[fastBefore] = average(rates[begin/2 : begin])
	out.Numbers[fastDuring] = average(rates[begin:])
	out.Numbers[fastFirst], out.Numbers[fastOther] = 0, 0
	for reason, n := range r.Dropped() {
		if reason == frame.DropWRED.String() {
			out.Numbers[fastFirst] += float64(n)
		} else {
			out.Numbers[fastOther] += float64(n)
		}
	}
	out.Series[fastRates], out.Series[ldcpQueue] = over(r, rates), over(r,
		scaled(r.QueueBytes(0), 1e-3))
}

func judgeFastStart(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	claim := func(cell, text, number, unit, rule string, holds func(x float64) bool) {
		x, ci := meanOf(found, cell, number)
		v.Claims = append(v.Claims, suite.Claim{Text: text, Ours: x, Unit: unit, Interval: ci,
			Rule: rule, Holds: holds(x)})
	}
	claim(fastAlone, "A short flow that is alone is done in one round: median.", fastMedian, "us",
		"at most 25 us: a round trip of 10 us, 10.5 us for its packets and a fifth",
		func(x float64) bool { return x > 0 && x <= 25 })
	claim(fastBeside, "Beside two long flows none waits for a timeout, since the last of its "+
		"first packets is ECN-capable: longest.", fastLast, "us",
		"below 1 ms; the timeout is 67 ms",
		func(x float64) bool { return x > 0 && x < 1000 })
	claim(fastBeside, "Short flows are dropped above K.", fastFirst, "frames", "some",
		func(x float64) bool { return x > 0 })
	claim(fastBeside, "All that is dropped are first packets, which are not ECN-capable.",
		fastOther, "other frames", "0", func(x float64) bool { return x == 0 })
	before, _ := meanOf(found, fastBeside, fastBefore)
	claim(fastBeside, "Flows already there are not disturbed.", fastDuring, "Gb/s",
		fmt.Sprintf("less by 5 %% at most than the %.2f Gb/s before; short flows bring 2 %%",
			before), func(x float64) bool { return x >= 0.95*before })
	for _, of := range []struct{ name, unit string }{{fastRates, "Gb/s"}, {ldcpQueue, "KB"}} {
		fig := suite.Figure{Title: "Short flows beside two: " + of.name,
			X: suite.Axis{Label: "time", Unit: "ms"}, Y: suite.Axis{Label: of.name, Unit: of.unit},
			Curves: curves(named(found, fastBeside)[0], of.name)}
		v.Figures = append(v.Figures, fig)
	}
	v.Notes = append(ldcpNotes(), "A short flow is 48 packets, all in its initial window. "+
		"They fill the queue up to K = K_max, where every packet of the long flows is marked: "+
		"so they give up more than what the short flow takes.")
	for _, k := range fastThresholds {
		if some := named(found, fastBesideK(k)); len(some) > 0 {
			n := some[0].Numbers
			v.Notes = append(v.Notes, fmt.Sprintf("With K = %d KB the long flows have %.2f of "+
				"%.2f Gb/s during, and the median completion is %.1f us.", k/unit.KB, n[fastDuring],
				n[fastBefore], n[fastMedian]))
		}
	}
	return v
}
