package switchd

import (
	"slices"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/switchd/mmu"
)

func TestClearWatermarksRequest(t *testing.T) {
	for _, c := range []struct {
		r    ClearWatermarksRequest
		kind mmu.Watermark
		of   []mmu.Object
		err  string
	}{
		{r: ClearWatermarksRequest{"user", "queue"}, of: []mmu.Object{mmu.QueueStored}},
		{r: ClearWatermarksRequest{"persistent", "priority_group_headroom"},
			kind: mmu.PersistentWatermark, of: []mmu.Object{mmu.GroupHeadroom}},
		{r: ClearWatermarksRequest{Kind: "user"}, of: []mmu.Object{mmu.GroupShared,
			mmu.GroupHeadroom, mmu.QueueStored, mmu.PoolStored, mmu.PoolHeadroom}},
		{r: ClearWatermarksRequest{}, err: `kind "": want one of ["persistent" "user"]`},
		{r: ClearWatermarksRequest{"user", "pg"}, err: `object "pg": want one of ["buffer_pool"`},
	} {
		kind, of, err := c.r.parse()
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%+v: %v, want %q", c.r, err, c.err)
			}
			continue
		}
		if err != nil || kind != c.kind || !slices.Equal(of, c.of) {
			t.Errorf("%+v: %v %v %v", c.r, kind, of, err)
		}
	}
}
