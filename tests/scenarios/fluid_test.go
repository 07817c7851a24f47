package scenarios

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/app"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/fluid"
)

// The scenario of [DCQCN] figure 10: a second sender joins a first one 10 ms after it, and its rate
// is followed for 100 ms.
const (
	secondAt   = 10 * time.Millisecond
	followed   = 100 * time.Millisecond
	everyPoint = 100 * time.Microsecond
)

// joined is the rates of the second sender, R_C, by the packet engine.
func joined(t *testing.T, seed uint64) (rates []float64) {
	t.Helper()
	cfg := incast("dcqcn", 1<<20, seed)
	cfg.senders = 2
	s := newStar(t, cfg)
	v := newVirtual(t, s)
	s.start(t, v, func(i int, f *app.Flow) { f.Start = unit.Time(secondAt) * unit.Time(i) })
	for at := secondAt + everyPoint; at <= secondAt+followed; at += everyPoint {
		v.at(unit.Time(at), 1, func(unit.Time) {
			view, _ := s.hosts[1].NIC().View(s.flows[1].QPN)
			rates = append(rates, float64(view.Rate)/1e9)
		})
	}
	v.run(unit.Time(secondAt + followed))
	return rates
}

// modelled is the same by the fluid model, with the parameters of the reaction point and packets of
// the size that they take of the line.
func modelled(t *testing.T) (rates []float64) {
	t.Helper()
	point, err := cc.NewParams("dcqcn", "sigcomm15")
	if err != nil {
		t.Fatal(err)
	}
	p := fluid.Of(point.(*cc.DCQCNParams))
	p.Packet = 1106 // of a payload of 1024 bytes
	samples, err := fluid.Solve(p, []fluid.Flow{p.AtLineRate(0), p.AtLineRate(secondAt)},
		secondAt+followed, everyPoint)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		if s.At > secondAt {
			rates = append(rates, float64(s.Flows[1].Current)/1e9)
		}
	}
	return rates
}

// rms is the root of the mean squared difference.
func rms(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(sum / float64(len(a)))
}

// [DCQCN] 5.1: "the fluid model matches the implementation quite well". The model's curve over that
// of the packet engine, with three different dice for the marks, and over the mean of the three.
func TestFluidModelOverPackets(t *testing.T) {
	model := modelled(t)
	runs := [][]float64{joined(t, 1), joined(t, 2), joined(t, 3)}
	mean := make([]float64, len(model))
	for _, r := range runs {
		if len(r) != len(model) {
			t.Fatalf("%d points, the model has %d", len(r), len(model))
		}
		for i := range r {
			mean[i] += r[i] / float64(len(runs))
		}
	}
	var b strings.Builder
	b.WriteString("rate of the second sender, Gb/s: the fluid model, and packets by three dice\n")
	row := func(name string, values ...float64) {
		fmt.Fprintf(&b, "%-24s", name)
		for _, v := range values {
			fmt.Fprintf(&b, "%9.2f", v)
		}
		b.WriteString("\n")
	}
	for at := 5 * time.Millisecond; at <= followed; at += 5 * time.Millisecond {
		i := int(at/everyPoint) - 1
		row(fmt.Sprint("after ", at), model[i], runs[0][i], runs[1][i], runs[2][i])
	}
	half := len(model) / 2
	fmt.Fprintf(&b, "\nRMS difference from the model, Gb/s: single runs, their mean\n")
	whole, late := rms(mean, model), rms(mean[half:], model[half:])
	row("100 ms", rms(runs[0], model), rms(runs[1], model), rms(runs[2], model), whole)
	row("the last 50 ms", rms(runs[0][half:], model[half:]), rms(runs[1][half:], model[half:]),
		rms(runs[2][half:], model[half:]), late)
	golden(t, "testdata/fluid.txt", b.String())
	// Both come to half of the link, and the mean of the packets is there with the model.
	if end := model[len(model)-1]; math.Abs(end-20) > 1 {
		t.Errorf("the model ends at %.2f Gb/s", end)
	}
	if late > 2 {
		t.Errorf("RMS difference %.2f Gb/s in the last 50 ms", late)
	}
}
