package mmu

import (
	"slices"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

const mtu unit.Bytes = 1500

func TestLossyDropsAtItsLimit(t *testing.T) {
	b := mustNew(t, uniform(2, 100*unit.KB, Profile{Limit: Limit{Static: 10 * unit.KB}}))
	got, why := fill(b, at(1, 0), 1000)
	if got != 10*unit.KB || why != frame.DropBuffer || len(changes(b)) != 0 {
		t.Errorf("stored %v, then %v", got, why)
	}
	b.Release(at(1, 0), 1000)
	if why := b.Admit(at(1, 0), 1000); why != frame.NoReason {
		t.Errorf("after a release: %v", why)
	}
}

// TestLosslessLife walks a PG through XOFF, full headroom, and back.
func TestLosslessLife(t *testing.T) {
	b := mustNew(t, uniform(2, 1000*unit.KB, Profile{Limit: Limit{Static: 10 * unit.KB},
		Lossless: true, Headroom: 3 * unit.KB, XONOffset: 2 * unit.KB}))
	w := at(1, 3)
	if got, _ := fill(b, w, 1000); got != 11*unit.KB {
		t.Fatalf("XOFF after %v", got)
	}
	if got := changes(b); !slices.Equal(got, []Change{{1, 3, true}}) {
		t.Fatalf("changes %v", got)
	}
	for range 2 {
		if why := b.Admit(w, 1000); why != frame.NoReason {
			t.Fatalf("headroom refuses: %v", why)
		}
	}
	if why := b.Admit(w, 1000); why != frame.DropHeadroom {
		t.Fatalf("beyond headroom: %v", why)
	}
	for i := range 5 { // 3 out of headroom, 2 out of shared
		if got := changes(b); len(got) != 0 {
			t.Fatalf("after %d releases: %v", i, got)
		}
		b.Release(w, 1000)
	}
	if got := changes(b); !slices.Equal(got, []Change{{1, 3, false}}) {
		t.Errorf("changes %v at %+v", got, b.Group(1, 3))
	}
	want := GroupUse{Shared: 8000, Limit: 10000, HeadroomLimit: 3000, SharedWatermark: 10000,
		HeadroomWatermark: 3000, SharedPersistent: 10000, HeadroomPersistent: 3000,
		Admitted: dataplane.Count{Frames: 13, Bytes: 13000}, Dropped: 1}
	if got := b.Group(1, 3); got != want {
		t.Errorf("use %+v", got)
	}
}

// TestReservedIsOwn: a PG fills what is reserved for it though the shared part is used up.
func TestReservedIsOwn(t *testing.T) {
	c := uniform(2, 20*unit.KB, Profile{Limit: Alpha(1000, 1)})
	c.Groups[1][0].Reserved = 5 * unit.KB
	b := mustNew(t, c)
	if got, _ := fill(b, at(0, 0), 1000); got != 15*unit.KB {
		t.Fatalf("the other stored %v", got)
	}
	if got, why := fill(b, at(1, 0), 1000); got != 5*unit.KB || why != frame.DropBuffer {
		t.Errorf("stored %v, then %v", got, why)
	}
	if b.Pool(0) != (Use{20 * unit.KB, 20 * unit.KB, 20 * unit.KB}) {
		t.Errorf("pool %+v", b.Pool(0))
	}
}

// TestOthersDrain: a PG resumes because another one drains.
func TestOthersDrain(t *testing.T) {
	b := mustNew(t, uniform(2, 124*unit.KB, Profile{Limit: Alpha(1, 1), Lossless: true,
		Headroom: 1500, XONOffset: 1000}))
	hog, small := at(0, 0), at(1, 0)
	if got, _ := fill(b, hog, 1000); got != 51*unit.KB {
		t.Fatalf("the hog stored %v", got)
	}
	if got, _ := fill(b, small, 1000); got != 26*unit.KB {
		t.Fatalf("the small one stored %v", got)
	}
	b.Release(small, 1000) // the frame in headroom
	changes(b)
	for range 2 {
		b.Release(hog, 1000)
	}
	if got := changes(b); !slices.Contains(got, Change{1, 0, false}) {
		t.Errorf("changes %v, small %+v", got, b.Group(1, 0))
	}
}

func TestQueueLimit(t *testing.T) {
	c := uniform(1, 100*unit.KB, Profile{Limit: Alpha(1, 1)})
	c.Queues[0][5].Max = 2000
	b := mustNew(t, c)
	w := Where{Queue: 5}
	if got, why := fill(b, w, 900); got != 1800 || why != frame.DropQueueFull {
		t.Errorf("stored %v, then %v", got, why)
	}
	if b.QueueBytes(0, 5) != 1800 || b.Queue(0, 5).Watermark != 1800 || b.QueueBytes(0, 4) != 0 {
		t.Errorf("queue %+v", b.Queue(0, 5))
	}
}

// TestNothingToResume: a lossless PG that cannot store a single frame does not stay in XOFF.
func TestNothingToResume(t *testing.T) {
	b := mustNew(t, uniform(1, 100*unit.KB, Profile{Lossless: true, Headroom: 100}))
	if why := b.Admit(at(0, 0), mtu); why != frame.DropHeadroom || b.Group(0, 0).XOFF {
		t.Errorf("%v, %+v", why, b.Group(0, 0))
	}
}

func TestReleaseOfNothingPanics(t *testing.T) {
	b := mustNew(t, uniform(1, 100*unit.KB, Profile{Limit: Alpha(1, 1)}))
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), "released 9 bytes") {
			t.Errorf("recovered %v", r)
		}
	}()
	b.Release(at(0, 0), 9)
}

func BenchmarkAdmit(b *testing.B) {
	c := uniform(32, 12*unit.MB, Profile{Limit: Alpha(1, 1), Lossless: true,
		Headroom: 22400, XONOffset: 3000})
	m := mustNew(b, c)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		w := Where{In: frame.PortID(i & 31), Group: 3, Out: frame.PortID(i >> 5 & 31), Queue: 3}
		if m.Admit(w, 1082) == frame.NoReason {
			m.Release(w, 1082)
		}
		i++
	}
	if m.Pool(0).Watermark != 1082 {
		b.Fatal("nothing was admitted")
	}
}

func TestNothingIsAllocated(t *testing.T) {
	c := uniform(2, 1000*unit.KB, Profile{Limit: Limit{Static: 3000}, Lossless: true,
		Headroom: 3000})
	c.Cell, c.EgressPools = 256, []Pool{{Name: "egress", Size: 1000 * unit.KB}}
	c.Queues[0][0].Limit = Alpha(1, 1)
	b := mustNew(t, c)
	if n := testing.AllocsPerRun(100, func() {
		for range 4 {
			b.Admit(at(1, 3), 1000)
			b.NextChange()
		}
		for range 4 {
			b.Release(at(1, 3), 1000)
			b.NextChange()
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if got := b.Group(1, 3); got.HeadroomWatermark != 2*1024 || got.Dropped != 0 {
		t.Errorf("%+v", got)
	}
}
