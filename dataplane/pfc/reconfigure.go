package pfc

import (
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// Reconfigure changes what is obeyed and how, from now on; pauses and counters go on. Priorities
// that are not obeyed any more run again: they are returned. Where delay or rate change, the frames
// that wait for their delay take effect now.
func (r *Receiver) Reconfigure(now unit.Time, cfg ReceiverConfig) (resumed Set) {
	r.settle(now)
	if cfg.Delay != r.cfg.Delay || cfg.Rate != r.cfg.Rate {
		for r.orders.head() != nil {
			r.apply(now, r.orders.pop())
		}
		r.orders = newPipe(cfg.Delay, cfg.Rate)
	}
	obeyed := cfg.Obeyed
	if cfg.Pause {
		obeyed = everyPriority
	}
	for s := r.paused &^ obeyed; s != 0; s &= s - 1 {
		r.resume(now, s.first())
	}
	r.orders.only(obeyed)
	r.cfg = cfg
	r.schedule()
	return r.tell()
}

// only takes all other priorities out of the orders that wait.
func (q *pipe) only(obeyed Set) {
	for i := range q.ring {
		q.ring[i].enabled &= obeyed
	}
}

// Reconfigure changes the frames that are built from now on. What the other end holds back is
// announced again if its time is counted differently now.
func (g *Generator) Reconfigure(cfg GeneratorConfig) {
	if cfg.Quanta == 0 {
		cfg.Quanta = wire.MaxQuanta
	}
	if g.announced != 0 && (cfg.Rate != g.cfg.Rate || cfg.Quanta != g.cfg.Quanta) {
		g.due = true
	}
	g.cfg = cfg
}

// Reconfigure changes what is watched and how; counters and storms go on. A priority that was not
// watched before is judged by what comes after these sights. It returns the storms of priorities
// that are not watched any more: they are restored.
func (w *Watchdog) Reconfigure(now unit.Time, cfg WatchdogConfig, obeyed Set,
	sights *[wire.Priorities]Sight) (restored Set) {
	next := NewWatchdog(cfg, obeyed)
	if cfg == w.cfg && next.watched == w.watched {
		return 0
	}
	for s := next.watched &^ w.watched; s != 0; s &= s - 1 {
		p := s.first()
		w.seen[p], w.lasted[p] = sights[p], 0
	}
	if w.watched == 0 {
		w.polled = now
	}
	restored = w.stormed &^ next.watched
	for s := restored; s != 0; s &= s - 1 {
		w.stats[s.first()].Restored++
	}
	w.stormed &^= restored
	w.cfg, w.watched, w.next = cfg, next.watched, unit.Never
	if w.watched != 0 {
		w.next = (now/unit.Time(cfg.Poll) + 1) * unit.Time(cfg.Poll)
	}
	return restored
}
