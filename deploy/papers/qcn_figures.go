package papers

import (
	"fmt"
	"slices"
	"time"

	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
)

// qcnFigures are figures 8 to 13 of [QCN]: queue and utilisation while the service rate goes from
// 0.95 to 0.2 Gb/s and back, for 1 and 8 sources and three round-trip times.
func qcnFigures() (all []suite.Experiment) {
	figure := 8
	for _, sources := range []int{1, 8} {
		for _, us := range []int{100, 500, 1000} {
			f := qcnFigure{sources, time.Duration(us) * time.Microsecond, figure}
			all = append(all, f.experiment(fmt.Sprintf("qcn-%dx%d", sources, us)))
			figure++
		}
	}
	return all
}

// qcnFigure is one of them.
type qcnFigure struct {
	sources int
	rtt     time.Duration // between a source and the switch, there and back
	number  int
}

// The service rates of [QCN] section 4.1.
const (
	qcnFast = 950 * unit.MbPerSecond
	qcnSlow = 200 * unit.MbPerSecond
)

// qcnPhases are for how long the service rate is high, low, and high again. Figure 7.b, which
// would say how long the first and the last are, is not in the text.
type qcnPhases [3]time.Duration

func (p qcnPhases) end(phase int) (sum time.Duration) {
	for _, d := range p[:phase+1] {
		sum += d
	}
	return sum
}

// timing is how long a run is and how often it is looked at.
func (f qcnFigure) timing(o suite.Options) (p qcnPhases, interval time.Duration) {
	switch {
	case o.Mode == suite.Real:
		return qcnPhases{100 * time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond},
			time.Millisecond
	case o.Short:
		return qcnPhases{time.Second, time.Second, time.Second}, 5 * time.Millisecond
	}
	return qcnPhases{2 * time.Second, 3700 * time.Millisecond, 3300 * time.Millisecond},
		5 * time.Millisecond
}

func (f qcnFigure) experiment(id string) suite.Experiment {
	return suite.Experiment{ID: id, Paper: qcn, Where: fmt.Sprintf("figure %d", f.number),
		Title: fmt.Sprintf("Queue and utilisation with %s and an RTT of %v while the service rate "+
			"drops from 0.95 to 0.2 Gb/s and rises again.", plural(f.sources, "source"), f.rtt),
		Modes: []suite.Mode{suite.Virtual, suite.Real}, Seeds: 3, RealSeeds: 1,
		Shorter: "On real frames the service rate is low for 0.1 s, not 3.7 s, as long as it is " +
			"high before and after: too short to settle, so that only the match with virtual " +
			"time is judged there.",
		Cells: func(o suite.Options) (cells []suite.Cell) {
			o.Each(func(seed uint64) {
				cells = append(cells, f.cell(o, seed))
			})
			return cells
		},
		Judge: f.judge,
	}
}

// plural is "1 source" or "8 sources".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// scenario is the setup of [QCN] section 4.1.
func (f qcnFigure) scenario(p qcnPhases, interval time.Duration, seed uint64) *scenario.Scenario {
	t := fabric.Star("qcn", f.sources+1, fabric.Links{Rate: unit.GbPerSecond, Delay: f.rtt / 2})
	// The rate limiter of the switch is the wire to the receiver.
	out := &t.Links[f.sources]
	out.Rate = qcnFast
	t.Faults = []lab.Fault{{At: p.end(0), For: p[1], Port: out.Endpoints[1],
		Fault: fault.Spec{Kind: fault.Rate, Rate: qcnSlow}}}
	t.Seed = seed
	// "Output Queue of size 150KB ..., after which packets get dropped": there is no PFC yet.
	t.NIC.PFCEnable, t.Switch.PFCEnable = []uint8{}, []uint8{}
	t.Switch.Lossy = switchd.BufferProfile{StaticTh: 150 * unit.KB}
	t.Switch.QCN.Queues = []uint8{scenario.DataQueue}
	t.NIC.CC = nicd.CCConfig{Algorithm: "qcn", Preset: "netfpga"}
	// Sources of a byte each 16 us wait long for an acknowledgement of 64 packets: 2^20 4.096 us
	// are 4.3 s.
	t.NIC.QP.Timeout = 20
	var from []string
	for i := range f.sources {
		from = append(from, fmt.Sprintf("h%d", i+1))
	}
	return &scenario.Scenario{Topology: t,
		Flows: scenario.Many(out.Endpoints[0].Node, nicd.FlowRequest{}, from...),
		Queues: []scenario.Queue{{Switch: "sw0", Port: out.Endpoints[1].Device,
			Queue: scenario.DataQueue}},
		Duration: p.end(2), Interval: interval}
}

// The series of a cell, and its numbers by phase.
const (
	qcnQueue = "queue"
	qcnUse   = "utilisation"
	qcnLost  = "lost"
	qcnLast  = "last loss" // ms since its phase began
)

func qcnNumber(what string, phase int) string { return fmt.Sprintf("%s %d", what, phase) }

