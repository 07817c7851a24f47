package twin

import (
	"fmt"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/roce/ib"
)

// On links of 8 Gb/s a byte takes a nanosecond. Of a collective among four hosts that sends chunks
// of some packets:
const (
	hosts, packets, mtu = 4, 16, 1024
	hop                 = 2000                            // delay of a link
	packet              = 14 + 20 + 8 + 12 + mtu + 4 + 24 // with the ICRC and what is on the line
	chunk               = packets * packet
	ack                 = 14 + 20 + 8 + 12 + 4 + 4 + 24
)

// newRing is a star of the hosts, whose names go around.
func newRing(t *testing.T) bench {
	t.Helper()
	return newStar(t, hosts, func(top *lab.Topology) {
		for i := range top.Links {
			top.Links[i].Rate, top.Links[i].Delay = 8*unit.GbPerSecond, hop
		}
	})
}

func nameOf(i int) string { return fmt.Sprint("h", i%hosts+1) }

// TestRingAllReduce: four hosts pass chunks around, each step after what the predecessor sent in
// the step before. A step, from the post on one host to the receipt on the next, takes
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
		steps = 2 * (hosts - 1)
		want  = steps*(chunk+packet+2*hop) + (steps-1)*ack + 2*(ack+hop)
	)
	b := newRing(t)
	var to, from [hosts]ib.QPN // the successor, the predecessor
	for i := range hosts {
		here, there := b.connect(nameOf(i), nameOf(i+1), packets*mtu)
		to[i], from[(i+1)%hosts] = here.QPN, there.QPN
	}
	for i := range hosts {
		b.post(nameOf(i), "/v1/flow", nicd.FlowRequest{Name: "ring", QPN: to[i], Verb: "send",
			Depth: 2, MessageBytes: packets * mtu, Messages: steps, After: from[i], Lead: 1}, nil)
	}
	for i := range hosts {
		b.post(nameOf(i), "/v1/sample", daemon.SampleRequest{IntervalNs: want, Count: 1}, nil)
	}
	b.Run(2 * want)
	for i := range hosts {
		var end nicd.State
		b.get(nameOf(i), "/v1/sampled", &end)
		f := &end.Flows[0]
		if f.Messages != steps || f.FirstNs != 0 || f.LastNs != want {
			t.Errorf("%s: %d chunks from %d to %d, want %d from 0 to %d", nameOf(i), f.Messages,
				f.FirstNs, f.LastNs, steps, want)
		}
	}
	if err := b.Net.Check(); err != nil {
		t.Error(err)
	}
}

// TestAllToAll: in phase p each host sends a chunk to the p-th behind it, once it has received that
// of the phase before. So phase p is posted after p-1 steps as those of the ring, but that P is the
// first packet: it is the longest, and the second link is busy from then on.
func TestAllToAll(t *testing.T) {
	b := newRing(t)
	var before [hosts]ib.QPN // that receives the chunk of the phase before
	for p := 1; p < hosts; p++ {
		var received [hosts]ib.QPN
		for i := range hosts {
			here, there := b.connect(nameOf(i), nameOf(i+p), packets*mtu)
			received[(i+p)%hosts] = there.QPN
			b.post(nameOf(i), "/v1/flow", nicd.FlowRequest{Name: fmt.Sprint("phase", p),
				QPN: here.QPN, Verb: "write_imm", Depth: 1, MessageBytes: packets * mtu,
				Messages: 1, After: before[i], Log: 1}, nil)
		}
		before = received
	}
	b.Run(unit.Time(time.Millisecond))
	const reth, imm = 16, 4 // once a chunk: in the first packet, in the last
	for p := range hosts - 1 {
		want := int64(p*(chunk+reth+imm+packet+reth+2*hop) + max(0, p-1)*ack)
		for i := range hosts {
			var m []nicd.Message
			b.get(nameOf(i), fmt.Sprint("/v1/messages?flow=phase", p+1), &m)
			if len(m) != 1 || m[0].PostedNs != want {
				t.Errorf("%s: phase %d %+v, want it posted at %d", nameOf(i), p+1, m, want)
			}
		}
	}
}
