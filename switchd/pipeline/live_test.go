package pipeline

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/qos"
)

// losslessConfig is a division of the buffer, whatever its limits, that has headroom enough for
// hosts 1 us away: their link, a frame at both ends and the PFC frame itself are below 22.4 KB,
// and the egress, whose pool is the whole memory as in SONiC, takes all that the ingress does.
func losslessConfig(t *rapid.T, ports int) Config {
	const headroom, memory = 22400, 3 * unit.MB
	c := testConfig(ports)
	c.Pools[0].Size = unit.Bytes(rapid.IntRange(600, 3000).Draw(t, "pool")) * unit.KB
	if rapid.Bool().Draw(t, "share") {
		c.Pools[0].SharedHeadroom = 2 * unit.Bytes(ports) * headroom
	}
	if rapid.Bool().Draw(t, "egress") {
		c.EgressPools = []mmu.Pool{{Name: "egress", Size: memory}}
	}
	limit := mmu.Alpha(1<<rapid.IntRange(0, 4).Draw(t, "alpha"), 4)
	if rapid.Bool().Draw(t, "static") {
		limit = mmu.Limit{Static: unit.Bytes(rapid.IntRange(2, 400).Draw(t, "limit")) * unit.KB}
	}
	at := rapid.SampledFrom([]qos.Point{qos.AtEnqueue, qos.AtDequeue}).Draw(t, "at")
	for i := range c.Ports {
		p := &c.Ports[i]
		for _, g := range []int{3, 4} {
			p.Groups[g].Limit = limit
			p.Groups[g].XONOffset = 2000
			p.Queues[g].Buffer.Limit.Static = memory
			p.Queues[g].WRED.At = at
		}
		p.Quanta = rapid.SampledFrom([]uint16{500, 65535}).Draw(t, "quanta")
	}
	return c
}

// TestReconfigureUnderIncast: three hosts at 40 Gb/s into one port, in virtual time, and a new
// division of the buffer every 50 us at most. Each division has headroom enough, so that nothing
// is lost, whatever was stored under the last; every group comes out of XOFF in the end, and the
// receiver gets all that was sent.
func TestReconfigureUnderIncast(t *testing.T) {
	const senders = 3
	rapid.Check(t, func(rt *rapid.T) {
		net, b, hosts := incast(t, senders, losslessConfig(rt, senders+1))
		at := unit.Time(0)
		for range rapid.IntRange(1, 6).Draw(rt, "changes") {
			at += unit.Time(rapid.IntRange(1, 50_000).Draw(rt, "after"))
			cfg := losslessConfig(rt, senders+1)
			net.At(at, b.node, func(now unit.Time) {
				if err := b.sw.Reconfigure(now, cfg); err != nil {
					rt.Fatal(err)
				}
			})
		}
		at += 50 * us
		net.Run(at)
		for _, h := range hosts {
			h.frame = nil // sends no more
		}
		end := at.Add(time.Millisecond)
		net.Run(end)
		b.now = end
		b.check()
		if err := net.Check(); err != nil {
			rt.Fatal(err)
		}
		var s Snapshot
		b.sw.Snapshot(end, &s)
		if n := s.Ledger.DroppedTotal().Frames; n != 0 || s.Ledger.Buffered.Frames != 0 {
			rt.Fatalf("dropped %d, left %d: %v of headroom", n, s.Ledger.Buffered.Frames,
				s.Ledger.Dropped[frame.DropHeadroom])
		}
		var sent uint64
		for i := range senders {
			sent += hosts[i].ledger.Sent.Frames
			if u := s.Ports[i].Groups[3]; u.XOFF || s.Ports[i].Pausing != 0 {
				rt.Fatalf("port %d stays in XOFF: %+v", i, u)
			}
		}
		if got := hosts[senders].ledger.Received.Frames; got < sent {
			rt.Fatalf("received %d of %d", got, sent)
		}
	})
}
