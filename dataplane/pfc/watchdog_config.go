package pfc

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Action is what a watchdog does to a priority of a port in a storm. The words are SONiC's
// (PFC_WD, field action).
type Action uint8

// The actions. The zero value is no watchdog at all.
const (
	Off     Action = iota
	Drop           // drop what is queued, what is to be queued, and what arrives in the priority
	Forward        // ignore the pause and go on sending
	Alert          // report the storm, and obey it
)

var actionNames = [...]string{"off", "drop", "forward", "alert"}

func (a Action) String() string { return actionNames[a] }

// Rule is how a watchdog tells a storm from congestion.
type Rule uint8

// The rules.
const (
	// RulePaused is SONiC's for Broadcom (pfc_detect_broadcom.lua): between two polls PFC frames
	// came, no pause ended, and the queue was paused at both. The queue may be empty. SONiC since
	// 2026 wants two such intervals even if one is as long as the detection time, because it
	// reads counters and pause state one after the other. We deviate: here they are of one time.
	RulePaused Rule = iota
	// RuleUndrained is [RDMA at scale] section 4.3: between two polls PFC frames came, and the
	// queue had frames at both of which it could send none.
	RuleUndrained
)

var ruleNames = [...]string{"paused", "undrained"}

func (r Rule) String() string { return ruleNames[r] }

// NeverRestore is the restoration time of a watchdog that does not enable lossless again.
const NeverRestore time.Duration = math.MaxInt64

// WatchdogConfig describes the watchdog of a port. The zero value is off. Times are virtual.
type WatchdogConfig struct {
	Action Action
	Rule   Rule
	// Priorities are those watched, of the ones the port obeys; 0 is all of them.
	Priorities Set
	// Detection is for how long a storm must last until it is acted on, at least.
	Detection time.Duration
	// Restoration is for how long no PFC frame must arrive until the storm is over, at least.
	Restoration time.Duration
	// Poll is the time between two looks, and the resolution of both times.
	Poll time.Duration
}

// SONiCWatchdog is what `pfcwd start_default` configures on a switch of at most 32 ports.
func SONiCWatchdog() WatchdogConfig {
	const ms = time.Millisecond
	return WatchdogConfig{Action: Drop, Rule: RulePaused, Detection: 200 * ms,
		Restoration: 200 * ms, Poll: 200 * ms}
}

// paperPolls is how many times a preset of [RDMA at scale] looks in its detection time. The paper
// gives no poll interval; it only is the resolution here.
const paperPolls = 10

// SwitchWatchdog is the switch's of [RDMA at scale] section 4.3: it drops, and enables lossless
// again 200 ms after the last pause frame. The paper gives no detection time for the switch; this
// is the one it gives for the NIC.
func SwitchWatchdog() WatchdogConfig {
	const ms = time.Millisecond
	return WatchdogConfig{Action: Drop, Rule: RuleUndrained, Detection: 100 * ms,
		Restoration: 200 * ms, Poll: 100 * ms / paperPolls}
}

// NICWatchdog is the NIC's of [RDMA at scale] section 4.3: when its receive pipeline has stood
// still for 100 ms while it generated pause frames, it generates none from then on.
func NICWatchdog() WatchdogConfig {
	const ms = time.Millisecond
	return WatchdogConfig{Action: Drop, Rule: RuleUndrained, Detection: 100 * ms,
		Restoration: NeverRestore, Poll: 100 * ms / paperPolls}
}

// Validate returns every fault. Detection and Restoration must not be shorter than Poll, as in
// SONiC's YANG model; SONiC's ranges (100 ms to 5 s, to 60 s) are not asked for here, because they
// are limits of its implementation.
func (c *WatchdogConfig) Validate() error {
	if c.Action == Off {
		return nil
	}
	var faults []error
	if int(c.Action) >= len(actionNames) {
		faults = append(faults, fmt.Errorf("action %d, want off, drop, forward or alert", c.Action))
	}
	if int(c.Rule) >= len(ruleNames) {
		faults = append(faults, fmt.Errorf("rule %d, want paused or undrained", c.Rule))
	}
	if c.Poll <= 0 {
		faults = append(faults, fmt.Errorf("poll interval %v, want it positive", c.Poll))
	}
	if c.Detection < c.Poll {
		faults = append(faults, fmt.Errorf("detection time %v is shorter than the poll interval %v",
			c.Detection, c.Poll))
	}
	if c.Restoration < c.Poll {
		faults = append(faults, fmt.Errorf("restoration time %v is shorter than the poll interval"+
			" %v", c.Restoration, c.Poll))
	}
	return errors.Join(faults...)
}
