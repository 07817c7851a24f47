package papers

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/switchd"
)

func scaleSlowReceiver() suite.Experiment {
	return suite.Experiment{
		ID: "scale-slow-receiver", Paper: atScale, Where: "section 4.4", Modes: both, Seeds: 1,
		Title: "A receiver whose translation table misses pauses its switch; pages of 2 MB and " +
			"dynamic buffer sharing cut the pauses.",
		Shorter: "Pause frames are counted for 40 ms (3 ms on real frames) and told by second.",
		Cells:   slowCells, Judge: judgeSlow,
	}
}

// slowCase is one of the four combinations.
type slowCase struct {
	page    unit.Bytes
	dynamic bool
}

func (c slowCase) String() string {
	buffer, page := "static", "4 KB"
	if c.dynamic {
		buffer = "dynamic"
	}
	if c.page == nic.LargePage {
		page = "2 MB"
	}
	return fmt.Sprintf("%s pages, %s buffer", page, buffer)
}

var slowCases = []slowCase{{nic.SmallPage, false}, {nic.SmallPage, true}, {nic.LargePage, false},
	{nic.LargePage, true}}

const (
	// slowSpan is what each of two senders writes into, in turn: twice what the table translates.
	slowSpan = 2 * nic.PaperMTTEntries * int(nic.SmallPage)
	// missCost is what a miss costs. The paper gives none. 4 KB take 0.9 us at 40 Gb/s, so whatever
	// makes a slow receiver of a NIC is more, and this is about the least of that.
	missCost = time.Microsecond
	// staticShare is a static limit that lets 32 ports with 8 priorities have headroom for each:
	// [DCQCN] section 4.
	staticShare = 24_470
)

func slowCells(o suite.Options) (cells []suite.Cell) {
	warm, d := 10*time.Millisecond, 50*time.Millisecond
	if o.Mode == suite.Real || o.Short {
		warm, d = 5*time.Millisecond, 8*time.Millisecond // 16 MB have been written at least once
	}
	for _, c := range slowCases {
		cells = append(cells, run(c.String(),
			func() *scenario.Scenario { return slow(c, warm, d) },
			func(r *scenario.Run, out *suite.Outcome) {
				out.Numbers["by NIC"] = r.CountedPerSecond("sw0", switchd.ColumnPFCReceived)
				out.Numbers["by switch"] = r.CountedPerSecond("sw0", switchd.ColumnPFCSent)
				out.Numbers["goodput"] = r.Goodput(0) + r.Goodput(1)
			}))
	}
	return cells
}

// slow is two senders and the receiver on a switch, with DCQCN, as in the paper's network.
func slow(c slowCase, warm, d time.Duration) *scenario.Scenario {
	t := fabric.Star("slow", 3, scaleLinks)
	receiveSide(&t.NIC.Receive)
	t.NIC.Receive.MTT = nicd.MTTConfig{Entries: nic.PaperMTTEntries, PageSize: c.page,
		MissCost: missCost}
	p := &t.Switch.Lossless
	if c.dynamic {
		*p.DynamicTh = paperAlpha
	} else {
		p.DynamicTh, p.StaticTh = nil, staticShare
	}
	return &scenario.Scenario{Topology: t, Duration: d, Warmup: warm,
		Interval: 100 * time.Microsecond,
		Flows: scenario.Many("h3", nicd.FlowRequest{MessageBytes: 64 << 10, Depth: 32,
			SpanBytes: slowSpan}, "h1", "h2")}
}

func judgeSlow(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	byNIC := suite.Curve{Name: "from the receiver", Kind: suite.Bars, From: suite.Ours}
	bySwitch := suite.Curve{Name: "from the switch to the senders", Kind: suite.Bars,
		From: suite.Ours}
	fig := suite.Figure{Title: "Section 4.4: pause frames", X: suite.Axis{},
		Y: suite.Axis{Label: "pause frames", Unit: "1/s"}}
	var n [4]map[string]float64
	ran := true
	for i, c := range slowCases {
		n[i] = byCell(found, c.String()).Numbers
		ran = ran && len(n[i]) > 0
		fig.X.Names = append(fig.X.Names, c.String())
		add(&byNIC, float64(i), n[i]["by NIC"])
		add(&bySwitch, float64(i), n[i]["by switch"])
		v.Notes = append(v.Notes, fmt.Sprintf("%v: %.0f pause frames a second from the receiver, "+
			"%.0f from the switch, %.1f Gb/s.", c, n[i]["by NIC"], n[i]["by switch"],
			n[i]["goodput"]/1e9))
	}
	fig.Curves = []suite.Curve{byNIC, bySwitch}
	v.Figures = []suite.Figure{fig}
	small, large := n[0]["by NIC"], n[2]["by NIC"]
	static, dynamic := n[0]["by switch"], n[1]["by switch"]
	v.Claims = []suite.Claim{
		{Text: "a receiver that misses pauses its switch (4 KB pages)",
			Paper: "up to thousands per second", Ours: small, Unit: "pause frames/s",
			Rule: ">= 1000", Holds: small >= 1000},
		{Text: "with pages of 2 MB it pauses less", Ours: large, Unit: "pause frames/s",
			Rule: fmt.Sprintf("< %.0f, with 4 KB", small), Holds: ran && large < small},
		{Text: "dynamic buffer sharing cuts the pauses that the switch propagates (4 KB pages)",
			Ours: dynamic, Unit: "pause frames/s", Rule: fmt.Sprintf("< %.0f, static", static),
			Holds: ran && dynamic < static},
	}
	v.Notes = append(v.Notes, fmt.Sprintf("The paper gives neither the cost of a miss nor its "+
		"static reservation. With %v a miss, a table that always misses receives at 32.8 Gb/s; "+
		"with less than 0.9 us it would keep up with the link and never pause. Static is %d bytes "+
		"for a port's priority ([DCQCN] section 4), dynamic is alpha = 1/16 (section 6.2).",
		missCost, staticShare))
	return v
}
