package twin

import (
	"fmt"
	"testing"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/roce/ib"
)

// TestRingAllReduce: four hosts pass chunks around, each step after what the predecessor sent in
// the step before. On links of 8 Gb/s a byte takes a nanosecond, so a step, from the post on one
// host to the receipt on the next, takes
//
//	A + L + P + 2 d
//
// with A an acknowledgement of what has just been received, which leaves before the data (not in
// the first step), L the chunk's packets on the first link, P the last of them on the second, and
// d the delay of a link. Nothing else is in the way: what a port of the switch sends beside,
// acknowledgements of the step before, has left before the data arrives. After 2(N-1) steps the
// last acknowledgement goes back. Two messages may be under way, so that no step waits for the
// acknowledgement of the one before.
func TestRingAllReduce(t *testing.T) {
	const (
		hosts, packets, mtu = 4, 16, 1024
		steps               = 2 * (hosts - 1)
		delay               = 2000
		packet              = 14 + 20 + 8 + 12 + mtu + 4 + 24 // as in TestPeriodicArrivals
		chunk               = packets * packet
		ack                 = 14 + 20 + 8 + 12 + 4 + 4 + 24
		want                = steps*(chunk+packet+2*delay) + (steps-1)*ack + 2*(ack+delay)
	)
	b := newStar(t, hosts, func(top *lab.Topology) {
		for i := range top.Links {
			top.Links[i].Rate, top.Links[i].Delay = 8*unit.GbPerSecond, delay
		}
	})
	var to, from [hosts]ib.QPN // the successor, the predecessor
	name := func(i int) string { return fmt.Sprint("h", i%hosts+1) }
	for i := range hosts {
		here, there := b.connect(name(i), name(i+1), packets*mtu)
		to[i], from[(i+1)%hosts] = here.QPN, there.QPN
	}
	for i := range hosts {
		b.post(name(i), "/v1/flow", nicd.FlowRequest{Name: "ring", QPN: to[i], Verb: "send",
			Depth: 2, MessageBytes: packets * mtu, Messages: steps, After: from[i], Lead: 1}, nil)
	}
	for i := range hosts {
		b.post(name(i), "/v1/sample", daemon.SampleRequest{IntervalNs: want, Count: 1}, nil)
	}
	b.Run(2 * want)
	for i := range hosts {
		var end nicd.State
		b.get(name(i), "/v1/sampled", &end)
		f := &end.Flows[0]
		if f.Messages != steps || f.FirstNs != 0 || f.LastNs != want {
			t.Errorf("%s: %d chunks from %d to %d, want %d from 0 to %d", name(i), f.Messages,
				f.FirstNs, f.LastNs, steps, want)
		}
	}
	if err := b.Net.Check(); err != nil {
		t.Error(err)
	}
}
