package switchd

import (
	"fmt"
	"slices"

	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/fib"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/pipeline"
	"github.com/rocelab/rocelab/switchd/qos"
)

// maxFrame is what a weight of 1 sends in a round: the largest frame of a standard MTU.
const maxFrame = 1518 * unit.Bytes(1)

// Machine converts a valid configuration into the machine's units.
func (c *Config) Machine() (pipeline.Config, error) {
	m := pipeline.Config{
		Pools:      []mmu.Pool{{Name: "ingress_lossless_pool", Size: c.Pool.Size}},
		FloodClass: c.FloodTC,
		MACs:       fib.Config{Max: c.MACLimit, Age: c.MACAgeing},
		Seed:       c.Seed,
	}
	for i, p := range c.Ports {
		port := pipeline.Port{Name: p.Name, Rate: p.Rate, MAC: pauseSource(i),
			Quanta: c.PauseQuanta, Classify: c.classes(), Map: qos.Identity(),
			Scheduler: c.schedule()}
		for tc, pg := range c.TCToPG {
			port.Map.Group[tc] = mmu.PG(pg)
		}
		for tc, q := range c.TCToQueue {
			port.Map.Queue[tc] = mmu.Queue(q)
		}
		for g := range port.Groups {
			port.Groups[g] = c.Lossy.profile()
		}
		for _, tc := range c.PFCEnable {
			port.PFCSend = port.PFCSend.With(pfc.Priority(tc))
			port.Groups[port.Map.Group[tc]] = c.Lossless.profile()
			port.Queues[port.Map.Queue[tc]].WRED = c.WRED.profile()
		}
		port.PFCObey = port.PFCSend
		m.Ports = append(m.Ports, port)
	}
	if err := m.Validate(); err != nil {
		return m, fmt.Errorf("switch configuration: %w", err)
	}
	return m, nil
}

// pauseSource is the source address of a port's PFC frames: locally administered, by port.
func pauseSource(port int) wire.MAC {
	return wire.MAC{0x02, 0x72, 0xff, 0, byte(port >> 8), byte(port)}
}

func (c *Config) classes() (m classify.Map) {
	if c.Trust == "pcp" {
		m.Trust = classify.TrustPCP
	}
	m.Default = c.DefaultTC
	for i := range m.DSCP {
		m.DSCP[i] = c.DefaultTC
	}
	for dscp, tc := range c.DSCPToTC {
		m.DSCP[dscp] = tc
	}
	for i := range m.PCP {
		m.PCP[i] = c.DefaultTC
	}
	for pcp, tc := range c.Dot1pToTC {
		m.PCP[pcp] = tc
	}
	return m
}

func (p *BufferProfile) profile() mmu.Profile {
	out := mmu.Profile{Reserved: p.Size, Limit: mmu.Limit{Static: p.StaticTh}, XON: p.XON,
		Lossless: p.XOFF > 0, Headroom: p.XOFF, XONOffset: p.XONOffset}
	if p.DynamicTh != nil {
		out.Limit = mmu.Alpha(1<<max(*p.DynamicTh, 0), 1<<max(-*p.DynamicTh, 0))
	}
	return out
}

func (w *WREDProfile) profile() (out qos.WREDConfig) {
	if w.ECN == "ecn_all" {
		out.Mark = qos.Curve{Kmin: w.MinThreshold, Kmax: w.MaxThreshold,
			Pmax: w.DropProbability / 100}
	}
	if w.At == "dequeue" {
		out.At = qos.AtDequeue
	}
	return out
}

func (c *Config) schedule() qos.DWRRConfig {
	s := qos.DWRRConfig{MTU: maxFrame}
	for q := range s.Weight {
		s.Weight[q] = 1
	}
	for q, w := range c.Scheduler.Weight {
		s.Weight[q] = w
	}
	for _, q := range c.Scheduler.Strict {
		s.Strict = s.Strict.With(mmu.Queue(q))
	}
	return s
}

// Parameters are the settings that a reader of results needs.
func (c *Config) Parameters() []daemon.Parameter {
	list := []daemon.Parameter{
		{Name: "buffer", Value: c.Pool.Size.String()},
		{Name: "headroom", Value: c.Lossless.XOFF.String()},
		{Name: "Kmin", Value: c.WRED.MinThreshold.String()},
		{Name: "Kmax", Value: c.WRED.MaxThreshold.String()},
		{Name: "Pmax", Value: fmt.Sprintf("%g %%", c.WRED.DropProbability)},
		{Name: "PFC priorities",
			Value: fmt.Sprintf("%d", slices.Sorted(slices.Values(c.PFCEnable)))},
	}
	if c.Lossless.DynamicTh != nil {
		list = append(list, daemon.Parameter{Name: "alpha",
			Value: fmt.Sprintf("2^%d", *c.Lossless.DynamicTh)})
	}
	return list
}
