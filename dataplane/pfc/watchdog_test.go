package pfc

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

const ms = unit.Time(time.Millisecond)

// seat is a watchdog with what it sees of priority 3, changed by hand between polls.
type seat struct {
	Watchdog
	sights [wire.Priorities]Sight
	p      *Sight
}

func sit(cfg WatchdogConfig) *seat {
	s := &seat{Watchdog: NewWatchdog(cfg, SetOf(3, 4))}
	s.p = &s.sights[3]
	return s
}

// until polls until end, each time after step. It returns the time of the first change, or 0.
func (s *seat) until(end unit.Time, step func(p *Sight)) (at unit.Time, storms, restored Set) {
	for s.NextWake() <= end {
		now := s.NextWake()
		step(s.p)
		if storms, restored = s.Poll(now, &s.sights); storms|restored != 0 {
			return now, storms, restored
		}
	}
	return 0, 0, 0
}

func storming(p *Sight) { p.Frames, p.Paused, p.Backlog = p.Frames+80, true, true }
func quiet(p *Sight)    { p.Paused = false }

// TestSONiCRule: pfc_detect_broadcom.lua and pfc_restore.lua with the times of start_default. The
// first poll only sees the pause begin; the second has it at both ends.
func TestSONiCRule(t *testing.T) {
	w := sit(SONiCWatchdog())
	at, storms, _ := w.until(1000*ms, storming)
	if at != 400*ms || storms != SetOf(3) || w.Stormed() != SetOf(3) {
		t.Fatalf("storms %v at %v", storms, at)
	}
	if at, _, _ = w.until(2000*ms, storming); at != 0 {
		t.Errorf("changed at %v, in the midst of the storm", at)
	}
	at, _, restored := w.until(3000*ms, quiet)
	if at != 2200*ms || restored != SetOf(3) || w.Stormed() != 0 {
		t.Errorf("restored %v at %v", restored, at)
	}
	if got := w.Stats(3); got.Detected != 1 || got.Restored != 1 || !got.Watched || got.Stormed {
		t.Errorf("stats %+v", got)
	}
}

// TestSONiCRuleIsNotFooled: congestion pauses and resumes; a long single pause sends no frames; a
// pause that is over is not one.
func TestSONiCRuleIsNotFooled(t *testing.T) {
	for name, step := range map[string]func(*Sight){
		"a pause ended": func(p *Sight) { storming(p); p.Transitions++ },
		"no frames":     func(p *Sight) { p.Paused = true },
		"not paused":    func(p *Sight) { p.Frames++; p.Paused = false },
	} {
		w := sit(SONiCWatchdog())
		w.until(200*ms, storming)
		if at, _, _ := w.until(5000*ms, step); at != 0 {
			t.Errorf("%s: a storm at %v", name, at)
		}
	}
}

// TestSONiCRuleWantsItAllTheTime: one poll that does not hold starts the detection time anew.
func TestSONiCRuleWantsItAllTheTime(t *testing.T) {
	cfg := SONiCWatchdog()
	cfg.Detection = 600 * time.Millisecond
	w := sit(cfg)
	w.until(600*ms, storming) // two of three
	w.until(800*ms, quiet)
	if at, _, _ := w.until(5000*ms, storming); at != 1600*ms {
		t.Errorf("a storm at %v", at)
	}
}

// TestPaperSwitch: [RDMA at scale] section 4.3. The queue cannot drain while pause frames come;
// lossless is back 200 ms after the last of them.
func TestPaperSwitch(t *testing.T) {
	w := sit(SwitchWatchdog())
	at, storms, _ := w.until(1000*ms, storming)
	if at != 110*ms || storms != SetOf(3) {
		t.Fatalf("storms %v at %v", storms, at)
	}
	if at, _, restored := w.until(1000*ms, quiet); at != 310*ms || restored != SetOf(3) {
		t.Errorf("restored %v at %v", restored, at)
	}
	for name, step := range map[string]func(*Sight){
		"it drains":        func(p *Sight) { storming(p); p.Sent++ },
		"nothing is there": func(p *Sight) { storming(p); p.Backlog = false },
		"no pause":         func(p *Sight) { p.Backlog = true },
	} {
		if at, _, _ := sit(SwitchWatchdog()).until(5000*ms, step); at != 0 {
			t.Errorf("%s: a storm at %v", name, at)
		}
	}
	long := func(p *Sight) { p.Frames, p.Paused, p.Backlog = 1, true, true }
	if at, _, _ := sit(SwitchWatchdog()).until(1000*ms, long); at != 110*ms {
		t.Errorf("a pause longer than a poll: a storm at %v", at)
	}
}

// TestPaperNIC: [RDMA at scale] section 4.3. The NIC's never enables lossless again.
func TestPaperNIC(t *testing.T) {
	w := sit(NICWatchdog())
	if at, _, _ := w.until(1000*ms, storming); at != 110*ms {
		t.Fatalf("a storm at %v", at)
	}
	if at, _, _ := w.until(unit.Time(time.Hour), quiet); at != 0 || w.Stormed() != SetOf(3) {
		t.Errorf("restored at %v", at)
	}
}

// TestAlert: a storm that is only reported is over as soon as the rule does not hold.
func TestAlert(t *testing.T) {
	cfg := SONiCWatchdog()
	cfg.Action = Alert
	w := sit(cfg)
	w.until(1000*ms, storming)
	w.until(1200*ms, storming)
	if at, _, restored := w.until(5000*ms, quiet); at != 1400*ms || restored != SetOf(3) {
		t.Errorf("restored %v at %v", restored, at)
	}
}

