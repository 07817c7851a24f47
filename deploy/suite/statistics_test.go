package suite

import (
	"math"
	"testing"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// TestStudentT: the columns for 0.975 and 0.999 of the table in the NIST/SEMATECH e-Handbook,
// 1.3.6.7.2.
func TestStudentT(t *testing.T) {
	for freedom, want := range map[int]float64{1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571,
		9: 2.262, 10: 2.228, 19: 2.093, 30: 2.042, 60: 2.000, 100: 1.984} {
		near(t, "t", studentT(0.95, freedom), want, 0.0005)
	}
	for freedom, want := range map[int]float64{1: 318.309, 5: 5.893, 7: 4.785, 20: 3.552} {
		near(t, "t", studentT(0.998, freedom), want, 0.0005)
	}
	near(t, "t of the normal distribution", studentT(0.95, 100_000), 1.960, 0.0005)
}

func TestInterval(t *testing.T) {
	mean, ci := Interval([]float64{9, 10, 11})
	// s = 1, so half the width is t(2) / sqrt(3) = 4.3027 / 1.7321.
	near(t, "mean", mean, 10, 1e-12)
	if ci == nil {
		t.Fatal("no interval of three values")
	}
	near(t, "low", ci[0], 10-2.4841, 1e-4)
	near(t, "high", ci[1], 10+2.4841, 1e-4)
	if _, ci := IntervalAt(0.998, []float64{9, 10, 11}); ci == nil {
		t.Fatal("no interval at another confidence")
	} else { // t(2) = 22.327
		near(t, "high", ci[1], 10+22.327/math.Sqrt(3), 1e-3)
	}
	if mean, ci := Interval([]float64{7}); mean != 7 || ci != nil {
		t.Errorf("of one value: %v %v", mean, ci)
	}
	if mean, ci := Interval(nil); !math.IsNaN(mean) || ci != nil {
		t.Errorf("of no value: %v %v", mean, ci)
	}
	if _, ci := Interval([]float64{5, 5, 5, 5}); ci == nil || ci[0] != 5 || ci[1] != 5 {
		t.Errorf("of equal values: %v", ci)
	}
}

func TestJain(t *testing.T) {
	near(t, "of equal shares", Jain([]float64{3, 3, 3}), 1, 1e-12)
	near(t, "of one", Jain([]float64{0, 0, 8, 0}), 0.25, 1e-12)
	near(t, "of 1 and 3", Jain([]float64{1, 3}), 16.0/20, 1e-12)
	if Jain(nil) != 0 || Jain([]float64{0, 0}) != 0 {
		t.Error("nothing is fair")
	}
}

func TestQuantile(t *testing.T) {
	values := []float64{40, 10, 30, 20}
	for p, want := range map[float64]float64{0: 10, 1: 40, 0.5: 25, 0.1: 13, 1.0 / 3: 20} {
		near(t, "quantile", Quantile(values, p), want, 1e-12)
	}
	if values[0] != 40 {
		t.Error("the values have been sorted in place")
	}
	if Quantile([]float64{3}, 0.99) != 3 || !math.IsNaN(Quantile(nil, 0.5)) {
		t.Error("of one value or none")
	}
}