func (f qcnFigure) cell(o suite.Options, seed uint64) suite.Cell {
	p, interval := f.timing(o)
	return run(fmt.Sprintf("seed=%d", seed), func() *scenario.Scenario {
		return f.scenario(p, interval, seed)
	}, func(r *scenario.Run, out *suite.Outcome) {
		out.Series[qcnQueue], out.Series[qcnUse] = f.series(r, p)
		if r.Twin != nil {
			out.Series[twin(qcnQueue)], out.Series[twin(qcnUse)] = f.series(r.Twin, p)
		}
		lost := r.Counted("sw0", switchd.ColumnDropped)
		out.Numbers[qcnLast] = 0
		for phase := range p {
			// Each phase is judged by its second half, when what it begins with is over.
			end := int(p.end(phase) / interval)
			settled := end - int(p[phase]/2/interval)
			mean := func(of string) float64 { return average(out.Series[of].Y[settled:end]) }
			out.Numbers[qcnNumber(qcnQueue, phase)] = mean(qcnQueue)
			out.Numbers[qcnNumber(qcnUse, phase)] = mean(qcnUse)
			begin := int((p.end(phase) - p[phase]) / interval)
			for i, n := range lost[begin:end] {
				out.Numbers[qcnNumber(qcnLost, phase)] += n
				if n > 0 {
					out.Numbers[qcnLast] = max(out.Numbers[qcnLast],
						float64(i+1)*interval.Seconds()*1e3)
				}
			}
		}
	})
}

// series are the queue in KB and the utilisation of the service rate in percent, over seconds.
func (f qcnFigure) series(r *scenario.Run, p qcnPhases) (queue, use suite.Series) {
	x := r.Times()
	queue = suite.Series{X: x, Y: scaled(r.QueueBytes(0), 1e-3)}
	use = suite.Series{X: x, Y: r.LineRates(0)}
	for i, at := range x {
		rate := qcnFast
		if at > p.end(0).Seconds() && at <= p.end(1).Seconds() {
			rate = qcnSlow
		}
		use.Y[i] *= 100 / float64(rate)
	}
	return queue, use
}

var qcnPhaseNames = [...]string{"at 0.95 Gb/s", "at 0.2 Gb/s", "at 0.95 Gb/s again"}

func (f qcnFigure) judge(o suite.Options, found []suite.Outcome) (v suite.Verdict) {
	v.Figures = f.figures(found[0])
	if c := found[0].Certificate; c != nil {
		v.Claims = []suite.Claim{{Text: "The hardware (real frames) matches the simulation " +
			"(virtual time).", Paper: "closely match", Ours: failedChecks(c),
			Unit: "failed checks", Rule: "the certificate is VALID: no value differs",
			Holds: c.Valid}}
		return v
	}
	for phase := range qcnPhaseNames {
		v.Claims = append(v.Claims, judgeQCNPhase(found, phase)...)
	}
	v.Notes = qcnNotes(found)
	return v
}

func judgeQCNPhase(found []suite.Outcome, phase int) []suite.Claim {
	of := func(what string) (float64, *[2]float64) {
		return suite.Interval(numbers(found, qcnNumber(what, phase)))
	}
	name := qcnPhaseNames[phase]
	queue, queueCI := of(qcnQueue)
	use, useCI := of(qcnUse)
	lost, lostCI := of(qcnLost)
	return []suite.Claim{
		{Text: "The queue is held at Qeq " + name + ".", Paper: "33 KB", Ours: queue, Unit: "KB",
			Interval: queueCI, Holds: queue > 16.5 && queue < 49.5,
			Rule: "mean over the second half of the phase within a half of Qeq"},
		{Text: "The service rate is in use " + name + ".", Ours: use, Unit: "%", Interval: useCI,
			Rule: "above 95 % over the second half of the phase", Holds: use > 95},
		{Text: "Nothing is lost " + name + ".", Ours: lost, Unit: "frames", Interval: lostCI,
			Rule: "0 in the whole phase", Holds: lost == 0},
	}
}

// qcnNotes say why frames are lost.
func qcnNotes(found []suite.Outcome) []string {
	notes := []string{
		"Sources repeat from the first lost frame on, where the paper's generators of UDP go on.",
		"The text does not tell the size of the paper's frames; ours have 1,082 bytes.",
	}
	if last := slices.Max(numbers(found, qcnLast)); last > 0 {
		notes = append(notes, fmt.Sprintf("The last loss is %.0f ms behind the start or a "+
			"change of the service rate.", last))
	}
	if sum(numbers(found, qcnNumber(qcnLost, 1))) > 0 {
		notes = append(notes, "A message takes at most a half, so that from 0.95 to 0.2 "+
			"Gb/s there must be three to a source. The 117 KB between Qeq and the end of the "+
			"buffer are full in 1.25 ms, in which 148 KB arrive: less than the 150 KB between "+
			"two samples of table 1. The paper has the same buffer and the same table, and "+
			"does not say that it loses nothing.")
	}
	return notes
}

// figures are drawn one above the other in the paper.
func (f qcnFigure) figures(o suite.Outcome) (all []suite.Figure) {
	for _, of := range []struct{ name, unit string }{{qcnQueue, "KB"}, {qcnUse, "%"}} {
		all = append(all, suite.Figure{
			Title: fmt.Sprintf("Figure %d: %s", f.number, of.name),
			X:     suite.Axis{Label: "time", Unit: "s"},
			Y:     suite.Axis{Label: of.name, Unit: of.unit}, Curves: curves(o, of.name)})
	}
	return all
}
