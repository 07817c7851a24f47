package switchd

import (
	"fmt"
	"maps"
	"slices"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/mmu"
)

// ClearWatermarksRequest lets watermarks start again from what is stored now: the body of
// POST /v1/watermarks/clear. Queue lengths of a sample go on.
type ClearWatermarksRequest struct {
	Kind string `json:"kind"` // user or persistent; each is cleared on its own
	// Object is priority_group_shared, priority_group_headroom, queue, buffer_pool or
	// headroom_pool; "" is all of them.
	Object string `json:"object,omitempty"`
}

var watermarkKinds = map[string]mmu.Watermark{
	"user": mmu.UserWatermark, "persistent": mmu.PersistentWatermark,
}

var watermarkObjects = map[string]mmu.Object{
	"priority_group_shared":   mmu.GroupShared,
	"priority_group_headroom": mmu.GroupHeadroom,
	"queue":                   mmu.QueueStored,
	"buffer_pool":             mmu.PoolStored,
	"headroom_pool":           mmu.PoolHeadroom,
}

// parse says what the request names.
func (r ClearWatermarksRequest) parse() (kind mmu.Watermark, of []mmu.Object, err error) {
	kind, ok := watermarkKinds[r.Kind]
	if !ok {
		return 0, nil, fmt.Errorf("watermark kind %q: want one of %q", r.Kind,
			slices.Sorted(maps.Keys(watermarkKinds)))
	}
	if r.Object == "" {
		return kind, slices.Sorted(maps.Values(watermarkObjects)), nil
	}
	one, ok := watermarkObjects[r.Object]
	if !ok {
		return 0, nil, fmt.Errorf("watermark object %q: want one of %q", r.Object,
			slices.Sorted(maps.Keys(watermarkObjects)))
	}
	return kind, []mmu.Object{one}, nil
}

func (s *observer) clearWatermarks(r ClearWatermarksRequest) (struct{}, error) {
	kind, objects, err := r.parse()
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, s.run.Do(func(unit.Time) {
		for _, of := range objects {
			s.sw.ClearWatermark(kind, of)
		}
	})
}
