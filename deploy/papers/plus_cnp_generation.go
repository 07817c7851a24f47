package papers

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
)

// cnpMakers are the NICs of [DCQCN+] section 6.1, and our own.
var cnpMakers = []struct {
	personality, text, paper string
	want                     float64 // us
}{
	{"connectx4", "ConnectX-4 makes a CNP each microsecond.", "1 us", 1},
	{"connectx5", "ConnectX-5 makes three.", "0.33 us", 0.333},
	{nicd.BookPersonality, "Ours makes one for each marked packet.", "", cnpPacket},
}

// cnpPacket is the time of a packet at 10 Gb/s, in us: 256 bytes of payload, 58 of headers and
// ICRC, 24 of FCS, preamble and gap.
const cnpPacket = (256 + 58 + 24) * 8 / 10e3

// plusCNPGeneration measures the time between CNPs when nothing holds them back.
func plusCNPGeneration() suite.Experiment {
	return suite.Experiment{ID: "plus-cnp-generation", Paper: dcqcnPlus, Where: "section 6.1",
		Title: "The interval between CNPs of a receiver with its least interval set to 0.",
		Modes: []suite.Mode{suite.Virtual, suite.Real}, Seeds: 1,
		Cells: func(suite.Options) (cells []suite.Cell) {
			for _, m := range cnpMakers {
				cells = append(cells, run(m.personality, func() *scenario.Scenario {
					return cnpScenario(m.personality)
				}, measureCNPs))
			}
			return cells
		},
		Judge: judgeCNPGeneration,
	}
}

// cnpScenario is 100 Gb/s into 10 Gb/s. What is marked for certain, behind 200 KB of queue, arrives
// from 160 us on.
func cnpScenario(personality string) *scenario.Scenario {
	t := fabric.Star("cnp", 2, fabric.Links{Rate: 100 * unit.GbPerSecond,
		Delay: time.Microsecond})
	t.Links[1].Rate = 10 * unit.GbPerSecond
	t.NIC.MTU = 256
	t.NIC.Personality.Name, t.NIC.CNPInterval = personality, new(time.Duration)
	return &scenario.Scenario{Topology: t, Flows: scenario.Many("h2", nicd.FlowRequest{}, "h1"),
		Duration: 300 * time.Microsecond, Interval: 10 * time.Nanosecond}
}

const (
	cnpInterval = "interval" // us, the median
	cnpCount    = "CNPs"
)

func measureCNPs(r *scenario.Run, out *suite.Outcome) {
	sent := r.Column("h2", nicd.ColumnCNPsSent)
	var times, gaps []float64 // us
	for i, at := range r.Times() {
		if i > 0 && sent[i] > sent[i-1] {
			times = append(times, at*1e6)
		}
	}
	for i := 1; i < len(times); i++ {
		gaps = append(gaps, times[i]-times[i-1])
	}
	if out.Numbers[cnpCount] = float64(len(times)); len(gaps) > 0 {
		out.Numbers[cnpInterval] = suite.Quantile(gaps, 0.5)
	}
	out.Series[cnpCount] = suite.Series{X: times, Y: counting(len(times))}
}

// counting is 1, 2, 3 ... n.
func counting(n int) (all []float64) {
	for i := range n {
		all = append(all, float64(i+1))
	}
	return all
}

func judgeCNPGeneration(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	fig := suite.Figure{Title: "Figure 5: CNPs", X: suite.Axis{Label: "time", Unit: "us"},
		Y: suite.Axis{Label: "CNPs sent"}}
	for i, m := range cnpMakers {
		us, there := found[i].Numbers[cnpInterval]
		v.Claims = append(v.Claims, suite.Claim{Text: m.text, Paper: m.paper, Ours: us, Unit: "us",
			Rule:  fmt.Sprintf("median interval %.3f us to the 10 ns of a sample", m.want),
			Holds: there && us >= m.want-0.0101 && us <= m.want+0.0101})
		fig.Curves = append(fig.Curves, suite.Curve{Name: m.personality, Kind: suite.Step,
			From: suite.Ours, Series: found[i].Series[cnpCount]})
	}
	v.Figures = []suite.Figure{fig}
	v.Notes = []string{
		"The spacing of the first two is the thesis's own number, put into their personalities: " +
			"they show that the model keeps it. The third is what our NIC does by itself.",
		"Packets have 256 bytes, not 1 KB: at 10 Gb/s a packet of 1 KB takes 0.9 us, so that one " +
			"CNP for each could not come three in a microsecond.",
	}
	return v
}
