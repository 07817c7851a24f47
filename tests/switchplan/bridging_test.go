package switchplan

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// Frames to all, to a group and to an address that nobody has are flooded, and never in a lossless
// class. [RDMA at scale] section 4.2.
func TestFloodIsLossy(t *testing.T) {
	conform(t, card{plan: &forwarding, name: "flooded frames are lossy",
		checks: "broadcast, multicast and unknown unicast with a lossless DSCP, in the flood class",
		config: func(c *pipeline.Config) { c.FloodClass = lossyTC }}, func(b *bench) {
		const in, each = 0, 3
		unknown := []wire.MAC{wire.Broadcast, {1, 0, 0x5e, 0, 0, 1}, {2, 0x72, 0xee, 0, 0, 1}}
		for i, to := range unknown {
			s := stream{port: in, at: b.now().Add(start), every: pace, count: each,
				frame: &packet{from: in, via: to, dst: station(3).ip(false), dscp: dscpLossless}}
			b.send(s)
			b.run(s.end().Add(start))
			snap := b.snapshot()
			for out := 1; out < maxPorts; out++ {
				b.equal("lossy queue", snap.Ports[out].Queues[lossyTC].Sent.Frames, each*(i+1))
				b.equal("lossless queue", snap.Ports[out].Queues[losslessTC].Sent.Frames, 0)
			}
			b.equal("back", snap.Ports[in].Queues[lossyTC].Sent.Frames, 0)
		}
	})
}

// Ports of one isolation group do not bridge to each other, whatever the frame.
func TestPortIsolation(t *testing.T) {
	conform(t, card{plan: &forwarding, name: "port isolation",
		checks: "known and flooded frames between isolated ports go nowhere, to others they go",
		config: func(c *pipeline.Config) {
			c.Ports[0].Isolated, c.Ports[1].Isolated = 1, 1
		}}, func(b *bench) {
		const in, fellow, other = 0, 1, 2
		for _, p := range []packet{{to: fellow}, {to: other}, {to: other, via: wire.Broadcast}} {
			p.dscp = dscpLossy
			s := stream{port: in, at: b.now().Add(start), every: pace, count: 1, frame: &p}
			b.send(s)
			b.run(s.end().Add(start))
		}
		fellows, _ := b.arrivals(fellow)
		others, _ := b.arrivals(other)
		b.equal("to the isolated port", len(fellows), 0)
		b.equal("to another", len(others), 2)
		b.equal("dropped", b.snapshot().Ledger.Dropped[frame.DropIsolated].Frames, 1)
	})
}
