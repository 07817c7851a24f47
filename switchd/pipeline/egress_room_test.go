package pipeline

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
	"github.com/rocelab/rocelab/switchd/mmu"
)

// sonicPools is SONiC's division of a memory for the ports of testConfig: lossless and lossy share
// an ingress pool, and have an egress pool each.
func sonicPools(memory unit.Bytes) Config {
	c := testConfig(3)
	c.Pools[0].Size = memory
	c.EgressPools = []mmu.Pool{{Name: "egress_lossless_pool", Size: memory},
		{Name: "egress_lossy_pool", Size: memory / 2}}
	for i := range c.Ports {
		p := &c.Ports[i]
		for q := range p.Queues {
			p.Queues[q].Buffer = mmu.QueueProfile{Pool: 1, Limit: mmu.Alpha(2, 1)}
		}
		for _, q := range []int{3, 4} {
			p.Queues[q].Buffer = mmu.QueueProfile{Limit: mmu.Limit{Static: memory}}
		}
	}
	return c
}

func short(c *Config) (n int) {
	for _, r := range c.EgressRooms() {
		if r.Room < r.Need {
			n++
		}
	}
	return n
}

// TestEgressRoomsOfSONiC: the way SONiC does it there is room enough; every way to spoil it shows.
func TestEgressRoomsOfSONiC(t *testing.T) {
	c := sonicPools(unit.MB)
	if rooms := c.EgressRooms(); len(rooms) != 6 || short(&c) != 0 {
		t.Fatalf("rooms %+v", rooms)
	}
	for name, spoil := range map[string]func(c *Config){
		"a dynamic limit": func(c *Config) { c.Ports[1].Queues[3].Buffer.Limit = mmu.Alpha(1, 1) },
		"a small limit":   func(c *Config) { c.Ports[1].Queues[3].Buffer.Limit.Static = 90_000 },
		"a queue's size":  func(c *Config) { c.Ports[1].Queues[3].Buffer.Max = 90_000 },
		"lossy frames":    func(c *Config) { c.Ports[1].Queues[0].Buffer.Pool = 0 },
		"a small pool":    func(c *Config) { c.EgressPools[0].Size = 500 * unit.KB },
		"a shared queue":  func(c *Config) { c.Ports[1].Map.Queue[0] = 3 },
	} {
		c := sonicPools(unit.MB)
		if spoil(&c); short(&c) == 0 {
			t.Errorf("%s: rooms %+v", name, c.EgressRooms())
		}
	}
}

// TestEgressRoomsAreTrue: where all queues have room enough, no traffic makes the egress drop a
// lossless frame. The other way round is not promised, but happens.
func TestEgressRoomsAreTrue(t *testing.T) {
	enough, dropped := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		c := sonicPools(300 * unit.KB)
		c.Cell = rapid.SampledFrom([]unit.Bytes{0, 208}).Draw(rt, "cell")
		spoil := rapid.Bool().Draw(rt, "spoil")
		for i := range c.Ports {
			p := &c.Ports[i]
			for g := range p.Groups {
				if p.Groups[g].Lossless {
					p.Groups[g].Headroom = 9000
				}
				p.Groups[g].Reserved = rapid.SampledFrom([]unit.Bytes{0, 2000}).Draw(rt, "reserved")
				p.Groups[g].Limit = rapid.SampledFrom([]mmu.Limit{mmu.Alpha(1, 8), mmu.Alpha(4, 1),
					{Static: 15_000}}).Draw(rt, "limit")
			}
			if !spoil {
				continue
			}
			q := &p.Queues[3].Buffer
			q.Reserved = rapid.SampledFrom([]unit.Bytes{0, 0, 3000}).Draw(rt, "queue reserved")
			q.Limit = rapid.SampledFrom([]mmu.Limit{{Static: 300_000}, {Static: 300_000},
				{Static: 20_000}, mmu.Alpha(1, 1), mmu.Alpha(4, 1)}).Draw(rt, "queue limit")
		}
		b := newBench(t, c)
		for i := range c.Ports {
			mac := wiretest.MACOrNumber(i).MAC()
			if err := b.sw.MACs().AddStatic(mac, dataplane.PortID(i)); err != nil {
				t.Fatal(err)
			}
		}
		for range rapid.IntRange(5, 40).Draw(rt, "bursts") {
			in := rapid.IntRange(0, 2).Draw(rt, "in")
			bytes := wiretest.Packet{Src: wiretest.MACOrNumber(in),
				Dst:     wiretest.MACOrNumber(rapid.IntRange(0, 2).Draw(rt, "dst")),
				DSCP:    rapid.SampledFrom([]uint8{0, 26, 4}).Draw(rt, "dscp"),
				Payload: rapid.IntRange(20, 1400).Draw(rt, "n")}.Bytes()
			for range rapid.IntRange(1, 150).Draw(rt, "frames") {
				b.rx(dataplane.PortID(in), bytes)
			}
			for range rapid.IntRange(0, 20).Draw(rt, "sent") {
				b.tx(dataplane.PortID(in))
			}
		}
		var s Snapshot
		b.sw.Snapshot(b.now, &s)
		var lost uint64
		for i := range s.Ports {
			for _, tc := range []int{3, 4} {
				lost += s.Ports[i].Dropped[tc][frame.DropEgressBuffer]
			}
		}
		if short(&c) == 0 {
			enough++
			if lost > 0 {
				rt.Fatalf("dropped %d at the egress, rooms %+v", lost, c.EgressRooms())
			}
		} else if lost > 0 {
			dropped++
		}
	})
	if enough == 0 || dropped == 0 {
		t.Errorf("%d configurations with room enough, %d of the others dropped", enough, dropped)
	}
}
