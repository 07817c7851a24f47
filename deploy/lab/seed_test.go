package lab

import (
	"maps"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// seeds are all that the machines of a lab draw from.
func seeds(t *Topology) map[string]uint64 {
	all := map[string]uint64{}
	for _, n := range t.Nodes {
		if n.Kind == Switch {
			c := t.SwitchConfig(n)
			all[n.Name+" marking"] = c.Seed
			if c.ECMPSeed != nil {
				all[n.Name+" ecmp"] = *c.ECMPSeed
			}
			for i := range c.Ports {
				all[n.Name+":"+c.Ports[i].Name] = c.Ports[i].LinkSeed(n.Name)
			}
			continue
		}
		c := t.NICConfig(n)
		all[n.Name], all[n.Name+":eth0"] = c.Seed, c.Port.LinkSeed(n.Name)
	}
	return all
}

// TestWithoutSeed: NICs count, switches have the seed of their settings, and what they do by names
// is left to names.
func TestWithoutSeed(t *testing.T) {
	top := Star("x", 2, unit.GbPerSecond, time.Microsecond)
	want := map[string]uint64{"sw0 marking": 1, "h1": 2, "h2": 3}
	for _, port := range []string{"sw0:swp1", "sw0:swp2", "h1:eth0", "h2:eth0"} {
		want[port] = link.SeedOf(port)
	}
	if got := seeds(&top); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestSeed: by a lab's seed all have seeds, no two the same, the same at every reading, others with
// another seed, and a node more moves none.
func TestSeed(t *testing.T) {
	top := Star("x", 3, unit.GbPerSecond, time.Microsecond)
	top.Seed = 1
	one := seeds(&top)
	if !maps.Equal(one, seeds(&top)) {
		t.Error("a second reading differs")
	}
	owner := map[uint64]string{0: "none"}
	for name, seed := range one {
		if twin := owner[seed]; twin != "" {
			t.Errorf("%s and %s have the seed %d", name, twin, seed)
		}
		owner[seed] = name
	}
	if len(one) != 2+3+6 {
		t.Errorf("%d seeds: %v", len(one), one)
	}
	more := Star("x", 4, unit.GbPerSecond, time.Microsecond)
	for _, more.Seed = range []uint64{1, 2} {
		other := seeds(&more)
		for name, seed := range one {
			if (other[name] == seed) != (more.Seed == 1) {
				t.Errorf("%s has %d by seed 1 and %d by seed %d", name, seed, other[name],
					more.Seed)
			}
		}
	}
}

// TestSeedsThatAreGiven: those of a switch's own settings are over those by the lab's seed, and an
// ECMP seed for all switches is as well.
func TestSeedsThatAreGiven(t *testing.T) {
	top := Star("x", 1, unit.GbPerSecond, time.Microsecond)
	top.Seed = 1
	common := uint64(5)
	top.Switch.ECMPSeed = &common
	if got := seeds(&top); got["sw0 ecmp"] != 5 || got["sw0 marking"] == 1 {
		t.Errorf("%v", got)
	}
	if err := yaml.Unmarshal([]byte("{seed: 7, ecmp_seed: 8}"), &top.Nodes[0].Switch); err != nil {
		t.Fatal(err)
	}
	if got := seeds(&top); got["sw0 ecmp"] != 8 || got["sw0 marking"] != 7 || common != 5 {
		t.Errorf("%v", got)
	}
}
