package conformance

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// faultTexts are the faults that the dice of the wires do not cover.
var faultTexts = []string{"freeze", "down", "storm 3", "storm 0,7", "rate 10Gb/s",
	"delay 5us jitter 5us", "reorder 0.1 by 3 frames within 50us", "mark 0.5",
	"corrupt 0.1 byte 12", "drop kind pfc", "dup 0.2"}

// mishaps are two of each fault, somewhere and some time while there is traffic, also at the same
// time and place.
func mishaps(t *testing.T, rng *rand.Rand, ports int, end unit.Time) (list []mishap) {
	t.Helper()
	busy := int64(end.Add(-quiet))
	for range 2 {
		for _, text := range faultTexts {
			f, err := fault.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, mishap{rng.IntN(ports), fault.Entry{Fault: f,
				At:  time.Duration(rng.Int64N(busy)),
				For: time.Duration(rng.Int64N(busy/10) + 1)}})
		}
	}
	return list
}
