package scenarios

import (
	"maps"
	"reflect"
	"testing"
	"time"
)

// What happens does not hang on whether payload is stored: every counter of the switch's queue and
// of the senders is the same, under algorithms that live on marks, on messages from the switch, and
// on telemetry that switches put behind the payload.
func TestVirtualPayloadChangesNoCounter(t *testing.T) {
	for _, algorithm := range []string{"none", "dcqcn", "qcn", "hpcc", "ldcp"} {
		cfg, at := shortIncast(algorithm)
		at.warmup, at.end = time.Millisecond, 4*time.Millisecond
		s := newStar(t, cfg)
		want := measure(t, s, newVirtual(t, s), at)
		cfg.void = true
		s = newStar(t, cfg)
		got := measure(t, s, newVirtual(t, s), at)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d bytes, %d marks, %d PFC frames, with real payload %d, %d, %d",
				algorithm, got.delivered, got.marks, got.pfcFrames, want.delivered, want.marks,
				want.pfcFrames)
		}
		if want.delivered < 1<<20 {
			t.Errorf("%s: %d bytes: the scenario shows little", algorithm, want.delivered)
		}
	}
}

// Under every fault there is, flipped bits of the payload among them, frames are the same to the
// byte when somebody looks at them. On loops the peer does: there nothing is left out.
func TestVirtualPayloadChangesNoByte(t *testing.T) {
	cfg := crossing()
	cfg.timeout = 6
	s := newStar(t, cfg)
	want := suffer(t, s, newVirtual(t, s), everything, 8000*us)
	cfg.void = true
	for _, c := range []struct {
		name string
		on   func(*star) bed
	}{
		{"virtual time", func(s *star) bed { return newVirtual(t, s) }},
		{"loops", func(s *star) bed { return newLoops(t, s, 100) }},
	} {
		s := newStar(t, cfg)
		got := suffer(t, s, c.on(s), everything, 8000*us)
		if !maps.Equal(got.hits, want.hits) {
			t.Errorf("%s: the faults hit %v, with real payload %v", c.name, got.hits, want.hits)
		}
		for h := range want.arrived {
			if err := differ(got.arrived[h], want.arrived[h]); err != nil {
				t.Errorf("%s: at host %d: %v", c.name, h, err)
			}
		}
	}
}
