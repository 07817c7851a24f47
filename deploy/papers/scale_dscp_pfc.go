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

func scaleDSCPPFC() suite.Experiment {
	return suite.Experiment{
		ID: "scale-dscp-pfc", Paper: atScale, Where: "section 3, figure 3", Modes: both, Seeds: 1,
		Title: "Packets that carry their priority as DSCP, on untagged ports, pause this " +
			"priority and no other; so do frames that carry it in their VLAN tag.",
		Cells: priorityCells, Judge: judgePriority,
	}
}

// carrier is where a frame says which priority it has.
type carrier string

const (
	byDSCP carrier = "DSCP" // DSCP i is priority i, as in the paper
	byPCP  carrier = "PCP"  // in a VLAN tag; the DSCP is always 26
	// manyToOne has four DSCPs for one priority: "can even be many-to-one".
	manyToOne carrier = "many-to-one"
)

// priorityCase is a run: two hosts send to a third, and one priority is congested.
type priorityCase struct {
	by       carrier
	priority uint8
}

func (c priorityCase) String() string { return fmt.Sprintf("%s priority=%d", c.by, c.priority) }

func priorityCases(o suite.Options) (all []priorityCase) {
	for _, by := range []carrier{byDSCP, byPCP} {
		for i := range uint8(8) {
			if o.Mode == suite.Virtual || i == 3 || i == 5 {
				all = append(all, priorityCase{by, i})
			}
		}
	}
	return append(all, priorityCase{manyToOne, 4})
}

func priorityCells(o suite.Options) (cells []suite.Cell) {
	for _, c := range priorityCases(o) {
		cells = append(cells, run(c.String(), c.scenario, c.measure))
	}
	return cells
}

// codePoints are DSCPs of the many-to-one map, among them those of RFC 4594 for bulk and for video.
var codePoints = []uint8{10, 18, 26, 34}

// lossy is the one priority that is not lossless while another is looked at: what is flooded must
// travel in such a one. A switch with 12 MB could not give the other seven headroom on 32 ports
// over 300 m (section 2), but on three ports over 2 m it can.
func (c priorityCase) lossy() uint8 { return (c.priority + 4) % 8 }

func (c priorityCase) lossless() (all []uint8) {
	for i := range uint8(8) {
		if i != c.lossy() {
			all = append(all, i)
		}
	}
	return all
}

func (c priorityCase) scenario() *scenario.Scenario {
	t := fabric.Star("priority", 3, scaleLinks)
	t.NIC.CC.Algorithm = "none"
	t.NIC.PFCEnable, t.Switch.PFCEnable = c.lossless(), c.lossless()
	t.Switch.FloodTC, t.Switch.RouterTC = c.lossy(), c.lossy()
	p := &t.Switch.Lossless
	p.DynamicTh, p.StaticTh = nil, 40*unit.KB // so that a millisecond is enough for many pauses
	dscps := []uint8{c.priority}
	switch c.by {
	case byDSCP:
		for i := range uint8(8) {
			t.NIC.DSCPToTCMap[i], t.Switch.DSCPToTC[i] = i, i
		}
	case byPCP:
		// What the switch would make of the DSCP is another priority, so that it cannot be right by
		// chance.
		dscps[0] = 26
		t.NIC.VLAN, t.Switch.Trust = 100, "pcp"
		t.NIC.DSCPToTCMap[26], t.Switch.DSCPToTC[26] = c.priority, (c.priority+1)%8
	case manyToOne:
		dscps = codePoints
		for _, dscp := range codePoints {
			t.NIC.DSCPToTCMap[dscp], t.Switch.DSCPToTC[dscp] = c.priority, c.priority
		}
	}
	s := &scenario.Scenario{Topology: t, Duration: time.Millisecond,
		Interval: 50 * time.Microsecond}
	for _, from := range []string{"h1", "h2"} {
		for _, dscp := range dscps {
			s.Flows = append(s.Flows, scenario.Flow{From: from, To: "h3", DSCP: &dscp,
				FlowRequest: nicd.FlowRequest{Name: fmt.Sprintf("%s DSCP %d", from, dscp)}})
		}
	}
	return s
}

// measure counts the pause frames to the senders, those of the right priority and all others, and
// for how long the senders obeyed.
func (c priorityCase) measure(r *scenario.Run, out *suite.Outcome) {
	n := out.Numbers
	for i, host := range []string{"h1", "h2"} {
		p := r.Port("sw0", fmt.Sprintf("swp%d", i+1))
		for priority, frames := range p.PFCSent {
			if priority == int(c.priority) {
				n["right"] += float64(frames)
			} else {
				n["other"] += float64(frames)
			}
		}
		n["paused us"] += float64(r.NIC(host).PausedNs) / 1e3
	}
	for _, dropped := range r.Dropped() {
		n["dropped"] += float64(dropped)
	}
	for i := range r.Flows {
		n["goodput"] += r.Goodput(i)
	}
}

func judgePriority(o suite.Options, found []suite.Outcome) (v suite.Verdict) {
	texts := map[carrier]string{
		byDSCP:    "untagged, DSCP i is priority i: pauses are of priority i alone",
		byPCP:     "tagged, PCP i is priority i: pauses are of priority i alone",
		manyToOne: "four DSCPs are mapped to one priority: pauses are of this one alone"}
	fig := suite.Figure{Title: "Pause frames that the senders of a priority received in 1 ms",
		X: suite.Axis{Label: "priority"}, Y: suite.Axis{Label: "pause frames"}}
	for _, by := range []carrier{byDSCP, byPCP, manyToOne} {
		good, all, pauses, dropped := 0, 0, 0.0, 0.0
		curve := suite.Curve{Name: string(by), Kind: suite.Points, From: suite.Ours}
		for _, c := range priorityCases(o) {
			if c.by != by {
				continue
			}
			n := byCell(found, c.String()).Numbers
			if all++; n["right"] > 0 && n["paused us"] > 0 && n["other"] == 0 && n["dropped"] == 0 {
				good++
			}
			pauses += n["right"]
			dropped += n["dropped"]
			add(&curve, float64(c.priority), n["right"])
		}
		fig.Curves = append(fig.Curves, curve)
		v.Claims = append(v.Claims, suite.Claim{Text: texts[by], Ours: float64(good),
			Unit: "priorities", Rule: fmt.Sprintf("%d: paused, no other was, nothing lost", all),
			Holds: good == all})
		v.Notes = append(v.Notes, fmt.Sprintf("%s: %.0f pause frames of the right priority, "+
			"%.0f packets dropped.", by, pauses, dropped))
	}
	v.Figures = []suite.Figure{fig}
	return v
}
