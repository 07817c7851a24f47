package switchd

import (
	"fmt"
	"maps"
	"slices"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/fib"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/pipeline"
	"github.com/rocelab/rocelab/switchd/qos"
	"github.com/rocelab/rocelab/switchd/sonic"
)

// maxFrame is what a weight of 1 sends in a round at least: the largest frame of a standard MTU. It
// is the port's largest frame where that is larger.
const maxFrame = 1518 * unit.Bytes(1)

// Machine converts a valid configuration into the machine's units.
func (c *Config) Machine() (pipeline.Config, error) {
	t, faults := c.Tables()
	if len(faults) > 0 {
		return pipeline.Config{}, fmt.Errorf("switch configuration: %s: %s", faults[0].Path,
			faults[0].Problem)
	}
	m, err := c.MachineOf(t)
	if err != nil {
		return m, err
	}
	if err := m.Validate(); err != nil {
		return m, fmt.Errorf("switch configuration: %w", err)
	}
	return m, nil
}

// MachineOf is the switch that runs the given tables, with ports and options of c. It is not yet
// judged as a whole.
func (c *Config) MachineOf(t *sonic.Tables) (pipeline.Config, error) {
	row := t.Switch[sonic.Global]
	m := pipeline.Config{
		FloodClass: row.FloodTC,
		Cell:       row.Cell,
		MACs:       fib.Config{Max: c.MACLimit, Age: c.MACAgeing},
		Seed:       c.Seed,
		Telemetry:  c.Telemetry.config(),
	}
	b := builder{t: t, row: row, pools: make(map[string]int)}
	m.Pools, m.EgressPools = b.pool(sonic.Ingress), b.pool(sonic.Egress)
	for i := range c.Ports {
		port, err := b.port(c.Ports[i].Name)
		if err != nil {
			return m, fmt.Errorf("switch configuration: port %s: %w", c.Ports[i].Name, err)
		}
		port.Rate, port.MAC = c.Ports[i].Rate, c.portMAC(i)
		port.MaxFrame = unit.Bytes(c.Ports[i].MaxFrame())
		port.Scheduler.MTU = max(maxFrame, port.MaxFrame)
		port.PauseDelay = c.PauseDelay.At(port.Rate)
		for _, q := range c.QCN.Queues {
			port.Queues[q].QCN = c.QCN.config()
		}
		m.Ports = append(m.Ports, port)
	}
	c.forward(&m)
	return m, nil
}

// builder turns the rows of a port into what the machine is told.
type builder struct {
	t     *sonic.Tables
	row   sonic.Switch
	pools map[string]int // index of each pool among those of its direction
}

// pool lists the pools of one direction in the order of their names.
func (b *builder) pool(d sonic.Direction) (pools []mmu.Pool) {
	for _, name := range slices.Sorted(maps.Keys(b.t.Pools)) {
		if p := b.t.Pools[name]; p.Type == d {
			b.pools[name] = len(pools)
			pools = append(pools, mmu.Pool{Name: name, Size: p.Size, SharedHeadroom: p.XOFF})
		}
	}
	return pools
}

func (c *QCN) config() qos.QCNConfig {
	return qos.QCNConfig{Qeq: c.Qeq, W: c.W, Base: c.Base, Jitter: c.Jitter, Headers: c.Headers}
}

func (c *Telemetry) config() pipeline.Telemetry {
	if len(c.Queues) == 0 {
		return pipeline.Telemetry{}
	}
	t := pipeline.Telemetry{Switch: c.Switch, Hops: c.Hops, MaxFrame: c.MaxFrame}
	for _, q := range c.Queues {
		t.Queues = t.Queues.With(mmu.Queue(q))
	}
	return t
}
