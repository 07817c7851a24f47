package nic

import (
	"errors"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// PaperWatchdog is the detection time of [RDMA at scale] 4.3, and of mlx5's stall prevention when
// it is left to the driver (MLX5E_PFC_PREVEN_AUTO_TOUT_MSEC).
const PaperWatchdog = 100 * time.Millisecond

// The watchdog warns at this part of the detection time, as mlx5 does
// (MLX5E_PFC_PREVEN_MINOR_PRECENT). It looks twenty times within it, so that this is one of them.
const (
	warnPercent   = 85
	watchdogPolls = 20
)

// ErrNoWatchdog says that there is no watchdog to give pauses back.
var ErrNoWatchdog = errors.New("receive.watchdog is not set: there is no pause watchdog")

// PauseEventKind is what the watchdog of a NIC found.
type PauseEventKind uint8

// The kinds. The words are those of mlx5's counters.
const (
	PauseStormWarning  PauseEventKind = iota // the receive pipeline stands still, and we pause
	PauseStormError                          // so for the detection time: no pause from now on
	PauseStormRestored                       // somebody enabled them again
)

var pauseEventNames = [...]string{"pause_storm_warning", "pause_storm", "pause_storm_restored"}

func (k PauseEventKind) String() string { return pauseEventNames[k] }

// PauseEvent is something rare that an operator wants to know of. The NIC logs nothing itself.
type PauseEvent struct {
	At         unit.Time
	Kind       PauseEventKind
	Priorities pfc.Set
}

// SetNotify has fn told of pause storms, in the calls in which they are found.
func (n *NIC) SetNotify(fn func(PauseEvent)) { n.notify = fn }

// watchdog is that of [RDMA at scale] 4.3: once the receive pipeline has handled nothing for the
// detection time while the NIC paused its switch, the NIC pauses no more, and never again by
// itself: what stands still for so long does not come back, and only the rest of the network can be
// saved.
//
//	             85 %: warning            100 %: error
//	watching --------------------> warned -------------> silent
//	   ^    <-- a packet handled --   |                     |
//	   +------------------------------+---- RestorePause ---+
type watchdog struct {
	pfc.Watchdog
	on     bool
	warnAt time.Duration
	warned pfc.Set
}

func newWatchdog(detection time.Duration, watched pfc.Set) watchdog {
	cfg := pfc.NICWatchdog()
	cfg.Detection, cfg.Poll = detection, max(detection/watchdogPolls, 1)
	if detection == 0 {
		cfg.Action = pfc.Off
	}
	return watchdog{Watchdog: pfc.NewWatchdog(cfg, watched), on: detection > 0,
		warnAt: detection * warnPercent / 100}
}

// guard is one look of the watchdog.
func (n *NIC) guard(now unit.Time) {
	w := &n.watchdog
	var sights [8]pfc.Sight
	sent := n.asking.Counters(now)
	for p := range n.cfg.PFC.All() {
		sights[p] = pfc.Sight{Frames: sent.Frames[p], Paused: n.asking.Announced().Has(p),
			Backlog: n.receiving.bytes[lossless] > 0, Sent: n.receiving.served}
	}
	storms, _ := w.Poll(now, &sights)
	var warned pfc.Set
	for p := range n.cfg.PFC.All() {
		if w.Lasted(p) >= w.warnAt || storms.Has(p) || w.warned.Has(p) && w.Stormed().Has(p) {
			warned = warned.With(p)
		}
	}
	if news := warned &^ w.warned; news != 0 {
		n.counters.TxPauseStormWarningEvents++
		n.tell(now, PauseStormWarning, news)
	}
	w.warned = warned
	if storms != 0 {
		n.counters.TxPauseStormErrorEvents++
		n.asking.Silence(w.Stormed())
		n.tell(now, PauseStormError, storms)
	}
	n.wheel.Set(watchdogTimer, w.NextWake())
}

// RestorePause lets the NIC pause its switch again after its watchdog has forbidden it: for an
// operator who has seen to the cause. A pipeline that still stands brings the watchdog back.
func (n *NIC) RestorePause(now unit.Time) error {
	w := &n.watchdog
	if !w.on {
		return ErrNoWatchdog
	}
	n.now = now
	if restored := w.Restore(); restored != 0 {
		w.warned = 0
		n.asking.Silence(0)
		n.tell(now, PauseStormRestored, restored)
		n.kick()
	}
	return nil
}

func (n *NIC) tell(now unit.Time, kind PauseEventKind, priorities pfc.Set) {
	if n.notify != nil {
		n.notify(PauseEvent{now, kind, priorities})
	}
}

// overflow is why a packet of a lossless priority finds no room: the headroom was too small, or the
// watchdog has forbidden to ask for it.
func (n *NIC) overflow() frame.Reason {
	if n.watchdog.Stormed() != 0 {
		return frame.DropWatchdog
	}
	return frame.DropHeadroom
}
