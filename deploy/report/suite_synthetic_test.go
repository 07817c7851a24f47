package report

import (
	"fmt"
	"math"

	"github.com/rocelab/rocelab/deploy/result"
	"github.com/rocelab/rocelab/deploy/suite"
)

// syntheticSuite makes records of every kind: in one mode and in both, failed, not holding, with
// every kind of curve and axis.
func syntheticSuite() []*suite.Record {
	both, virtual := record("dcqcn-fairness", suite.Real), record("dcqcn-fairness", suite.Virtual)
	both.Certificates = []suite.Certified{
		{Cell: "seed=1", Certificate: result.Certificate{Valid: true},
			Clock: &result.Clock{Dilation: 24.2}},
		{Cell: "seed=2", Certificate: result.Certificate{Checks: []result.Check{
			{Name: "arrivals behind a decision", Value: "3", Limit: "0"}}},
			Clock: &result.Clock{Dilation: 31}},
	}
	both.Dilation = 30
	virtual.Figures = append(virtual.Figures, lossFigure(), namedFigure(), cdfFigure())
	failed := record("dcqcn-victim-flow", suite.Virtual)
	failed.Claims, failed.Figures = nil, nil
	failed.Errors = []string{"cell senders=2 seed=1: panic: a frame was released twice\n" +
		"goroutine 7"}
	return []*suite.Record{virtual, both, failed, record("qcn-1x100", suite.Virtual)}
}

func record(id string, m suite.Mode) *suite.Record {
	return &suite.Record{SchemaVersion: suite.RecordSchema, ID: id, Paper: "DCQCN",
		PaperTitle: "Zhu et al.: Congestion Control for Large-Scale RDMA Deployments. SIGCOMM 2015",
		Where:      "figure 8", Title: "Four flows to one receiver share its link.", Mode: m,
		Seeds: []uint64{1, 2, 3, 4, 5}, Cells: 10, Hash: "0123456789abcdef0123456789abcdef",
		Parameters: []result.Line{{Name: "link", Value: "40 Gb/s, 1 us"},
			{Name: "Kmin, Kmax, Pmax", Value: "5 KB, 200 KB, 1 %"}},
		Verdict: suite.Verdict{Claims: []suite.Claim{
			{Text: "The four flows share the link equally.", Paper: "equal shares", Ours: 0.9987,
				Interval: &[2]float64{0.9981, 0.9993}, Rule: "Jain index > 0.99", Holds: true},
			{Text: "Each flow gets a quarter of the link, with little variance over the seeds " +
				"and over time.", Paper: "10 Gb/s", Ours: 9.213, Unit: "Gb/s",
				Interval: &[2]float64{9.1, 9.326}, Rule: "10 Gb/s +- 5 %"},
			{Text: "Fast.", Ours: 6_023_912, Unit: "PAUSE frames", Rule: "> 6,000,000",
				Holds: true},
		}, Figures: []suite.Figure{ratesFigure(m)}, Notes: []string{
			"Payload is what is counted: of a link's 40 Gb/s headers leave 37.4 Gb/s."}},
		Shorter:    "0.1 s instead of 2 minutes; all flows have converged after 20 ms.",
		CPUSeconds: 83.2, RealSeconds: 84, Version: "v0.1.0 0123456789ab"}
}

func ratesFigure(m suite.Mode) suite.Figure {
	f := suite.Figure{Title: "Figure 8: throughput of the four flows",
		X: suite.Axis{Label: "time", Unit: "ms"}, Y: suite.Axis{Label: "throughput", Unit: "Gb/s"}}
	for flow := range 2 {
		c := suite.Curve{Name: fmt.Sprintf("H%d", flow+1), Kind: suite.Line, From: suite.Ours}
		fluid := suite.Curve{Name: c.Name, Kind: suite.Line, From: suite.Model}
		for i := range 2000 {
			x := float64(i) / 20
			share := 10 + 25*(0.5-float64(flow))*math.Exp(-x/20)
			noise := 0.6 * math.Sin(float64(i*i%97))
			if m == suite.Real {
				noise *= 1.5
			}
			c.X, c.Y = append(c.X, x), append(c.Y, share+noise)
			if i%50 == 0 {
				fluid.X, fluid.Y = append(fluid.X, x), append(fluid.Y, share+1)
				if m == suite.Virtual {
					continue
				}
			}
		}
		f.Curves = append(f.Curves, c, fluid)
	}
	return f
}

func lossFigure() suite.Figure {
	f := suite.Figure{Title: "Figure 21: goodput of go-back-N",
		X: suite.Axis{Label: "loss rate", Log: true},
		Y: suite.Axis{Label: "goodput", Unit: "Gb/s", Log: true}}
	ours := suite.Curve{Name: "go-back-N", Kind: suite.Points, From: suite.Ours}
	paper := suite.Curve{Name: "go-back-N", Kind: suite.Points, From: suite.Printed}
	model := suite.Curve{Name: "go-back-N", Kind: suite.Line, From: suite.Model}
	for e := -6.0; e <= -2; e += 0.5 {
		p := math.Pow(10, e)
		y := 38 / (1 + 3000*p)
		ours.X, ours.Y = append(ours.X, p), append(ours.Y, y)
		ours.Low, ours.High = append(ours.Low, y*0.8), append(ours.High, y*1.2)
		model.X, model.Y = append(model.X, p), append(model.Y, y*1.05)
		paper.X, paper.Y = append(paper.X, p), append(paper.Y, y*0.7)
	}
	f.Curves = []suite.Curve{ours, model, paper}
	return f
}

func namedFigure() suite.Figure {
	names := []string{"no DCQCN", "DCQCN without PFC", "DCQCN with thresholds that are wrong",
		"DCQCN"}
	at, y := []float64{0, 1, 2, 3}, []float64{1.1, 0, 2.2, 3.4}
	return suite.Figure{Title: "Figure 18: need for PFC", X: suite.Axis{Names: names},
		Y: suite.Axis{Label: "10th percentile", Unit: "Gb/s"}, Curves: []suite.Curve{
			{Name: "incast", Kind: suite.Bars, From: suite.Ours, Series: suite.Series{X: at, Y: y},
				Low: []float64{1, 0, 2, 3}, High: []float64{1.2, 0.1, 2.4, 3.8}},
			{Name: "incast", Kind: suite.Bars, From: suite.Twin, Series: suite.Series{X: at,
				Y: []float64{1, 0.2, 2, 3}}},
			{Name: "incast", Kind: suite.Bars, From: suite.Printed, Series: suite.Series{X: at,
				Y: []float64{1.12, 0, 2, 3.43}}},
		}}
}

func cdfFigure() suite.Figure {
	f := suite.Figure{Title: "Figure 19: queue", X: suite.Axis{Label: "queue", Unit: "KB"},
		Y: suite.Axis{Label: "part of the time below"}}
	for i, name := range []string{"DCQCN", "DCTCP"} {
		c := suite.Curve{Name: name, Kind: suite.Step, From: suite.Ours}
		band := suite.Curve{Name: name + ", all seeds", Kind: suite.Line, From: suite.Ours}
		for q := range 21 {
			x := float64(q * 10 * (1 + i))
			y := 1 - math.Exp(-float64(q)/6)
			c.X, c.Y = append(c.X, x), append(c.Y, y)
			band.X, band.Y = append(band.X, x), append(band.Y, y*y)
			band.Low, band.High = append(band.Low, y*y*0.9), append(band.High, y*y*1.05)
		}
		f.Curves = append(f.Curves, c, band)
	}
	return f
}
