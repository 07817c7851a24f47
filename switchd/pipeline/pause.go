package pipeline

import (
	"errors"
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/qos"
)

// control obeys PFC frames, and PAUSE where link pause is configured. No MAC control frame goes
// further than one link. IEEE 802.1Q-2022 36.1.1, IEEE 802.3-2022 31
func (s *Switch) control(now unit.Time, p *port, f *frame.Frame) verdict {
	body := f.Head()[wire.EthernetLen:]
	switch f.Meta.Class.Kind {
	case frame.PFC:
		h, ok := wire.AsPFC(body)
		if !ok {
			return verdict{why: frame.DropMalformed}
		}
		s.heard(p, p.rx.Receive(now, h))
		s.foretell(now, p)
		s.pfcReceived++
		p.stats.control.Add(f.Len())
		s.ledger.Consume(f)
		return verdict{do: done}
	case frame.Pause:
		h, ok := wire.AsPause(body)
		if !ok {
			return verdict{why: frame.DropMalformed}
		}
		p.stats.control.Add(f.Len())
		s.heard(p, p.rx.ReceivePause(now, h))
		if !p.linkPause {
			return verdict{why: frame.DropMACControl}
		}
		s.ledger.Consume(f)
		return verdict{do: done}
	case frame.MACControl:
		p.stats.control.Add(f.Len())
		return verdict{why: frame.DropMACControl}
	}
	p.stats.received[f.Meta.Class.TC].Add(f.Len())
	return verdict{do: next}
}

// heard follows a frame that may have held something back, or let it go.
func (s *Switch) heard(p *port, resumed pfc.Set) {
	if resumed != 0 {
		s.ready.Add(p.id)
	}
	s.arm(p.rx.NextWake())
}

// stopped is the queues that cannot send while these priorities are paused.
func (p *port) stopped(paused pfc.Set) (queues qos.QueueSet) {
	for n := range paused.All() {
		queues |= p.stops[n]
	}
	return queues
}

// configurePFC sets both ends of a port's PFC, and says what its priorities stop and its groups
// pause. A queue that several priorities stop stops for each of them.
func (p *port) configurePFC(now unit.Time, c *Port) {
	p.linkPause = c.LinkPause
	p.rx.Reconfigure(now, pfc.ReceiverConfig{Rate: c.Rate, Obeyed: c.PFCObey,
		Pause: c.LinkPause, Delay: c.PauseDelay})
	p.tx.Reconfigure(pfc.GeneratorConfig{Source: c.MAC, Rate: c.Rate, Quanta: c.Quanta})
	p.pauses = [mmu.Groups]pfc.Set{}
	for n := range pfc.Priority(wire.Priorities) {
		queue, group := c.Map.Queue[n], c.Map.Group[n]
		if c.PFCToQueue != nil {
			queue = c.PFCToQueue[n]
		}
		if c.PFCToGroup != nil {
			group = c.PFCToGroup[n]
		}
		p.stops[n] = qos.QueueSet(0).With(queue)
		p.watch.queues[n] = queue
		if c.PFCSend.Has(n) {
			p.pauses[group] = p.pauses[group].With(n)
		}
	}
}

// maxPauseDelay is far above any that the standard allows.
const maxPauseDelay = time.Second

// validatePFC returns every fault of what a port does with PFC.
func (p *Port) validatePFC() error {
	var faults []error
	if p.LinkPause && p.PFCSend|p.PFCObey != 0 {
		faults = append(faults, errors.New("link pause and PFC exclude each other"))
	}
	if p.PauseDelay < 0 {
		faults = append(faults, fmt.Errorf("pause delay %v, want it positive or 0", p.PauseDelay))
	}
	if p.PauseDelay > maxPauseDelay {
		faults = append(faults, fmt.Errorf("pause delay %v, want at most %v", p.PauseDelay,
			maxPauseDelay))
	}
	for n := range wire.Priorities {
		if m := p.PFCToQueue; m != nil && m[n] >= mmu.Queues {
			faults = append(faults, fmt.Errorf("PFC priority %d: queue %d, want 0 to %d", n, m[n],
				mmu.Queues-1))
		}
		if m := p.PFCToGroup; m != nil && m[n] >= mmu.Groups {
			faults = append(faults, fmt.Errorf("PFC priority %d: priority group %d, want 0 to %d",
				n, m[n], mmu.Groups-1))
		}
	}
	if err := p.Watchdog.Validate(); err != nil {
		faults = append(faults, fmt.Errorf("PFC watchdog: %w", err))
	}
	return errors.Join(faults...)
}