// TestWatchdogCounts: packets are counted in storms only, over all of them and in the last.
func TestWatchdogCounts(t *testing.T) {
	w := sit(SONiCWatchdog())
	count := func() {
		w.CountTX(3, Tally{OK: 1, Dropped: 2})
		w.CountRX(3, Tally{OK: 3, Dropped: 4})
	}
	w.CountTX(3, Tally{OK: 1, Dropped: 1})
	w.CountRX(3, Tally{OK: 1})
	w.until(400*ms, storming)
	count()
	w.until(700*ms, quiet)
	w.CountTX(3, Tally{OK: 1, Dropped: 1})
	w.CountRX(3, Tally{OK: 1})
	if got, want := w.Stats(3), (WatchdogCounters{Detected: 1, Restored: 1,
		DetectedAt: 400 * ms, RestoredAt: 600 * ms, TX: Tally{1, 2},
		RX: Tally{3, 4}, LastTX: Tally{1, 2}, LastRX: Tally{3, 4}}); got.WatchdogCounters != want {
		t.Errorf("after one storm %+v", got)
	}
	w.until(2000*ms, storming)
	count()
	if got := w.Stats(3); got.TX != (Tally{2, 4}) || got.LastTX != (Tally{1, 2}) {
		t.Errorf("in the second storm %+v", got)
	}
}

// TestWatchdogWatches: off watches nothing; the priorities watched are among those obeyed.
func TestWatchdogWatches(t *testing.T) {
	if w := NewWatchdog(WatchdogConfig{}, SetOf(3)); w.NextWake() != unit.Never {
		t.Error("off, and it wakes")
	}
	cfg := SONiCWatchdog()
	cfg.Priorities = SetOf(4, 5)
	w := NewWatchdog(cfg, SetOf(3, 4))
	if w.Stats(3).Watched || !w.Stats(4).Watched || w.Stats(5).Watched {
		t.Error("watches the wrong priorities")
	}
	if w := NewWatchdog(cfg, SetOf(3)); w.NextWake() != unit.Never {
		t.Error("nothing to watch, and it wakes")
	}
}

func TestWatchdogValidate(t *testing.T) {
	for _, cfg := range []WatchdogConfig{{}, SONiCWatchdog(), SwitchWatchdog(), NICWatchdog()} {
		if err := cfg.Validate(); err != nil {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	bad := WatchdogConfig{Action: 9, Rule: 9, Detection: 1, Restoration: 2, Poll: 3}
	err := bad.Validate()
	for _, want := range []string{"action 9", "rule 9", "detection time 1ns is shorter",
		"restoration time 2ns is shorter"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %q", err, want)
		}
	}
	bad = SONiCWatchdog()
	bad.Poll = 0
	if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), "poll interval 0s") {
		t.Error(err)
	}
	if Alert.String() != "alert" || RuleUndrained.String() != "undrained" {
		t.Error("names")
	}
}

// TestWatchdogModel compares with an oracle that keeps the whole history of the polls and looks
// back through it.
func TestWatchdogModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := rapid.SampledFrom([]WatchdogConfig{SONiCWatchdog(), SwitchWatchdog(),
			{Action: Forward, Rule: RulePaused, Poll: 10, Detection: 35, Restoration: 20},
			{Action: Drop, Rule: RuleUndrained, Poll: 10, Detection: 10, Restoration: 40},
		}).Draw(t, "config")
		w := sit(cfg)
		history := []Sight{{}}
		changed, stormed := 0, false // since which poll the state is so
		for range rapid.IntRange(1, 60).Draw(t, "polls") {
			if rapid.Bool().Draw(t, "frames") {
				w.p.Frames++
			}
			w.p.Paused = rapid.IntRange(0, 3).Draw(t, "paused") > 0
			w.p.Backlog = rapid.IntRange(0, 3).Draw(t, "backlog") > 0
			if rapid.IntRange(0, 5).Draw(t, "ended") == 0 {
				w.p.Transitions, w.p.Sent = w.p.Transitions+1, w.p.Sent+1
			}
			history = append(history, *w.p)
			w.Poll(w.NextWake(), &w.sights)
			need, so := cfg.Detection, cfg.Rule.holds
			if stormed {
				need, so = cfg.Restoration, func(a, b *Sight) bool { return a.Frames == b.Frames }
			}
			polls := int((need + cfg.Poll - 1) / cfg.Poll)
			last := len(history) - 1
			change := last-changed >= polls
			for i := last; change && i > last-polls; i-- {
				change = so(&history[i-1], &history[i])
			}
			if change {
				stormed, changed = !stormed, last
			}
			if got := w.Stormed().Has(3); got != stormed {
				t.Fatalf("poll %d: stormed %v, want %v", last, got, stormed)
			}
		}
	})
}

// TestLasting: what is told of a storm's end holds, whatever comes. With SONiC's times one quiet
// poll interval is the end of it, so a storm only lasts once a frame has come.
func TestLasting(t *testing.T) {
	for name, cfg := range map[string]WatchdogConfig{"sonic": SONiCWatchdog(),
		"paper": SwitchWatchdog(), "nic": NICWatchdog()} {
		w := sit(cfg)
		w.until(1000*ms, storming)
		frames := [wire.Priorities]uint64{3: w.p.Frames}
		if got := w.Lasting(&frames).Has(3); got != (name != "sonic") {
			t.Errorf("%s: at the start of a poll interval: %v", name, got)
		}
		frames[3]++
		if w.Lasting(&frames) != SetOf(3) {
			t.Errorf("%s: not lasting after a frame", name)
		}
		for w.Stormed() != 0 && name != "nic" {
			frames[3] = w.p.Frames
			lasts := w.Lasting(&frames) != 0
			quiet(w.p)
			w.Poll(w.NextWake(), &w.sights)
			if lasts && w.Stormed() == 0 {
				t.Errorf("%s: over, though it was to last", name)
			}
		}
	}
}
