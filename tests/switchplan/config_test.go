package switchplan

import (
	"time"

	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/fib"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/pipeline"
	"github.com/rocelab/rocelab/switchd/qos"
)

// What every case starts from, unless it changes it.
const (
	linkRate  = 10 * unit.GbPerSecond
	linkDelay = time.Microsecond

	// The DSCPs of the cases, and where SONiC's maps send them: see dscpToTC.
	dscpLossless, dscpOther = 3, 4 // to lossless classes of their own
	dscpLossy, dscpBest     = 8, 0 // to classes 0 and 1, which share a lossy group
)

// The lossless priorities, and what the cases mostly use.
const (
	losslessTC, otherTC = 3, 4
	lossyTC, bestTC     = 0, 1
	lossyPG             = 0
)

var losslessSet = pfc.SetOf(losslessTC, otherTC)

// baseConfig is four ports with the maps of SONiC's qos_config.j2: two lossless classes with groups
// and queues of their own, everything else in one lossy group.
func baseConfig() pipeline.Config {
	c := pipeline.Config{
		Pools: []mmu.Pool{{Name: "ingress_lossless_pool", Size: 400 * unit.KB}},
		MACs:  fib.Config{Max: 64, Age: time.Minute},
		Seed:  1,
	}
	for i := range maxPorts {
		c.Ports = append(c.Ports, basePort(i))
	}
	return c
}

func basePort(i int) pipeline.Port {
	p := pipeline.Port{Name: portName(i), Rate: linkRate, MAC: switchMAC(i),
		PFCSend: losslessSet, PFCObey: losslessSet,
		Classify: classify.Map{DSCP: dscpToTC(), PCP: [8]uint8{0, 1, 2, 3, 4, 5, 6, 7}, Default: 0},
		Map:      qos.Identity()}
	p.Map.Group = [classify.Classes]mmu.PG{0, 0, 0, 3, 4, 0, 0, 7}
	for g := range p.Groups {
		p.Groups[g] = mmu.Profile{Limit: mmu.Alpha(1, 1)}
	}
	for _, g := range []mmu.PG{losslessTC, otherTC} {
		p.Groups[g] = mmu.Profile{Reserved: 2 * unit.KB, Limit: mmu.Alpha(1, 2), Lossless: true,
			Headroom: 20 * unit.KB, XONOffset: 4 * unit.KB}
	}
	p.Scheduler = qos.DWRRConfig{MTU: 1518}
	for q := range p.Scheduler.Weight {
		p.Scheduler.Weight[q] = 14
	}
	p.Scheduler.Weight[losslessTC], p.Scheduler.Weight[otherTC] = 15, 15
	return p
}

// dscpToTC is the map AZURE of SONiC's qos_config.j2.
func dscpToTC() (m [64]uint8) {
	for i := range m {
		m[i] = 1
	}
	m[3], m[4], m[5], m[8], m[46], m[48] = 3, 4, 2, 0, 5, 6
	return m
}

// switchMAC is the source of a port's PFC frames.
func switchMAC(i int) wire.MAC { return wire.MAC{2, 0x72, 0xff, 0, 0, byte(i)} }

// each changes every port of a configuration.
func each(c *pipeline.Config, change func(p *pipeline.Port)) {
	for i := range c.Ports {
		change(&c.Ports[i])
	}
}

// setAside is what of the ingress pool is not shared: reserved and, unless it is a pool of its own,
// headroom of every group.
func setAside(c *pipeline.Config) (sum unit.Bytes) {
	for i := range c.Ports {
		for _, g := range c.Ports[i].Groups {
			sum += g.Reserved
			if c.Pools[0].SharedHeadroom == 0 {
				sum += g.Headroom
			}
		}
	}
	return sum + c.Pools[0].SharedHeadroom
}

// shared is the size of the ingress pool's shared part.
func shared(c *pipeline.Config) unit.Bytes { return c.Pools[0].Size - setAside(c) }

// fits is how many frames of n bytes a group stores within its limit while nobody else stores
// anything.
func fits(c *pipeline.Config, g *mmu.Profile, n unit.Bytes) int { return fitsBeside(c, g, n, 0) }

// fitsBeside is the same while others hold taken of the shared part.
func fitsBeside(c *pipeline.Config, g *mmu.Profile, n, taken unit.Bytes) int {
	return dynamic(shared(c)-taken, g.Limit, g.Reserved, charge(c, n))
}

// dynamic is how many frames of n bytes fit into what is reserved and a limit's part of what is
// free. With a dynamic limit the k-th frame fits as long as
//
//	k n - r <= alpha (S - ((k-1) n - r))
//
// which is the state of Choudhury and Hahne's dynamic threshold when one user fills the buffer,
// to the frame; S is what is free for all and r what is reserved.
func dynamic(free unit.Bytes, limit mmu.Limit, reserved, n unit.Bytes) int {
	if limit.Den == 0 {
		return int((limit.Static + reserved) / n)
	}
	num, den := unit.Bytes(limit.Num), unit.Bytes(limit.Den)
	return int((num*(free+n) + (num+den)*reserved) / (n * (num + den)))
}

// charge is what a frame of n bytes takes of the buffer: whole cells.
func charge(c *pipeline.Config, n unit.Bytes) unit.Bytes {
	if c.Cell == 0 {
		return n
	}
	return (n + c.Cell - 1) / c.Cell * c.Cell
}

// inHeadroom is how many more a lossless group stores behind its limit.
func inHeadroom(g *mmu.Profile, n unit.Bytes) int { return int(g.Headroom / n) }
