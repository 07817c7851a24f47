package scenarios

import (
	"reflect"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// shortIncast is long enough for the buffer to fill and for pauses to come and go, or for the queue
// to be marked away.
func shortIncast(algorithm string) (setup, span) {
	return incast(algorithm, 1<<20, 1),
		span{time.Millisecond / 2, time.Millisecond * 3 / 2, 12 * time.Millisecond}
}

// The scaling law: how much time is stretched changes nothing at all. The same incast on real loops
// at dilation k and 2.5 k, with a machine that has other work and a clock that is held whenever it
// falls behind, gives the very numbers of virtual time: every counter of the bottleneck's queue,
// its length over all moments, and every counter of the senders.
func TestScalingLaw(t *testing.T) {
	for _, algorithm := range []string{"none", "dcqcn"} {
		cfg, at := shortIncast(algorithm)
		s := newStar(t, cfg)
		want := measure(t, s, newVirtual(t, s), at)
		if want.delivered < unit.MB || want.marks+want.pfcFrames < 100 {
			t.Errorf("%s: %d bytes, %d marks, %d PFC frames: the scenario shows little", algorithm,
				want.delivered, want.marks, want.pfcFrames)
		}
		for _, k := range []float64{100, 250} {
			s := newStar(t, cfg)
			l := newLoops(t, s, k)
			got := measure(t, s, l, at)
			t.Logf("%s at k = %g: %d bytes, %d marks, %d CNPs, %d PFC frames, queue mean %.0f, "+
				"worst lag %v", algorithm, k, got.delivered, got.marks, got.cnps, got.pfcFrames,
				got.queue.Length.Mean, l.page.Status().WorstLag)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s at k = %g: not what happens in virtual time: %d bytes, %d marks, "+
					"%d CNPs, %d PFC frames, queue %+v", algorithm, k, want.delivered, want.marks,
					want.cnps, want.pfcFrames, want.queue.Length)
			}
		}
	}
}
