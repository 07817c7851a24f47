package papers

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
)

// plusHosts send in the large incasts of [DCQCN+] section 6.3.
const plusHosts = 8

// plusTable is [DCQCN+] figure 9 or 10, by plusFlows.
type plusTable struct {
	buffer  []float64 // the maximum after 5 s, KB
	latency []float64 // the average, us
}

var (
	plusFlows   = []float64{80, 160, 240, 320, 400, 480, 560, 640, 720}
	plusFigure9 = plusTable{
		[]float64{130.1, 168.4, 195.4, 267.4, 388.9, 591.4, 858.0, 1200, 5100},
		[]float64{24.8, 31.8, 32.9, 33.7, 39.7, 63.8, 74.0, 103.8, 1792.8}}
	plusFigure10 = plusTable{
		[]float64{189.0, 191.2, 122.6, 117.9, 130.5, 169.9, 211.5, 230.6, 681.8},
		[]float64{27.2, 31.1, 29.9, 30.0, 30.2, 30.4, 32.0, 31.7, 57.0}}
)

// plusControls are the columns of the tables.
var plusControls = []plusControl{plusDCQCN, plusImitated, plusAdaptive}

// plusLargeIncast measures what is left in the buffer once many flows have had time to converge.
func plusLargeIncast() suite.Experiment {
	return suite.Experiment{ID: "plus-large-incast", Paper: dcqcnPlus, Where: "figures 9 to 12",
		Title: "Buffer and latency of incasts of 80 to 720 flows into 10 Gb/s.",
		Modes: []suite.Mode{suite.Virtual}, Seeds: 1,
		Shorter: "From 0.38 s for 80 flows to 1.02 s for 720, not 80 s; the last 0.2 s stand for " +
			"all that is later than 5 s. Flows need time to converge by their number, so a " +
			"buffer that is still full might be emptied later: in the thesis that of 720 flows " +
			"was not.",
		Cells: func(o suite.Options) (cells []suite.Cell) {
			o.Each(func(seed uint64) {
				for _, control := range plusControls {
					sizes := plusFlows
					if o.Short {
						sizes = sizes[:1]
					}
					for _, n := range sizes {
						cells = append(cells,
							plusIncast{control, plusHosts, int(n) / plusHosts, seed}.large())
					}
				}
				cells = append(cells, plusIncast{plusFastAlpha, plusHosts, 10, seed}.large())
			})
			return cells
		},
		Judge: judgePlusLarge,
	}
}

// Numbers and series of a cell.
const (
	plusBuffer  = "buffer"      // KB
	plusLatency = "latency"     // us
	plusUse     = "utilisation" // %
	plusSize    = "flows"
	plusQueue   = "queue" // KB over ms
)

// plusMeasured is the end of a run, that is measured.
const plusMeasured = 200 * time.Millisecond

// length is how long an incast runs: until all have begun, and a millisecond a flow to converge.
func (p plusIncast) length() time.Duration {
	return plusMeasured + plusSpread + time.Duration(p.flows())*time.Millisecond
}

func (p plusIncast) large() suite.Cell {
	name := fmt.Sprintf("%s, flows=%d seed=%d", p.control.name, p.flows(), p.seed)
	var end switchd.State
	return run(name, func() *scenario.Scenario {
		s := p.scenario(plusSpread)
		s.Duration, s.Interval = p.length(), 5*time.Millisecond
		s.Warmup = s.Duration - plusMeasured
		// ib_send_lat says half of the time that two bytes take there and back.
		for i := range p.hosts {
			s.Flows = append(s.Flows, scenario.Flow{From: fmt.Sprintf("h%d", i+1), To: p.receiver(),
				FlowRequest: nicd.FlowRequest{Name: fmt.Sprintf("latency %d", i+1), Verb: "send",
					MessageBytes: 2, Depth: 1, StartNs: s.Warmup.Nanoseconds()}})
		}
		s.Probes = []scenario.Probe{{At: s.Warmup, Look: clearWatermarks},
			{At: s.Duration, Look: readState(&end)}}
		return s
	}, func(r *scenario.Run, out *suite.Outcome) {
		var times []float64
		for i := p.flows(); i < len(r.Flows); i++ {
			times = append(times, float64(r.Flow(i).MCT.MeanNs)/2e3)
		}
		out.Numbers[plusBuffer] = float64(end.Ports[p.hosts].Queues[scenario.DataQueue].
			Watermark) / 1e3
		out.Numbers[plusLatency] = average(times)
		out.Numbers[plusUse] = 100 * r.Utilisation(0)
		out.Numbers[plusShares] = p.evenness(r)
		out.Numbers[plusSize] = float64(p.flows())
		out.Series[plusQueue] = over(r, scaled(r.QueueBytes(0), 1e-3))
	})
}

// readState reads all that a switch sw0 tells of itself.
func readState(to *switchd.State) func(context.Context, func(string) daemon.Caller) error {
	return func(ctx context.Context, node func(string) daemon.Caller) error {
		return node("sw0").Call(ctx, http.MethodGet, "/v1/state", nil, to)
	}
}

// clearWatermarks lets the maxima of a switch sw0 begin anew.
func clearWatermarks(ctx context.Context, node func(string) daemon.Caller) error {
	return node("sw0").Call(ctx, http.MethodPost, "/v1/watermarks/clear",
		switchd.ClearWatermarksRequest{Kind: "user", Object: "queue"}, nil)
}
