package switchplan

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// fill stops port 2 and sends it count frames of a class from port 0, then looks.
func fill(b *bench, dscp uint8, count int) *pipeline.Snapshot {
	const in, out = 0, 2
	s := stream{port: in, at: b.now().Add(start), every: pace, count: count,
		frame: &packet{from: in, to: out, dscp: dscp}}
	b.send(block(out, b.now().Add(time.Microsecond), every...), s)
	b.run(s.end())
	return b.snapshot()
}

// QoS SAI testQosSaiPgSharedWatermark (PGSharedWatermarkTest), lossless and lossy: nothing while
// frames fit into what is reserved, then the shared use to the byte, the limit at most; the
// watermark stays when the group has drained.
func TestQosSaiPgSharedWatermark(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "testQosSaiPgSharedWatermark",
		checks: "watermark of shared use, lossless and lossy, to the byte", config: obeyAll},
		func(b *bench) {
			n := packet{}.size()
			for _, c := range []struct {
				dscp uint8
				pg   mmu.PG
			}{{dscpLossless, losslessTC}, {dscpLossy, lossyPG}} {
				g := &b.cfg.Ports[0].Groups[c.pg]
				inReserved := int(g.Reserved / n)
				mark := func(count int) unit.Bytes {
					s := fill(b, c.dscp, count)
					b.drain(2, every...)
					return s.Ports[0].Groups[c.pg].SharedWatermark
				}
				b.equal("within reserved", mark(inReserved), unit.Bytes(0))
				b.equal("half", mark(20), 20*n-g.Reserved)
				b.equal("after less", mark(inReserved+1), 20*n-g.Reserved)
				most := fits(b.cfg, g, n)
				b.equal("beyond the limit", mark(most+3), unit.Bytes(most)*n-g.Reserved)
			}
		})
}

// QoS SAI testQosSaiPgHeadroomWatermark (PGHeadroomWatermarkTest): nothing up to the limit, then
// every frame behind it, and no more than the headroom.
func TestQosSaiPgHeadroomWatermark(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "testQosSaiPgHeadroomWatermark",
		checks: "watermark of headroom use, to the byte", config: obeyAll}, func(b *bench) {
		n := packet{}.size()
		g := &b.cfg.Ports[0].Groups[losslessTC]
		limit, head := fits(b.cfg, g, n), inHeadroom(g, n)
		for _, behind := range []int{0, 1, head / 2, head, head + 3} {
			s := fill(b, dscpLossless, limit+behind)
			b.equal("frames behind the limit", s.Ports[0].Groups[losslessTC].HeadroomWatermark,
				unit.Bytes(min(behind, head))*n)
			b.drain(2, every...)
		}
	})
}

// QoS SAI testQosSaiQSharedWatermark (QSharedWatermarkTest): what a queue stored at most; it stays
// when the queue has drained, and starts again from what is stored when it is cleared.
func TestQosSaiQSharedWatermark(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "testQosSaiQSharedWatermark",
		checks: "watermark of a queue, lossless and lossy; kept, and cleared", config: obeyAll},
		func(b *bench) {
			n := packet{}.size()
			for _, c := range []struct {
				dscp uint8
				q    mmu.Queue
			}{{dscpLossless, losslessTC}, {dscpLossy, lossyTC}} {
				mark := func(s *pipeline.Snapshot) unit.Bytes {
					return s.Ports[2].Queues[c.q].Watermark
				}
				b.equal("10 frames", mark(fill(b, c.dscp, 10)), 10*n)
				b.drain(2, every...)
				b.equal("drained", mark(b.snapshot()), 10*n)
				b.do(theSwitch, func(now unit.Time) { b.sw.ClearWatermarks(now) })
				b.equal("cleared", mark(b.snapshot()), unit.Bytes(0))
				b.equal("4 frames", mark(fill(b, c.dscp, 4)), 4*n)
				b.drain(2, every...)
			}
		})
}

