package pipeline

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/qos"
)

// Reconfigure changes the configuration of a switch that forwards, without losing a frame. Frames
// that are stored stay charged to the group and in the queue that they have; counters, watermarks
// and learnt addresses go on; all settings take effect at now. What a setting has of its own state
// (a scheduler's credit, a shaper's bucket) lives on where the setting has not changed.
//
// Groups that are beyond their limit go to XOFF, those that may run to XON (mmu.Reconfigure), and
// PFC frames say so; headroom takes what is still on its way. An egress has no headroom: a pool
// that is made smaller than what it stores drops until it has drained.
//
// Reconfigure fails, and changes nothing, if cfg is not valid or is of another switch: number and
// names of the ports, the router's interfaces and the memory's cell stay.
func (s *Switch) Reconfigure(now unit.Time, cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return fmt.Errorf("reconfigure: %w", err)
	}
	if err := s.sameSwitch(&cfg); err != nil {
		return fmt.Errorf("reconfigure: %w", err)
	}
	if err := s.buffer.Reconfigure(cfg.buffer()); err != nil {
		return fmt.Errorf("reconfigure: %w", err)
	}
	s.configure(now, cfg)
	s.announce(now)
	return nil
}

// sameSwitch says what makes cfg the configuration of another switch.
func (s *Switch) sameSwitch(cfg *Config) error {
	if len(cfg.Ports) != len(s.ports) {
		return fmt.Errorf("%d ports, the switch has %d", len(cfg.Ports), len(s.ports))
	}
	var faults []error
	for i := range s.ports {
		if got, want := cfg.Ports[i].Name, s.ports[i].name; got != want {
			faults = append(faults, fmt.Errorf("port %d is called %q, not %q", i, want, got))
		}
	}
	switch {
	case (cfg.Router == nil) != (s.router == nil):
		faults = append(faults, errors.New("a bridge and a router do not become each other"))
	case s.router != nil:
		faults = append(faults, s.router.CanBecome(cfg.Router))
	}
	return errors.Join(faults...)
}

// configure puts a configuration into effect, all but the buffer's part of it, which New and
// Reconfigure have done before. This and the port's configure are the only places where a field of
// Config becomes state: a new field belongs into one of them, and TestReconfigureIsNew finds it if
// it is forgotten. It cannot fail.
func (s *Switch) configure(now unit.Time, cfg Config) {
	cfg.Ports = slices.Clone(cfg.Ports)
	cfg.Pools, cfg.EgressPools = slices.Clone(cfg.Pools), slices.Clone(cfg.EgressPools)
	old := s.cfg
	s.cfg = cfg
	s.floodClass = cfg.FloodClass
	s.macs.Reconfigure(cfg.MACs)
	if old.Router != nil {
		s.router.Reconfigure(now, old.Router.Routes, *cfg.Router)
	}
	if s.rng == nil || cfg.Seed != old.Seed {
		s.rng = rand.New(rand.NewPCG(cfg.Seed, rngStream))
	}
	var most unit.Bytes // that a queue can store
	for _, pool := range cfg.Pools {
		most = max(most, pool.Size)
	}
	for i := range s.ports {
		var before Port // at the start, the zero port, from which every setting is a change
		if len(old.Ports) > 0 {
			before = old.Ports[i]
		}
		p := &s.ports[i]
		p.configure(now, &before, &cfg.Ports[i])
		s.rewatch(now, p, &cfg.Ports[i])
		p.cnmTC = cfg.Ports[i].cnmClass(cfg.FloodClass)
		for q := range p.queues {
			p.queues[q].length.Grow(most)
		}
	}
}

// configure puts the settings of a port into effect. What has state of its own is made anew only if
// it was set differently before.
func (p *port) configure(now unit.Time, old, c *Port) {
	p.name, p.isolated, p.longest = c.Name, c.Isolated, c.MaxFrame
	if p.longest == 0 {
		p.longest = math.MaxInt64
	}
	p.classify, p.qmap = c.Classify, c.Map
	for tc := range p.lossless {
		p.lossless[tc] = c.lossless(uint8(tc))
	}
	p.configurePFC(now, c)
	for q := range p.queues {
		p.queues[q].wred = qos.NewWRED(c.Queues[q].WRED)
	}
	p.configureQCN(old, c)
	if c.Scheduler != old.Scheduler {
		p.sched = qos.NewDWRR(c.Scheduler)
	}
	if c.Shaper != old.Shaper || c.Scheduler.MTU != old.Scheduler.MTU {
		p.shaper, p.heldUntil = nil, unit.Never
		if c.Shaper != (qos.ShaperConfig{}) {
			p.shaper = qos.NewShaper(now, c.Shaper, c.Scheduler.MTU)
		}
	}
}

// announce brings what the generators want in line with the groups' states and the new maps, and
// lets every port look again at what it may send.
func (s *Switch) announce(now unit.Time) {
	for more := true; more; {
		_, more = s.buffer.NextChange() // told below, with all others
	}
	for i := range s.ports {
		p := &s.ports[i]
		var held pfc.Set
		for g, pauses := range p.pauses {
			if s.buffer.Group(p.id, mmu.PG(g)).XOFF {
				held |= pauses
			}
		}
		for n := range pfc.Priority(wire.Priorities) {
			if held.Has(n) {
				p.tx.XOFF(n)
			} else {
				p.tx.XON(n)
			}
		}
		if p.backlog != 0 || p.cnms.Len() > 0 || p.tx.Pending(now) {
			s.ready.Add(p.id)
		}
		s.arm(min(p.rx.NextWake(), p.tx.NextWake(), p.watch.dog.NextWake()))
	}
}

// rewatch gives a port's watchdog its new settings. What is in a storm is treated by the new
// action from now on; what is not watched any more is restored.
func (s *Switch) rewatch(now unit.Time, p *port, c *Port) {
	sights := p.sights(now)
	restored := p.watch.dog.Reconfigure(now, c.Watchdog, c.PFCObey, &sights)
	s.arm(p.watch.dog.NextWake())
	defer s.foretell(now, p)
	if restored|p.watch.dog.Stormed() == 0 {
		return
	}
	p.watch.classes, p.watch.drain = 0, 0
	p.rx.Ignore(now, 0)
	p.tx.Silence(0)
	s.enforce(now, p)
	for n := range restored.All() {
		s.tell(now, p, n, EventRestored)
	}
}

// newPort is a port without settings.
func newPort(id dataplane.PortID) port {
	p := port{id: id, up: true, heldUntil: unit.Never,
		rx: pfc.NewReceiver(pfc.ReceiverConfig{}), tx: pfc.NewGenerator(pfc.GeneratorConfig{})}
	p.watch.dog = pfc.NewWatchdog(pfc.WatchdogConfig{}, 0)
	for q := range p.queues {
		p.queues[q].length = qos.NewOccupancy(0)
	}
	return p
}
