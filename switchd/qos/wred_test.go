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

// TestMarkingRate compares how often frames are marked with [DCQCN] equation 5 at several queue
// lengths, and how often they are dropped. Each count lies within the 99.9 % interval of the
// binomial distribution, which the numbers of a fixed seed either do or do not.
func TestMarkingRate(t *testing.T) {
	const n, z = 200_000, 3.29
	curve := Curve{Kmin: 5 * unit.KB, Kmax: 200 * unit.KB, Pmax: 0.4}
	drop := Curve{Kmin: 10 * unit.KB, Kmax: 50 * unit.KB, Pmax: 0.05}
	w := NewWRED(WREDConfig{Mark: curve, Drop: drop})
	rng := rand.New(rand.NewPCG(1, 2))
	for _, queue := range []unit.Bytes{0, 5000, 5001, 10_000, 12_000, 30_000, 50_000, 50_001,
		102_500, 199_000, 200_000, 200_001} {
		for _, c := range []struct {
			ecn   frame.ECN
			to    Verdict
			curve Curve
		}{{frame.ECT0, Mark, curve}, {frame.NotECT, Drop, drop}} {
			happened := 0
			for range n {
				if w.Judge(queue, c.ecn, rng) == c.to {
					happened++
				}
			}
			p := equation5(c.curve, queue)
			if off := math.Abs(float64(happened) - p*n); off > z*math.Sqrt(n*p*(1-p)) {
				t.Errorf("%v at %v: %d of %d, want %v", c.to, queue, happened, n, p)
			}
		}
	}
}

// equation5 is [DCQCN] equation 5 as it is printed.
func equation5(c Curve, q unit.Bytes) float64 {
	switch {
	case q <= c.Kmin:
		return 0
	case q > c.Kmax:
		return 1
	}
	return float64(q-c.Kmin) / float64(c.Kmax-c.Kmin) * c.Pmax
}

// TestStep: the marking of DCTCP is a step between K and K + 1, for every K, and draws no number.
func TestStep(t *testing.T) {
	for _, k := range []unit.Bytes{0, 1, 40 * unit.KB, 160 * unit.KB, maxCurve} {
		c := Step(k)
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
		w := NewWRED(WREDConfig{Mark: c})
		verdicts := map[unit.Bytes]Verdict{0: Pass, k: Pass, k + 1: Mark, 2*k + 1: Mark}
		for queue, want := range verdicts {
			if got := w.Judge(queue, frame.ECT0, nil); got != want {
				t.Errorf("K %v, queue %v: %v, want %v", k, queue, got, want)
			}
		}
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
