package mmu

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// TestClearWatermarks: a kind starts again from what is stored; the other kind, and the other
// objects, go on.
func TestClearWatermarks(t *testing.T) {
	b := mustNew(t, uniform(1, 100*unit.KB, Profile{Limit: Alpha(1, 1)}))
	for range 3 {
		b.Admit(at(0, 0), 1000)
	}
	b.Release(at(0, 0), 1000)
	b.ClearWatermark(UserWatermark, QueueStored)
	if got := b.Queue(0, 0); got != (Use{2000, 2000, 3000}) {
		t.Errorf("queue %+v", got)
	}
	if got := b.Pool(0); got != (Use{2000, 3000, 3000}) {
		t.Errorf("pool %+v", got)
	}
	b.ClearWatermark(PersistentWatermark, PoolStored)
	if got := b.Pool(0); got != (Use{2000, 3000, 2000}) {
		t.Errorf("pool %+v", got)
	}
	b.Admit(at(0, 0), 500)
	if got := b.Pool(0); got != (Use{2500, 3000, 2500}) {
		t.Errorf("pool %+v", got)
	}
	b.ClearWatermarks()
	if got := b.Group(0, 0); got.SharedWatermark != 2500 || got.SharedPersistent != 3000 {
		t.Errorf("group %+v", got)
	}
}
