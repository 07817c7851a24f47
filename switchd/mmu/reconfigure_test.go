package mmu

import (
	"slices"
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// standing is a buffer in which PG 3 of port 1 stores 8 KB, 10 KB being its limit.
func standing(t *testing.T) (*Buffer, Config) {
	c := uniform(2, 1000*unit.KB, Profile{Limit: Limit{Static: 10 * unit.KB}, Lossless: true,
		Headroom: 3 * unit.KB, XONOffset: 2 * unit.KB})
	b := mustNew(t, c)
	for range 8 {
		b.Admit(at(1, 3), 1000)
	}
	return b, c
}

// TestReconfigureXOFF: below the new limit a PG stays in XON, beyond it goes to XOFF at once, in
// between it keeps its state, and a limit that rises again brings it back.
func TestReconfigureXOFF(t *testing.T) {
	b, c := standing(t)
	for _, step := range []struct {
		limit unit.Bytes
		want  []Change
	}{
		{9 * unit.KB, nil}, // within the hysteresis: stays in XON
		{7 * unit.KB, []Change{{1, 3, true}}},
		{9 * unit.KB, nil}, // stays in XOFF
		{10 * unit.KB, []Change{{1, 3, false}}},
	} {
		c.Groups[1][3].Limit.Static = step.limit
		if err := b.Reconfigure(c); err != nil {
			t.Fatal(err)
		}
		if got := changes(b); !slices.Equal(got, step.want) {
			t.Fatalf("limit %v: changes %v, want %v", step.limit, got, step.want)
		}
	}
	if u := b.Group(1, 3); u.Shared != 8*unit.KB || u.Admitted.Frames != 8 {
		t.Errorf("%+v", u)
	}
}

// TestReconfigureToLossy: what was in headroom is shared now, XON is told, the next frame drops.
func TestReconfigureToLossy(t *testing.T) {
	b, c := standing(t)
	for range 4 {
		b.Admit(at(1, 3), 1000)
	}
	changes(b)
	c.Groups[1][3] = Profile{Limit: Limit{Static: 10 * unit.KB}}
	if err := b.Reconfigure(c); err != nil {
		t.Fatal(err)
	}
	if got := changes(b); !slices.Equal(got, []Change{{1, 3, false}}) {
		t.Errorf("changes %v", got)
	}
	if u := b.Group(1, 3); u.Headroom != 0 || u.Shared != 12*unit.KB ||
		b.Headroom(0).Occupancy != 0 {
		t.Errorf("%+v, headroom %+v", u, b.Headroom(0))
	}
	if why := b.Admit(at(1, 3), 1000); why != frame.DropBuffer {
		t.Errorf("the next frame: %v", why)
	}
}

// TestReconfigureToLess: a pool that shrinks below what it stores takes nothing in until that has
// left, and everything can leave.
func TestReconfigureToLess(t *testing.T) {
	b, c := standing(t)
	c.Pools[0].Size = 1000*unit.KB - b.Shared(0) + unit.KB
	if err := b.Reconfigure(c); err != nil {
		t.Fatal(err)
	}
	if why := b.Admit(at(0, 0), 1000); why != frame.NoReason || b.Group(0, 0).Headroom != 1000 {
		t.Errorf("%v, %+v", why, b.Group(0, 0)) // its own headroom is still its own
	}
	for range 8 {
		b.Release(at(1, 3), 1000)
	}
	b.Release(at(0, 0), 1000)
	if b.Pool(0).Occupancy != 0 || b.Group(0, 0).XOFF || b.Group(1, 3).XOFF {
		t.Errorf("pool %+v, %+v, %+v", b.Pool(0), b.Group(0, 0), b.Group(1, 3))
	}
}

// TestReconfigureFails: another chip is refused, and nothing has changed.
func TestReconfigureFails(t *testing.T) {
	b, c := standing(t)
	before, limit := b.Group(1, 3), c.Groups[1][3].Limit
	for name, change := range map[string]func(c *Config){
		"ports":   func(c *Config) { c.Groups, c.Queues = c.Groups[:1], c.Queues[:1] },
		"cell":    func(c *Config) { c.Cell = 208 },
		"invalid": func(c *Config) { c.Groups[1][3].Limit.Static = -1 },
	} {
		bad := c
		bad.Groups = slices.Clone(c.Groups)
		bad.Groups[1][3].Limit.Static = 1
		change(&bad)
		if err := b.Reconfigure(bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if got := b.Group(1, 3); got != before || got.Limit != limit.Static || b.Changed() {
		t.Errorf("%+v, was %+v", got, before)
	}
}
