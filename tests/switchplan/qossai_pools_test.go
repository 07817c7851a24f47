package switchplan

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// sender is a group that a case fills: a port and the DSCP of a class with a group of its number.
type sender struct {
	in   int
	dscp uint8
}

// losslessSenders are the groups that can fill up towards port 2.
var losslessSenders = []sender{{0, dscpLossless}, {0, dscpOther}, {1, dscpLossless},
	{1, dscpOther}, {3, dscpLossless}, {3, dscpOther}}

// pour sends count frames of a sender into the stopped port 2, and returns the stream.
func pour(b *bench, from sender, count int) stream {
	s := stream{port: portID(from.in), at: b.now().Add(time.Microsecond), every: pace, count: count,
		frame: &packet{from: station(from.in), to: 2, dscp: from.dscp}}
	b.send(s)
	b.run(s.end())
	return s
}

// sharedHeadroom is a pool of headroom that does not cover what its groups may take, and static
// limits, so that the groups do not move each other's.
func sharedHeadroom(c *pipeline.Config) {
	c.Pools[0].SharedHeadroom = 50 * unit.KB
	each(c, func(p *pipeline.Port) {
		for _, g := range []int{losslessTC, otherTC} {
			p.Groups[g].Limit = mmu.Limit{Static: 10 * unit.KB}
		}
	})
}

// QoS SAI testQosSaiHeadroomPoolSize (HdrmPoolSizeTest): groups that are in XOFF take headroom one
// after the other, each up to its own; when the pool's is used up frames are dropped, whoever they
// are of.
func TestQosSaiHeadroomPoolSize(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "testQosSaiHeadroomPoolSize",
		checks: "the headroom that all groups share, to the frame", config: sharedHeadroom},
		func(b *bench) {
			fillHeadroom(b, func(int, *pipeline.Snapshot) {})
		})
}

// QoS SAI testQosSaiHeadroomPoolWatermark: after each group, the watermark of the pool's headroom.
func TestQosSaiHeadroomPoolWatermark(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "testQosSaiHeadroomPoolWatermark",
		checks: "watermark of the headroom pool, to the byte", config: sharedHeadroom},
		func(b *bench) {
			n := packet{}.size()
			fillHeadroom(b, func(frames int, s *pipeline.Snapshot) {
				b.equal("watermark", s.Pools[0].Headroom.Watermark, unit.Bytes(frames)*n)
			})
			snap := b.snapshot()
			b.equal("drained", snap.Pools[0].Headroom.Occupancy, unit.Bytes(0))
		})
}

// fillHeadroom fills all groups beyond their headroom; see is told the frames that should be in the
// pool's headroom after each.
func fillHeadroom(b *bench, see func(frames int, s *pipeline.Snapshot)) {
	n := packet{}.size()
	left := int(b.cfg.Pools[0].SharedHeadroom / n)
	b.send(block(2, b.now().Add(time.Microsecond), losslessTC, otherTC))
	b.run(b.now().Add(start))
	var got, want []int
	for _, from := range losslessSenders {
		g := &b.cfg.Ports[from.in].Groups[from.dscp]
		before := b.snapshot().Ledger.Dropped[frame.DropHeadroom].Frames
		const extra = 2
		limit, own := fits(b.cfg, g, n), inHeadroom(g, n)
		pour(b, from, limit+own+extra)
		snap := b.snapshot()
		took := own + extra - int(snap.Ledger.Dropped[frame.DropHeadroom].Frames-before)
		got, want = append(got, took), append(want, min(own, left))
		left -= min(own, left)
		see(int(b.cfg.Pools[0].SharedHeadroom/n)-left, snap)
		if _, control := b.arrivals(from.in); firstOf(control, from.dscp, true) == nil {
			b.Errorf("no XOFF to port %d for %d", from.in, from.dscp)
		}
	}
	b.equal("frames in headroom by group", got, want)
	b.drain(2, losslessTC, otherTC)
}

// QoS SAI testQosSaiSharedReservationSize (SharedResSizeTest): what others have taken of the shared
// part lowers the limit of the next; what is reserved is there whatever they have taken.
func TestQosSaiSharedReservationSize(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "testQosSaiSharedReservationSize",
		checks: "XOFF of six groups one after the other, each at the limit that the others leave"},
		func(b *bench) {
			n := packet{}.size()
			b.send(block(2, b.now().Add(time.Microsecond), losslessTC, otherTC))
			b.run(b.now().Add(start))
			taken := unit.Bytes(0) // of the shared part
			var got, want []int
			for _, from := range losslessSenders {
				g := &b.cfg.Ports[from.in].Groups[from.dscp]
				limit := fitsBeside(b.cfg, g, n, taken)
				s := pour(b, from, limit+1)
				_, control := b.arrivals(from.in)
				xoff := firstOf(control, from.dscp, true)
				if xoff == nil {
					b.Fatalf("no XOFF to port %d for %d", from.in, from.dscp)
				}
				got, want = append(got, b.cause(s, *xoff)), append(want, limit+1)
				taken += unit.Bytes(limit)*n - g.Reserved
			}
			b.equal("XOFF at frame", got, want)
			b.drain(2, losslessTC, otherTC)
			b.noDrops()
		})
}

// A memory of cells: a frame takes whole ones, so that limits are reached sooner.
func TestCells(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "testQosSaiPfcXoffLimit (cells)",
		checks: "a memory of 254-byte cells: XOFF and drops where whole cells reach the limits",
		config: func(c *pipeline.Config) { c.Cell = 254 }}, func(b *bench) {
		xoffLimit(b, 0, dscpLossless)
	})
}

// QoS SAI testQosSaiLossyQueue, where the egress limits: a lossy queue has a share of its pool, and
// drops what is beyond it, though the ingress has room.
func TestQosSaiLossyQueueAtEgress(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "testQosSaiLossyQueue (egress pool)",
		checks: "drops at the queue's dynamic limit of the egress pool, no PFC frame",
		config: func(c *pipeline.Config) {
			obeyAll(c)
			c.EgressPools = []mmu.Pool{{Name: "egress_lossy_pool", Size: 60 * unit.KB}}
			each(c, func(p *pipeline.Port) {
				for q := range p.Queues {
					p.Queues[q].Buffer.Limit = mmu.Alpha(1, 1)
				}
				p.Queues[lossyTC].Buffer.Reserved = 3 * unit.KB
			})
		}}, func(b *bench) {
		n := packet{}.size()
		q := b.cfg.Ports[2].Queues[lossyTC].Buffer
		free := b.cfg.EgressPools[0].Size - maxPorts*q.Reserved
		limit := dynamic(free, q.Limit, q.Reserved, n)
		const extra = 7
		snap := fill(b, dscpLossy, limit+extra)
		dropped := snap.Ports[2].Queues[lossyTC].Dropped[frame.DropEgressBuffer]
		b.equal("drops from frame", limit+extra-int(dropped)+1, limit+1)
		_, control := b.arrivals(0)
		b.equal("PFC frames", len(control), 0)
		b.drain(2, every...)
		b.whole(2, limit)
	})
}
