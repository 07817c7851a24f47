package experiment

import (
	"testing"
	"time"
)

func TestSamplesAreBounded(t *testing.T) {
	for _, d := range []time.Duration{time.Millisecond, 60 * time.Millisecond, time.Hour} {
		in := Incast{Duration: d}
		if n := in.Duration / in.interval(); n < 1 || n > mostSamples {
			t.Errorf("%v: %d samples", d, n)
		}
	}
}
