package pfc

import (
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// Watchdog finds pause storms on a port, by priority, by looking at counters at every poll.
//
//	               the rule held at every poll for Detection
//	operational ------------------------------------------------> stormed
//	     ^                                                           |
//	     +-----------------------------------------------------------+
//	       no PFC frame came for Restoration (alert: the rule does not hold)
//
// It only judges; whoever owns it acts on what Poll returns. It serves a switch, which looks at
// the pauses that it receives, and a NIC, which looks at those that it sends: Sight then tells of
// the frames sent and of the receive pipeline.
type Watchdog struct {
	cfg     WatchdogConfig
	watched Set
	stormed Set
	next    unit.Time
	polled  unit.Time // the last poll
	seen    [wire.Priorities]Sight
	lasted  [wire.Priorities]time.Duration // of what would change the state
	stats   [wire.Priorities]WatchdogCounters
}

// Sight is what a watchdog sees of a priority: counters that only rise, and what is so now.
type Sight struct {
	Frames      uint64 // PFC frames with the class enabled
	Transitions uint64 // pauses that ended
	Paused      bool   // the queue is held back
	Backlog     bool   // the queue has frames
	Sent        uint64 // frames that the queue sent
}

// Tally counts packets.
type Tally struct {
	OK      uint64 `json:"ok"`
	Dropped uint64 `json:"dropped"`
}

// WatchdogCounters is what was counted of a priority. Packets are counted while it is stormed.
// SONiC: PFC_WD_QUEUE_STATS_*
type WatchdogCounters struct {
	Detected, Restored uint64
	DetectedAt         unit.Time // the latest; 0: none was
	RestoredAt         unit.Time
	TX, RX             Tally // to the port's queue, and from the port, over all storms
	LastTX, LastRX     Tally // in the present storm, or the last one
}

// WatchdogStats is the state of a priority. SONiC calls it operational or stormed.
type WatchdogStats struct {
	Watched, Stormed bool
	WatchdogCounters
}

// NewWatchdog returns the watchdog of a port that obeys these priorities. Without an action it
// watches none.
func NewWatchdog(cfg WatchdogConfig, obeyed Set) Watchdog {
	w := Watchdog{cfg: cfg, next: unit.Never}
	if cfg.Action == Off {
		return w
	}
	w.watched = obeyed
	if cfg.Priorities != 0 {
		w.watched &= cfg.Priorities
	}
	if w.watched != 0 {
		w.next = unit.Time(cfg.Poll)
	}
	return w
}

// NextWake is the time of the next poll; unit.Never if nothing is watched.
func (w *Watchdog) NextWake() unit.Time { return w.next }

// Action is the action of its configuration.
func (w *Watchdog) Action() Action { return w.cfg.Action }

// Config is what the watchdog was made of.
func (w *Watchdog) Config() *WatchdogConfig { return &w.cfg }

// Stormed is the set of priorities in a storm.
func (w *Watchdog) Stormed() Set { return w.stormed }

// Lasting is the priorities whose storm cannot be over before the poll after the next; frames
// is how many PFC frames there were of each.
func (w *Watchdog) Lasting(frames *[wire.Priorities]uint64) (lasting Set) {
	for s := w.stormed; s != 0; s &= s - 1 {
		p := s.first()
		if frames[p] != w.seen[p].Frames || w.lasted[p] < w.cfg.Restoration-w.cfg.Poll {
			lasting = lasting.With(p)
		}
	}
	return lasting
}

// Poll looks at every priority, and returns those for which a storm was found and those for which
// it is over. Elapsed time is what counts, so that a late poll does not make a storm seem shorter.
func (w *Watchdog) Poll(now unit.Time, sights *[wire.Priorities]Sight) (storms, restored Set) {
	elapsed := now.Sub(w.polled)
	for s := w.watched; s != 0; s &= s - 1 {
		p := s.first()
		last, seen := &w.seen[p], &sights[p]
		if w.stormed.Has(p) {
			if w.over(p, last, seen, elapsed) {
				restored = restored.With(p)
				w.stats[p].RestoredAt = now
			}
		} else if w.found(p, last, seen, elapsed) {
			storms = storms.With(p)
		}
		*last = *seen
	}
	w.begin(now, storms)
	w.stormed &^= restored
	w.polled = now
	for w.next <= now {
		w.next = w.next.Add(w.cfg.Poll)
	}
	return storms, restored
}

func (w *Watchdog) begin(now unit.Time, storms Set) {
	w.stormed |= storms
	for s := storms; s != 0; s &= s - 1 {
		c := &w.stats[s.first()]
		c.Detected++
		c.DetectedAt = now
		c.LastTX, c.LastRX = Tally{}, Tally{}
	}
}

// found reports whether the rule has held for the detection time.
func (w *Watchdog) found(p Priority, last, seen *Sight, elapsed time.Duration) bool {
	if !w.cfg.Rule.holds(last, seen) {
		w.lasted[p] = 0
		return false
	}
	w.lasted[p] += elapsed
	if w.lasted[p] < w.cfg.Detection {
		return false
	}
	w.lasted[p] = 0
	return true
}

// over reports whether a storm has ended. One that is only reported goes on being obeyed, so that
// the rule itself tells when it is over, as in SONiC.
func (w *Watchdog) over(p Priority, last, seen *Sight, elapsed time.Duration) bool {
	if w.cfg.Action == Alert {
		if w.cfg.Rule.holds(last, seen) {
			return false
		}
	} else {
		if seen.Frames != last.Frames {
			w.lasted[p] = 0
			return false
		}
		if w.lasted[p] += elapsed; w.lasted[p] < w.cfg.Restoration {
			return false
		}
	}
	w.lasted[p] = 0
	w.stats[p].Restored++
	return true
}

// holds reports whether what happened between two polls looks like a storm.
func (r Rule) holds(last, seen *Sight) bool {
	more := seen.Frames != last.Frames
	held := last.Paused && seen.Paused && seen.Transitions == last.Transitions
	if r == RuleUndrained {
		// A pause may be longer than a poll interval: then it goes on without a frame.
		return last.Backlog && seen.Backlog && seen.Sent == last.Sent && (more || held)
	}
	return more && held
}

// Lasted is for how long what would change the state of p has been so: of a priority that is not
// stormed, the rule.
func (w *Watchdog) Lasted(p Priority) time.Duration { return w.lasted[p&(wire.Priorities-1)] }

// Restore ends all storms, because somebody says so, and returns whose there were.
func (w *Watchdog) Restore() (restored Set) {
	restored, w.stormed = w.stormed, 0
	for s := restored; s != 0; s &= s - 1 {
		p := s.first()
		w.lasted[p] = 0
		w.stats[p].Restored++
	}
	return restored
}

// CountTX counts packets that were sent from p's queue, or dropped, if p is in a storm.
func (w *Watchdog) CountTX(p Priority, t Tally) {
	if w.stormed.Has(p) {
		w.stats[p].TX.add(t)
		w.stats[p].LastTX.add(t)
	}
}

// CountRX counts packets that came from the port in p, and were let in or dropped, if p is in a
// storm. Drops count in any case: whoever drops on arrival may tell late.
func (w *Watchdog) CountRX(p Priority, t Tally) {
	if w.stormed.Has(p) || t.Dropped != 0 {
		w.stats[p].RX.add(t)
		w.stats[p].LastRX.add(t)
	}
}

func (t *Tally) add(o Tally) { t.OK += o.OK; t.Dropped += o.Dropped }

// Stats returns the state and the counters of p.
func (w *Watchdog) Stats(p Priority) WatchdogStats {
	return WatchdogStats{Watched: w.watched.Has(p), Stormed: w.stormed.Has(p),
		WatchdogCounters: w.stats[p&(wire.Priorities-1)]}
}
