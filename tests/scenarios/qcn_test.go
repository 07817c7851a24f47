package scenarios

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// TestQCNHoldsTheQueue is the loop of [QCN] section 2 from end to end: a congestion point of
// switchd and reaction points of nicd, on 10 Gb/s, which the baseline is made for. "The goal of
// the CP is to maintain the buffer occupancy at a desired operating point, Qeq", 33 KB; without
// a loss, with the link in use, and once it has settled without PFC.
func TestQCNHoldsTheQueue(t *testing.T) {
	setup := incast("qcn", 1<<20, 1)
	for range setup.senders + 1 {
		setup.rates = append(setup.rates, 10*unit.GbPerSecond)
	}
	s := newStar(t, setup)
	v := newVirtual(t, s)
	var samples, sum, least, most float64
	least = 1e9
	const settled, end = 60 * time.Millisecond, 120 * time.Millisecond
	for at := settled; at < end; at += 100 * time.Microsecond {
		v.at(unit.Time(at), s.switchNode(), func(unit.Time) {
			q := float64(s.sw.QueueDepth(dataplane.PortID(s.receiver()), dataClass))
			samples, sum = samples+1, sum+q
			least, most = min(least, q), max(most, q)
		})
	}
	var paused uint64
	v.at(unit.Time(settled), s.switchNode(), func(unit.Time) { paused = s.sw.PFCSent() })
	o := measure(t, s, v, span{settled, end, 100 * time.Millisecond})
	t.Logf("queue %.1f KB, %.1f to %.1f KB; goodput %.3g b/s, utilisation %.4f, Jain %.3f; %+v",
		sum/samples/1e3, least/1e3, most/1e3, o.goodput, o.utilisation, o.jain, o.queue.QCN)
	if mean := sum / samples; mean < 16.5e3 || mean > 49.5e3 {
		t.Errorf("mean queue %.1f KB, want Qeq = 33 KB to a half", mean/1e3)
	}
	if o.utilisation < 0.95 || o.dropped != 0 || o.retransmits != 0 {
		t.Errorf("utilisation %.4f, dropped %d, sent again %d", o.utilisation, o.dropped,
			o.retransmits)
	}
	if o.pfcFrames != paused {
		t.Errorf("%d PFC frames after the start", o.pfcFrames-paused)
	}
	var handled uint64
	for i := range o.senders {
		handled += o.senders[i].Counters.RPCNMHandled
	}
	if handled == 0 || o.cnps != 0 {
		t.Errorf("%d CNMs handled, %d CNPs", handled, o.cnps)
	}
}
