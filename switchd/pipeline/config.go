package pipeline

import (
	"errors"
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/fib"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/qos"
)

// Config describes a switch.
type Config struct {
	Ports []Port
	Pools []mmu.Pool // of the ingress, SharedHeadroom included
	// EgressPools are what queues take from (mmu.QueueProfile.Pool); without any, the ingress
	// alone decides.
	EgressPools []mmu.Pool
	Cell        unit.Bytes // of the memory; 0: bytes
	// FloodClass is the lossy traffic class of flooded frames whose own class is lossless.
	FloodClass uint8
	MACs       fib.Config        // Ports is filled in
	Router     *fib.RouterConfig // nil: the switch bridges only
	Seed       uint64            // of the numbers that marking draws
	Telemetry  Telemetry         // at dequeue; off unless it names queues
}

// Port describes one port.
type Port struct {
	Name string
	Rate unit.Rate
	MAC  wire.MAC // source of the PFC frames it sends
	// MaxFrame is the longest frame that it takes and sends; 0: any.
	MaxFrame unit.Bytes

	// PFCSend are the priorities that it pauses, PFCObey those that can pause it. They are the
	// same but in an asymmetric setting.
	PFCSend, PFCObey pfc.Set
	// LinkPause obeys PAUSE, which stops all classes. Not together with PFC.
	// IEEE 802.1Q-2022 36.1.1
	LinkPause bool
	Quanta    uint16 // time in an XOFF; 0 is the longest
	// PauseDelay is how long after its last bit a PFC frame takes effect. The standard limits it
	// (pfc.MaxResponse); 0 is at once, which it allows.
	PauseDelay time.Duration
	// PFCToQueue is the queue that each priority stops (SONiC: MAP_PFC_PRIORITY_TO_QUEUE); nil:
	// priority n stops the queue of traffic class n.
	PFCToQueue *[wire.Priorities]mmu.Queue
	// PFCToGroup is the group whose XOFF pauses each priority (SONiC:
	// PFC_PRIORITY_TO_PRIORITY_GROUP_MAP); nil: priority n is paused for the group of class n.
	PFCToGroup *[wire.Priorities]mmu.PG
	Watchdog   pfc.WatchdogConfig

	Classify  classify.Map
	Map       qos.Map
	Groups    [mmu.Groups]mmu.Profile
	Queues    [mmu.Queues]Queue
	Scheduler qos.DWRRConfig
	// Isolated is the port's isolation group (SAI): ports of one group, other than 0, do not
	// bridge to each other.
	Isolated uint8
	Shaper   qos.ShaperConfig
}

// Queue describes one egress queue.
type Queue struct {
	Buffer mmu.QueueProfile
	WRED   qos.WREDConfig
	QCN    qos.QCNConfig
}

// Validate returns every fault.
func (c *Config) Validate() error {
	var faults []error
	if n := len(c.Ports); n == 0 || n > dataplane.MaxPorts {
		faults = append(faults, fmt.Errorf("%d ports, want 1 to %d", n, dataplane.MaxPorts))
	}
	if c.FloodClass >= classify.Classes {
		faults = append(faults, fmt.Errorf("flood class %d, want 0 to %d", c.FloodClass,
			classify.Classes-1))
	}
	for i := range c.Ports {
		if err := c.validatePort(&c.Ports[i]); err != nil {
			faults = append(faults, fmt.Errorf("port %d (%s): %w", i, c.Ports[i].Name, err))
		}
	}
	faults = append(faults, c.MACs.Validate(len(c.Ports)))
	if c.Router != nil {
		faults = append(faults, c.validateRouter())
	}
	buffer := c.buffer()
	faults = append(faults, c.Telemetry.Validate())
	return errors.Join(append(faults, buffer.Validate())...)
}

func (c *Config) validatePort(p *Port) error {
	var faults []error
	if p.Rate <= 0 {
		faults = append(faults, fmt.Errorf("rate %v, want it positive", p.Rate))
	}
	if p.MaxFrame != 0 && p.MaxFrame < wire.MinFrame {
		faults = append(faults, fmt.Errorf("longest frame %v, want at least %v", p.MaxFrame,
			wire.MinFrame))
	}
	mapped := p.Map.Validate()
	faults = append(faults, p.Classify.Validate(), mapped, p.Scheduler.Validate(),
		p.Shaper.Validate())
	if mapped == nil && c.FloodClass < classify.Classes && p.lossless(c.FloodClass) {
		faults = append(faults, fmt.Errorf("flood class %d is lossless", c.FloodClass))
	}
	faults = append(faults, p.validatePFC())
	for q := range p.Queues {
		err := errors.Join(p.Queues[q].WRED.Validate(), p.Queues[q].QCN.Validate())
		if err != nil {
			faults = append(faults, fmt.Errorf("queue %d: %w", q, err))
		}
	}
	return errors.Join(faults...)
}

func (c *Config) validateRouter() error {
	if err := c.Router.Validate(len(c.Ports)); err != nil {
		return fmt.Errorf("router: %w", err)
	}
	for _, e := range c.MACs.Static {
		for _, f := range c.Router.Interfaces {
			if f.Port == e.Port {
				return fmt.Errorf("router: static address %v is on routed port %s", e.MAC, f.Name)
			}
		}
	}
	for i := range c.Ports {
		if p := &c.Ports[i]; p.Map.Validate() == nil && p.lossless(c.Router.Class) {
			return fmt.Errorf("router: class %d is lossless on port %s", c.Router.Class, p.Name)
		}
	}
	return nil
}

// lossless reports whether the group of a traffic class is.
func (p *Port) lossless(tc uint8) bool { return p.Groups[p.Map.Group[tc]].Lossless }

// buffer is the division of the buffer that the ports add up to.
func (c *Config) buffer() mmu.Config {
	m := mmu.Config{Pools: c.Pools, EgressPools: c.EgressPools, Cell: c.Cell}
	for i := range c.Ports {
		p := &c.Ports[i]
		var queues [mmu.Queues]mmu.QueueProfile
		for q := range p.Queues {
			queues[q] = p.Queues[q].Buffer
		}
		m.Groups = append(m.Groups, p.Groups)
		m.Queues = append(m.Queues, queues)
	}
	return m
}

// charge is what a frame takes in the buffer: at least the shortest frame of the standard, which
// also bounds how many can be stored.
func charge(f *frame.Frame) unit.Bytes { return max(f.Len(), wire.MinFrame) }
