package papers

import (
	"fmt"
	"strings"
	"time"

	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/roce/qp"
)

// livelockVerbs are the three experiments of section 4.1: A SENDs, A WRITEs, B READs.
var livelockVerbs = []string{"send", "write", "read"}

// livelockMessage is 4 MB, which the paper says are 4000 packets.
const livelockMessage = 4 << 20

func scaleLivelock() suite.Experiment {
	return suite.Experiment{
		ID: "scale-livelock", Paper: atScale, Where: "section 4.1", Modes: both, Seeds: 1,
		Title: "Messages of 4 MB through a switch that drops every packet whose IP ID ends in " +
			"0xff: go-back-0 makes no progress at full link use, go-back-N does.",
		Cells: livelockCells, Judge: judgeLivelock,
	}
}

// livelockCase is a run: what is sent again after a loss, and how. The timeout is the QP's, in the
// steps of the verbs; 0 is the default's.
type livelockCase struct {
	recovery qp.Recovery
	verb     string
	timeout  uint8
}

func (c livelockCase) String() string {
	if c.timeout != 0 {
		return fmt.Sprintf("%v %s timeout=%d", c.recovery, c.verb, c.timeout)
	}
	return fmt.Sprintf("%v %s", c.recovery, c.verb)
}

// livelockCases are the paper's three for each recovery, and READs again with a timeout of 1 ms
// (4.096 us x 2^8): READ requests are dropped, too, and nothing but a timeout repeats those.
func livelockCases() (all []livelockCase) {
	for _, recovery := range []qp.Recovery{qp.GoBack0, qp.GoBackN} {
		for _, verb := range livelockVerbs {
			all = append(all, livelockCase{recovery: recovery, verb: verb})
		}
		all = append(all, livelockCase{recovery, "read", 8})
	}
	return all
}

func livelockCells(o suite.Options) (cells []suite.Cell) {
	d := times(o, 200*time.Millisecond, 5*time.Millisecond)
	if o.Short {
		d = 20 * time.Millisecond
	}
	for _, c := range livelockCases() {
		cells = append(cells, run(c.String(),
			func() *scenario.Scenario { return livelock(c, d) },
			func(r *scenario.Run, out *suite.Outcome) {
				messages := float64(r.Flow(0).Messages)
				out.Numbers["goodput"] = messages * livelockMessage * 8 / d.Seconds()
				out.Numbers["messages"] = messages
				out.Numbers["utilisation"] = r.Utilisation(0)
			}))
	}
	return cells
}

// livelock is two servers on a switch: h1 is the paper's A, from which all data comes, h2 its B.
// Nothing is congested, so congestion control is off.
func livelock(c livelockCase, d time.Duration) *scenario.Scenario {
	t := fabric.Star("livelock", 2, scaleLinks)
	t.NIC.CC.Algorithm, t.NIC.QP.Recovery = "none", &c.recovery
	if c.timeout != 0 {
		t.NIC.QP.Timeout = c.timeout
	}
	for _, port := range []string{"sw0:swp1", "sw0:swp2"} {
		t.Faults = append(t.Faults, planned(port+" drop ipid 0xff"))
	}
	f := scenario.Flow{From: "h1", To: "h2", FlowRequest: nicd.FlowRequest{Verb: c.verb,
		MessageBytes: livelockMessage}}
	if c.verb == "read" {
		f.From, f.To = "h2", "h1"
	}
	return &scenario.Scenario{Topology: t, Flows: []scenario.Flow{f}, Duration: d,
		Queues:   []scenario.Queue{{Switch: "sw0", Port: "swp2", Queue: scenario.DataQueue}},
		Interval: d / 20}
}

func judgeLivelock(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	var goodput, use [2]suite.Curve // by recovery
	x := suite.Axis{}
	for _, c := range livelockCases() {
		o := byCell(found, c.String())
		rate, share := o.Numbers["goodput"]/1e9, 100*o.Numbers["utilisation"]
		if c.recovery == qp.GoBack0 {
			v.Claims = append(v.Claims, suite.Claim{
				Text:  c.String() + ": the application makes no progress",
				Paper: "0", Ours: rate, Unit: "Gb/s", Rule: "no message completes",
				Holds: len(o.Numbers) > 0 && o.Numbers["messages"] == 0,
			}, suite.Claim{
				Text:  c.String() + ": the link is fully utilised all the same",
				Paper: "line rate", Ours: share, Unit: "%", Rule: "> 95 %", Holds: share > 95})
			x.Names = append(x.Names, strings.TrimPrefix(c.String(), "go_back_0 "))
		} else {
			v.Claims = append(v.Claims, suite.Claim{Text: c.String() + ": it makes progress",
				Ours: rate, Unit: "Gb/s", Rule: "> 0", Holds: rate > 0})
			v.Notes = append(v.Notes, fmt.Sprintf("%v uses %.1f %% of the link.", c, share))
		}
		at := float64(len(goodput[c.recovery].X))
		add(&goodput[c.recovery], at, rate)
		add(&use[c.recovery], at, share)
	}
	v.Figures = []suite.Figure{
		livelockFigure("goodput", "Gb/s", x, goodput),
		livelockFigure("use of the link", "%", x, use),
	}
	v.Notes = append(v.Notes,
		"What waits for a timeout leaves the link idle. The switch drops what its rule says of "+
			"both directions, so of READ requests, of NAKs and of what is sent again one in 256 "+
			"is lost as well, and only the timeout repeats those. The paper gives no timeout; "+
			"ours is 67 ms, perftest's default. By go-back-0 a READ is asked for again after at "+
			"most 256 packets, which is 57 us, so every 15 ms a request is lost and the link "+
			"idles for most of 67 ms. With a timeout of 1 ms (timeout=8) it does not idle, "+
			"because the answers to the other READs that were asked for last longer.")
	return v
}

// add puts a point at the end of a curve.
func add(c *suite.Curve, x, y float64) { c.X, c.Y = append(c.X, x), append(c.Y, y) }

func livelockFigure(of, unit string, x suite.Axis, curves [2]suite.Curve) suite.Figure {
	f := suite.Figure{Title: "Section 4.1: " + of + ", one packet in 256 dropped", X: x,
		Y: suite.Axis{Label: of, Unit: unit}}
	for recovery, c := range curves {
		c.Name, c.Kind, c.From = qp.Recovery(recovery).String(), suite.Bars, suite.Ours
		f.Curves = append(f.Curves, c)
	}
	return f
}
