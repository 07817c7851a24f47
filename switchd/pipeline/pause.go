package pipeline

import (
	"errors"
	"fmt"

	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/mmu"
)

// validatePFC returns every fault of what a port does with PFC.
func (p *Port) validatePFC() error {
	var faults []error
	if p.LinkPause && p.PFCSend|p.PFCObey != 0 {
		faults = append(faults, errors.New("link pause and PFC exclude each other"))
	}
	if p.PauseDelay < 0 {
		faults = append(faults, fmt.Errorf("pause delay %v, want it positive or 0", p.PauseDelay))
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