// QoS SAI testQosSaiBufferPoolWatermark (BufferPoolWatermarkTest): what a pool stored at most, all
// its groups together.
func TestQosSaiBufferPoolWatermark(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "testQosSaiBufferPoolWatermark",
		checks: "watermark of the pool: reserved, shared and headroom of all groups",
		config: obeyAll}, func(b *bench) {
		n := packet{}.size()
		g := &b.cfg.Ports[0].Groups[losslessTC]
		count := fits(b.cfg, g, n) + 5
		fill(b, dscpLossless, count)
		b.equal("lossless", b.snapshot().Pools[0].Watermark, unit.Bytes(count)*n)
		fill(b, dscpLossy, 7)
		b.equal("and lossy", b.snapshot().Pools[0].Watermark, unit.Bytes(count+7)*n)
		b.drain(2, every...)
		snap := b.snapshot()
		b.equal("drained", snap.Pools[0].Watermark, unit.Bytes(count+7)*n)
		b.equal("in use", snap.Pools[0].Occupancy, unit.Bytes(0))
	})
}

// QoS SAI testQosSaiLossyQueue (LossyQueueTest): a lossy group takes frames up to its limit and
// then drops, without any PFC frame.
func TestQosSaiLossyQueue(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "testQosSaiLossyQueue",
		checks: "drops at the group's limit, no PFC frame", config: obeyAll}, func(b *bench) {
		n := packet{}.size()
		limit := fits(b.cfg, &b.cfg.Ports[0].Groups[lossyPG], n)
		const extra = 10
		snap := fill(b, dscpLossy, limit+extra)
		dropped := snap.Ports[0].Dropped[lossyTC][frame.DropBuffer]
		b.equal("drops from frame", limit+extra-int(dropped)+1, limit+1)
		_, control := b.arrivals(0)
		b.equal("PFC frames", len(control), 0)
		b.drain(2, every...)
		b.whole(2, limit)
	})
}

// QoS SAI testQosSaiPGDrop (PGDropTest): the drop counter of a group counts each frame that the
// group could not store, and nobody else's does.
func TestQosSaiPGDrop(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "testQosSaiPGDrop",
		checks: "drop counters of the priority groups, frame by frame", config: obeyAll},
		func(b *bench) {
			n := packet{}.size()
			groups := &b.cfg.Ports[0].Groups
			const lossless, lossy = 6, 9
			fill(b, dscpLossless, fits(b.cfg, &groups[losslessTC], n)+
				inHeadroom(&groups[losslessTC], n)+lossless)
			b.drain(2, every...)
			fill(b, dscpLossy, fits(b.cfg, &groups[lossyPG], n)+lossy)
			b.drain(2, every...)
			var got, want [maxPorts][mmu.Groups]uint64
			for i, p := range b.snapshot().Ports {
				for g := range p.Groups {
					got[i][g] = p.Groups[g].Dropped
				}
			}
			want[0][losslessTC], want[0][lossyPG] = lossless, lossy
			b.equal("drops by port and group", got, want)
		})
}

// QoS SAI ReleaseAllPorts: every port stopped, every port sending to the next, lossless and lossy;
// when all are released everything leaves and nothing is left anywhere.
func TestReleaseAllPorts(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "ReleaseAllPorts",
		checks: "all ports stopped, then released: all frames leave, occupancies are zero",
		config: func(c *pipeline.Config) {
			each(c, func(p *pipeline.Port) { p.PFCObey = allPriorities })
		}}, func(b *bench) {
		const count = 20
		for in := range maxPorts {
			out := (in + 1) % maxPorts
			b.send(block(out, b.now().Add(time.Microsecond), every...))
			for _, dscp := range []uint8{dscpLossless, dscpLossy} {
				b.send(stream{port: portID(in), at: b.now().Add(start), every: pace, count: count,
					frame: &packet{from: station(in), to: station(out), dscp: dscp}})
			}
		}
		b.run(b.now().Add(start + (count+2)*pace))
		b.equal("frames stored", b.snapshot().Ledger.Buffered.Frames, 2*count*maxPorts)
		for port := range maxPorts - 1 {
			b.send(release(port, b.now().Add(time.Microsecond), every...))
		}
		b.drain(maxPorts-1, every...)
		snap := b.snapshot()
		b.equal("in the pool", snap.Pools[0].Occupancy, unit.Bytes(0))
		for port := range maxPorts {
			b.whole(port, 2*count)
			for q := range snap.Ports[port].Queues {
				if n := snap.Ports[port].Queues[q].Occupancy; n != 0 {
					b.Errorf("port %d queue %d still has %d bytes", port, q, n)
				}
			}
		}
		b.equal("dropped", snap.Ledger.DroppedTotal().Frames, 0)
	})
}
