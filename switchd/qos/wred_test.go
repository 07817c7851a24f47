package qos

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// sigcomm15 is [DCQCN] figure 14.
var sigcomm15 = Curve{Kmin: 5 * unit.KB, Kmax: 200 * unit.KB, Pmax: 0.01}

// [DCQCN] equation 5, at and beside each of its corners.
func TestDCQCNEquation5(t *testing.T) {
	for _, c := range []struct {
		name  string
		curve Curve
		queue unit.Bytes
		want  float64
	}{
		{"empty", sigcomm15, 0, 0},
		{"at Kmin", sigcomm15, 5 * unit.KB, 0},
		{"above Kmin", sigcomm15, 5*unit.KB + 195, 0.01 * 195 / 195000},
		{"half way", sigcomm15, 102500, 0.005},
		{"at Kmax", sigcomm15, 200 * unit.KB, 0.01},
		{"above Kmax", sigcomm15, 200*unit.KB + 1, 1},
		{"cut-off at K", Curve{40 * unit.KB, 40 * unit.KB, 1}, 40 * unit.KB, 0},
		{"cut-off above K", Curve{40 * unit.KB, 40 * unit.KB, 1}, 40*unit.KB + 1, 1},
		{"none", Curve{}, 12 * unit.MB, 0},
	} {
		if got := c.curve.Probability(c.queue); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestMarkingRate compares how often frames are marked with the curve.
func TestMarkingRate(t *testing.T) {
	w := NewWRED(WREDConfig{Mark: Curve{Kmin: 0, Kmax: 100 * unit.KB, Pmax: 0.5}})
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 100000
	marked := 0
	for range n {
		if w.Judge(50*unit.KB, frame.ECT0, rng) == Mark {
			marked++
		}
	}
	if want := 0.25 * n; math.Abs(float64(marked)-want) > 0.03*want {
		t.Errorf("marked %d of %d, want a quarter", marked, n)
	}
}

func TestJudge(t *testing.T) {
	all := Curve{Kmax: 1, Pmax: 1}
	for _, c := range []struct {
		name string
		cfg  WREDConfig
		ecn  frame.ECN
		want Verdict
	}{
		{"capable", WREDConfig{Mark: all}, frame.ECT0, Mark},
		{"capable too", WREDConfig{Mark: all}, frame.ECT1, Mark},
		{"marked already", WREDConfig{Mark: all, Drop: all}, frame.CE, Pass},
		{"not capable, no drop profile", WREDConfig{Mark: all}, frame.NotECT, Pass},
		{"not capable", WREDConfig{Mark: all, Drop: all}, frame.NotECT, Drop},
		{"capable, drop profile only", WREDConfig{Drop: all}, frame.ECT0, Pass},
	} {
		w := NewWRED(c.cfg)
		if got := w.Judge(2, c.ecn, nil); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestWREDValidate(t *testing.T) {
	for want, c := range map[string]WREDConfig{
		"mark: thresholds": {Mark: Curve{Kmin: 2, Kmax: 1}},
		"drop: prob":       {Drop: Curve{Kmax: 1, Pmax: 1.1}},
		"mark: prob":       {Mark: Curve{Kmax: 1, Pmax: math.NaN()}},
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if err := (WREDConfig{Mark: sigcomm15}).Validate(); err != nil {
		t.Error(err)
	}
}
