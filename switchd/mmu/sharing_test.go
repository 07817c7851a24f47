package mmu

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// sharedHeadroom is three ports whose PGs go to XOFF at 10 KB and may store 3 KB more each, out of
// 5 KB that they share.
func sharedHeadroom() Config {
	c := uniform(3, 1000*unit.KB, Profile{Limit: Limit{Static: 10 * unit.KB}, Lossless: true,
		Headroom: 3 * unit.KB})
	c.Pools[0].SharedHeadroom = 5 * unit.KB
	return c
}

// SONiC, shared headroom pool: headroom is taken from the pool's xoff, by a PG up to its own xoff,
// by all together up to the pool's. A PG whose neighbours left nothing drops, and is in XOFF.
func TestSharedHeadroomPool(t *testing.T) {
	b := mustNew(t, sharedHeadroom())
	if got := b.Shared(0); got != 995*unit.KB {
		t.Fatalf("shared %v: only the pool's headroom may be set aside", got)
	}
	for port, want := range []unit.Bytes{3 * unit.KB, 2 * unit.KB, 0} {
		w := at(frame.PortID(port), 3)
		for range 10 {
			b.Admit(w, 1000)
		}
		var got unit.Bytes
		for b.Admit(w, 1000) == frame.NoReason {
			got += 1000
		}
		if u := b.Group(w.In, 3); got != want || u.Headroom != want || !u.XOFF || u.Dropped != 1 {
			t.Errorf("port %d took %v of headroom, want %v: %+v", port, got, want, u)
		}
	}
	if use := b.Headroom(0); use != (Use{5000, 5000, 5000}) || b.HeadroomSize(0) != 5000 {
		t.Errorf("headroom pool %+v of %v", use, b.HeadroomSize(0))
	}
	b.Release(at(0, 3), 1000)
	if why := b.Admit(at(2, 3), 1000); why != frame.NoReason || b.Group(2, 3).Headroom != 1000 {
		t.Errorf("%v with a frame's room in the pool: %+v", why, b.Group(2, 3))
	}
}

// TestXOFFWithoutHeadroomEnds: a PG that lost its frame to a full headroom pool is in XOFF, though
// its use is one at which it may run, and comes back with the next release.
func TestXOFFWithoutHeadroomEnds(t *testing.T) {
	b := mustNew(t, sharedHeadroom())
	for port := range frame.PortID(2) {
		for range 13 {
			b.Admit(at(port, 3), 1000)
		}
	}
	for range 10 {
		b.Admit(at(2, 3), 990) // 100 bytes below the limit
	}
	if why := b.Admit(at(2, 3), 1000); why != frame.DropHeadroom || !b.Group(2, 3).XOFF {
		t.Fatalf("%v, %+v", why, b.Group(2, 3))
	}
	b.Release(at(0, 3), 1000)
	if b.Group(2, 3).XOFF {
		t.Errorf("stays in XOFF: %+v", b.Group(2, 3))
	}
}

// TestCells: a frame takes whole cells, limits stay bytes, packets and bytes are counted as they
// are. 208 bytes is a cell of a common switch.
func TestCells(t *testing.T) {
	c := uniform(1, 100*unit.KB, Profile{Limit: Limit{Static: 1000}})
	c.Cell = 208
	b := mustNew(t, c)
	for n, want := range map[unit.Bytes]unit.Bytes{1: 208, 208: 208, 209: 416, 416: 416} {
		if b.Admit(at(0, 0), n); b.QueueBytes(0, 0) != want {
			t.Errorf("%d bytes take %d", n, b.QueueBytes(0, 0))
		}
		b.Release(at(0, 0), n)
	}
	for range 4 { // 832 of 1000: the fifth cell does not fit
		b.Admit(at(0, 0), 60)
	}
	if why := b.Admit(at(0, 0), 60); why != frame.DropBuffer {
		t.Errorf("a fifth cell: %v", why)
	}
	if got := b.Group(0, 0); got.Shared != 832 || got.Admitted.Frames != 8 ||
		got.Admitted.Bytes != 1+208+209+416+4*60 {
		t.Errorf("%+v", got)
	}
}

// sonicEgress is SONiC's division: lossless queues of a static limit that is the whole pool, lossy
// ones of a dynamic limit in a pool of their own.
func sonicEgress() Config {
	c := uniform(2, 1000*unit.KB, Profile{Limit: Alpha(8, 1), Lossless: true, Headroom: 3000})
	c.EgressPools = []Pool{{Name: "egress_lossless_pool", Size: 1000 * unit.KB},
		{Name: "egress_lossy_pool", Size: 300 * unit.KB}}
	for port := range c.Queues {
		for q := range c.Queues[port] {
			c.Queues[port][q] = QueueProfile{Pool: 1, Limit: Alpha(2, 1)}
		}
		c.Queues[port][3] = QueueProfile{Limit: Limit{Static: 1000 * unit.KB}}
		c.Groups[port][0] = Profile{Limit: Alpha(8, 1)}
	}
	return c
}

// SONiC, BUFFER_PROFILE egress_lossless_profile: static_th is the size of the pool. Whatever the
// ingress admits has its place at the egress, headroom included.
func TestEgressOfLosslessNeverDrops(t *testing.T) {
	b := mustNew(t, sonicEgress())
	for _, w := range []Where{{In: 0, Group: 3, Queue: 3}, {In: 1, Group: 3, Queue: 3}} {
		for {
			why := b.Admit(w, 1000)
			if why == frame.DropHeadroom {
				break
			}
			if why != frame.NoReason {
				t.Fatalf("%+v: %v", w, why)
			}
		}
	}
	if got, all := b.EgressPool(0).Occupancy, b.Pool(0).Occupancy; got != all || got < 900*unit.KB {
		t.Errorf("egress stores %v, ingress %v", got, all)
	}
}

// TestEgressLimit: a lossy queue ends at alpha/(1+alpha) of its egress pool though the ingress has
// room, and what was refused is charged nowhere.
func TestEgressLimit(t *testing.T) {
	b := mustNew(t, sonicEgress())
	got, why := fill(b, at(0, 0), 1000)
	if got != 200*unit.KB || why != frame.DropEgressBuffer {
		t.Errorf("stored %v, then %v", got, why)
	}
	if u := b.Group(0, 0); u.Shared != got || u.Dropped != 0 || u.Admitted.Frames != 200 {
		t.Errorf("group %+v", u)
	}
	if b.EgressPool(1) != (Use{got, got, got}) || b.QueueLimit(0, 0) != 200*unit.KB ||
		b.EgressShared(1) != 300*unit.KB {
		t.Errorf("pool %+v, limit %v", b.EgressPool(1), b.QueueLimit(0, 0))
	}
}

// TestQueueReserved: a queue fills what is reserved for it though others have used up the pool.
func TestQueueReserved(t *testing.T) {
	c := sonicEgress()
	c.Queues[1][0].Reserved = 5 * unit.KB
	for q := range c.Queues[0] {
		c.Queues[0][q].Limit = Alpha(1000, 1)
	}
	b := mustNew(t, c)
	if got, _ := fill(b, at(0, 0), 1000); got != 295*unit.KB {
		t.Fatalf("the other stored %v", got)
	}
	w := Where{Out: 1}
	if got, why := fill(b, w, 1000); got != 5*unit.KB || why != frame.DropEgressBuffer {
		t.Errorf("stored %v, then %v", got, why)
	}
}
