package scenario

import (
	"math"
	"testing"
)

func TestTransfers(t *testing.T) {
	for name, c := range map[string]struct {
		before float64
		placed []float64
		want   []float64 // bits per second, of messages of 100 bytes and samples every second
	}{
		"steady": {0, []float64{50, 100, 150, 200, 250, 300}, []float64{400, 400}},
		"between samples": {0, []float64{40, 80, 120, 160, 200, 240, 280, 320},
			[]float64{320, 320}},
		"several in an interval":    {0, []float64{400}, []float64{3200, 3200, 3200}},
		"from the middle of one":    {170, []float64{210, 250, 290, 330}, []float64{320}},
		"from the end of one":       {200, []float64{250, 300, 350, 400}, []float64{400}},
		"stands still for a second": {0, []float64{100, 100, 200}, []float64{400}},
		"one is not enough":         {0, []float64{50, 100, 150}, nil},
		"nothing":                   {0, nil, nil},
	} {
		got := transfers(c.before, c.placed, 100, 1)
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
			continue
		}
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 1e-9*c.want[i] {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
	}
}

// With two senders on a link, messages of a flow take as long as its goodput says.
func TestTransfersOfARun(t *testing.T) {
	s := two("transfers")
	s.Flows[0].MessageBytes, s.Flows[1].MessageBytes = 200_000, 200_000
	r, err := s.Virtual(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := r.Transfers(0)
	if len(got) < 8 { // in a millisecond at 18.5 Gb/s are 2.3 MB, 11 messages
		t.Errorf("%d transfers", len(got))
	}
	for _, g := range got {
		if want := r.Goodput(0); math.Abs(g-want) > 0.02*want {
			t.Errorf("%.3f Gb/s, want %.3f", g/1e9, want/1e9)
		}
	}
}
