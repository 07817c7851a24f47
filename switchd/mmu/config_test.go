package mmu

import (
	"strings"
	"testing"

	"github.com/rocelab/rocelab/dataplane/unit"
)

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(c *Config){
		"pool 3 of 1":              func(c *Config) { c.Groups[1][7].Pool = 3 },
		"port 1 group 7: a negat":  func(c *Config) { c.Groups[1][7].XON = -1 },
		"headroom in a lossy":      func(c *Config) { c.Groups[0][0].Headroom = 1 },
		"take 101KB of 100KB":      func(c *Config) { c.Groups[0][0].Reserved = 101 * unit.KB },
		"size 0, want":             func(c *Config) { c.Pools[0].Size = 0 },
		"alpha 1/-1":               func(c *Config) { c.Groups[0][0].Limit = Alpha(1, -1) },
		"queues of 1 ports, group": func(c *Config) { c.Queues = c.Queues[:1] },
		"static limit -1":          func(c *Config) { c.Groups[0][0].Limit = Limit{Static: -1} },
		"cell 65537, want 0 to":    func(c *Config) { c.Cell = 65537 },
		"shared headroom 100001, ": func(c *Config) { c.Pools[0].SharedHeadroom = 100_001 },
		"headroom take 101KB of 1": func(c *Config) {
			c.Pools[0].SharedHeadroom, c.Groups[0][0].Reserved = 60*unit.KB, 41*unit.KB
		},
		"headroom at the egress": func(c *Config) {
			c.EgressPools = []Pool{{Name: "e", Size: 9, SharedHeadroom: 1}}
		},
		"called \"ingress\"": func(c *Config) {
			c.EgressPools = []Pool{{Name: "ingress", Size: 9}}
		},
		"port 0 queue 2: egress pool 1 of 1": func(c *Config) {
			c.EgressPools, c.Queues[0][2].Pool = []Pool{{Size: 9}}, 1
		},
		"port 1 queue 3: a size above": func(c *Config) { c.Queues[1][3].Max = 1 << 41 },
		"reserved takes 10 of 9": func(c *Config) {
			c.EgressPools, c.Queues[0][2].Reserved = []Pool{{Size: 9}}, 10
		},
	} {
		c := uniform(2, 100*unit.KB, Profile{Limit: Alpha(1, 1)})
		change(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
