package experiments

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
)

// load is traffic on the testbed of [DCQCN] figure 2 with five hosts on each ToR.
type load struct {
	name  string
	flows func() []scenario.Flow
}

var loads = []load{
	{"8:1", func() []scenario.Flow {
		return scenario.Many("h4-5", nicd.FlowRequest{}, "h1-1", "h1-2", "h1-3", "h2-1", "h2-2",
			"h3-1", "h3-2", "h4-1")
	}},
	// Every host sends to the one of its number on the next ToR: 20 flows through the whole
	// fabric.
	{"permutation", func() (flows []scenario.Flow) {
		for tor := range 4 {
			for host := 1; host <= 5; host++ {
				flows = append(flows, scenario.Flow{From: fmt.Sprintf("h%d-%d", tor+1, host),
					To: fmt.Sprintf("h%d-%d", (tor+1)%4+1, host)})
			}
		}
		return flows
	}},
}

// fabricRow runs a load with an algorithm and prints what the fabric came to.
func fabricRow(t *testing.T, w *tabwriter.Writer, algorithm string, l load) {
	top := fabric.Testbed("golden", 5, fabric.Links{Rate: 40 * unit.GbPerSecond,
		Delay: time.Microsecond})
	top.Seed, top.NIC.CC.Algorithm = 1, algorithm
	switch algorithm {
	case "none":
		top.Switch.WRED.ECN = "ecn_none" // nobody would listen
	case "hpcc":
		top.Switch.Telemetry.Queues = []uint8{scenario.DataQueue}
	case "qcn":
		top.Switch.QCN.Queues = []uint8{scenario.DataQueue}
	}
	s := &scenario.Scenario{Topology: top, Flows: l.flows(), Duration: 2 * time.Millisecond,
		Warmup: 500 * time.Microsecond, Interval: 100 * time.Microsecond}
	r, err := s.Virtual(t.Context(), nil)
	if err != nil {
		t.Fatalf("%s, %s: %v", algorithm, l.name, err)
	}
	rates := r.Goodputs()
	var sum, longest float64
	for _, g := range rates {
		sum += g
	}
	var pfc, marks, drops uint64
	for _, n := range top.Nodes {
		if n.Kind != lab.Switch {
			continue
		}
		sent, _ := r.PFC(n.Name)
		pfc += sent
		for _, p := range r.Ports(n.Name) {
			q := p.Queues[scenario.DataQueue]
			marks += q.MarkedPackets
			longest = max(longest, q.Length.MaxBytes)
		}
	}
	for _, frames := range r.Dropped() {
		drops += frames
	}
	fmt.Fprintf(w, "%s\t%s\t%.2f\t%.2f\t%.4f\t%.0f\t%d\t%d\t%d\t%s\n", l.name, algorithm, sum/1e9,
		suite.Quantile(rates, 0)/1e9, suite.Jain(rates), longest/1e3, pfc, marks, drops,
		r.Hash[:8])
}

// TestFabric: what the algorithms make of a whole fabric, in the numbers of 2 ms. Whoever changes
// an algorithm, a switch or a NIC sees here what that does, and says in the commit why.
func TestFabric(t *testing.T) {
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "load\talgorithm\tGb/s\tleast\tJain\tqueue KB\tPFC\tmarks\tdrops\thash\t")
	for _, l := range loads {
		for _, algorithm := range []string{"none", "dcqcn", "dcqcn_plus", "dctcp", "hpcc", "ldcp",
			"ldcp_probe", "qcn", "swift", "timely"} {
			fabricRow(t, w, algorithm, l)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "fabric.txt"), table.String())
}
