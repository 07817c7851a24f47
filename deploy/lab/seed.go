package lab

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/switchd"
)

// seedOf is the seed of something with a name that no other has: of the lab's seed and the name, so
// that a node more or less moves no other's dice. Without a seed of the lab it is without.
func (t *Topology) seedOf(name string, without uint64) uint64 {
	if t.Seed == 0 {
		return without
	}
	return max(link.SeedOf(fmt.Sprint(t.Seed, " ", name)), 1) // 0 would draw one
}

// seedSwitch seeds what a switch does by dice, before its own settings are read over it. An ECMP
// seed for all switches is kept: it is there to make them choose alike.
func (t *Topology) seedSwitch(name string, c *switchd.Config) {
	c.Seed = t.seedOf(name+" marking", c.Seed)
	if t.Seed != 0 && c.ECMPSeed == nil {
		seed := t.seedOf(name+" ecmp", 0)
		c.ECMPSeed = &seed
	}
}
