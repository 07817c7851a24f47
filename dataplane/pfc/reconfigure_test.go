package pfc

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
)

func pausing(t *testing.T, quanta map[uint8]uint16) *wire.PFC {
	t.Helper()
	body, ok := wire.AsPFC(wiretest.PFC(9, quanta)[wire.EthernetLen:])
	if !ok {
		t.Fatal("not a PFC frame")
	}
	return body
}

// TestReceiverReconfigure: what is not obeyed any more runs, what is obeyed still stays held back
// until its own time, and what was on its way for the one does not come back to it.
func TestReceiverReconfigure(t *testing.T) {
	cfg := ReceiverConfig{Rate: 40 * unit.GbPerSecond, Obeyed: SetOf(3, 4), Delay: time.Microsecond}
	r := NewReceiver(cfg)
	r.Receive(0, pausing(t, map[uint8]uint16{3: 1000, 4: 1000}))
	if got := r.Paused(1000); got != SetOf(3, 4) {
		t.Fatalf("paused %v", got)
	}
	r.Receive(1100, pausing(t, map[uint8]uint16{4: 2000})) // takes effect at 2100
	cfg.Obeyed = SetOf(3)
	if got := r.Reconfigure(1500, cfg); got != SetOf(4) || r.Paused(2100) != SetOf(3) {
		t.Errorf("resumed %v, then paused %v", got, r.Paused(2100))
	}
	if got := r.Wake(13800); got != SetOf(3) { // 1000 quanta are 12.8 us
		t.Errorf("at the end of the pause resumed %v", got)
	}
	if c := r.Counters(20000); c.Paused[4] != 500 || c.Paused[3] != 12800 {
		t.Errorf("counters %+v", c)
	}
}

// TestReceiverReconfigureDelay: a frame that waits for a delay that is no more takes effect.
func TestReceiverReconfigureDelay(t *testing.T) {
	cfg := ReceiverConfig{Rate: 40 * unit.GbPerSecond, Obeyed: SetOf(3), Delay: time.Microsecond}
	r := NewReceiver(cfg)
	r.Receive(0, pausing(t, map[uint8]uint16{3: 1000}))
	cfg.Delay = 0
	r.Reconfigure(200, cfg)
	if got := r.Paused(200); got != SetOf(3) || r.NextWake() != 13000 {
		t.Errorf("paused %v until %v", got, r.NextWake())
	}
}

// TestGeneratorReconfigure: a pause whose time is counted differently now is announced again; a new
// address alone is no reason.
func TestGeneratorReconfigure(t *testing.T) {
	cfg := GeneratorConfig{Rate: 40 * unit.GbPerSecond}
	g := NewGenerator(cfg)
	f := frame.NewPool(1, 128).Get()
	g.XOFF(3)
	g.Build(0, f)
	cfg.Source[5] = 1
	if g.Reconfigure(cfg); g.Pending(10) {
		t.Error("a frame for nothing")
	}
	cfg.Quanta = 100
	g.Reconfigure(cfg)
	if !g.Pending(10) || !g.Build(10, f) {
		t.Fatal("the new time is not announced")
	}
	body, _ := wire.AsPFC(f.Bytes()[wire.EthernetLen:])
	if body.Quanta(3) != 100 || g.NextWake() != 10+640 || g.Pending(600) {
		t.Errorf("quanta %d, again at %v", body.Quanta(3), g.NextWake())
	}
}

// TestWatchdogReconfigure: a storm goes on under a new action and ends where it is not watched any
// more; a priority that is watched from now on is not judged by what was before.
func TestWatchdogReconfigure(t *testing.T) {
	const ms = unit.Time(time.Millisecond)
	cfg := WatchdogConfig{Action: Drop, Poll: time.Millisecond, Detection: 2 * time.Millisecond,
		Restoration: 5 * time.Millisecond}
	w := NewWatchdog(cfg, SetOf(3))
	var sights [wire.Priorities]Sight
	poll := func(now unit.Time) Set {
		for p := range sights {
			sights[p].Frames++
			sights[p].Paused = true
		}
		storms, _ := w.Poll(now, &sights)
		return storms
	}
	if poll(ms)|poll(2*ms) != 0 || poll(3*ms) != SetOf(3) {
		t.Fatalf("no storm: %+v", w.Stats(3))
	}
	cfg.Action = Forward
	if got := w.Reconfigure(3*ms+1, cfg, SetOf(3, 4), &sights); got != 0 ||
		w.Stormed() != SetOf(3) || w.Action() != Forward || w.NextWake() != 4*ms {
		t.Fatalf("restored %v, stormed %v, next poll %v", got, w.Stormed(), w.NextWake())
	}
	if poll(4*ms) != 0 || poll(5*ms) != SetOf(4) {
		t.Errorf("priority 4: %+v", w.Stats(4))
	}
	if got := w.Reconfigure(5*ms+1, cfg, SetOf(4), &sights); got != SetOf(3) ||
		w.Stormed() != SetOf(4) || w.Stats(3).Restored != 1 || w.Stats(3).Detected != 1 {
		t.Errorf("restored %v, stormed %v, %+v", got, w.Stormed(), w.Stats(3))
	}
	if w.Reconfigure(5*ms+2, WatchdogConfig{}, SetOf(4), &sights); w.NextWake() != unit.Never {
		t.Errorf("off, and polls at %v", w.NextWake())
	}
}
