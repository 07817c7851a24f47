package cc

import (
	"slices"
	"testing"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// Every preset of every algorithm is valid, makes an algorithm at line rate, and survives
// every kind of event.
func TestRegistry(t *testing.T) {
	for _, e := range builtIn {
		for _, preset := range append(slices.Clone(e.Presets), "") {
			p, err := NewParams(e.Name, preset)
			if err != nil {
				t.Fatal(err)
			}
			line := line
			if preset == "netfpga" {
				line = unit.GbPerSecond // which is what that board has
			}
			if faults := p.Validate(line); len(faults) != 0 {
				t.Errorf("%s %s: %v", e.Name, preset, faults)
			}
			a := p.New(Setup{Line: line, MTU: 1082})
			if a.Limit().Rate != line {
				t.Errorf("%s %s starts at %v", e.Name, preset, a.Limit().Rate)
			}
			a.Sent(0, 1500)
			a.Ack(1, Ack{Bytes: 1500, Packets: 1})
			a.Nack(2)
			a.RTT(3, 1000)
			a.Timeout(4)
			a = p.New(Setup{Line: line, MTU: 1082})
			a.CNP(5, CNP{})
			if reacted := a.Limit().Rate < line; reacted != p.HandlesCNP() {
				t.Errorf("%s %s: reacted to a CNP %v", e.Name, preset, reacted)
			}
			a = p.New(Setup{Line: line, MTU: 1082})
			a.CNM(5, CNM{Feedback: 63})
			if reacted := a.Limit().Rate < line; reacted != p.HandlesCNM() {
				t.Errorf("%s %s: reacted to a CNM %v", e.Name, preset, reacted)
			}
		}
	}
	if !slices.Equal(BuiltIn().Names(), []string{"dcqcn", "dcqcn_plus", "dctcp", "hpcc", "ldcp",
		"ldcp_probe", "none", "qcn", "swift", "timely"}) {
		t.Errorf("names %v", BuiltIn().Names())
	}
}

func TestPresets(t *testing.T) {
	r := BuiltIn()
	if p := r.Presets("qcn"); !slices.Equal(p, []string{"baseline", "netfpga"}) ||
		r.Presets("tcp") != nil {
		t.Errorf("presets %v and %v", p, r.Presets("tcp"))
	}
}

// An algorithm from elsewhere stands beside ours in a registry of its own, and ours is as it was;
// two of one name, and half of one, are refused.
func TestRegistryWith(t *testing.T) {
	mine := Entry{"mine", []string{"usual", "slow"}, newNoneParams}
	r, err := BuiltIn().With(mine)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := r.Params("mine", "slow"); err != nil || p == nil {
		t.Errorf("%v, %v", p, err)
	}
	if !slices.Contains(r.Names(), "mine") || slices.Contains(BuiltIn().Names(), "mine") {
		t.Errorf("names %v, of ours %v", r.Names(), BuiltIn().Names())
	}
	none := func(string) Params { return nil }
	for _, bad := range []Entry{mine, {"dcqcn", mine.Presets, mine.Params},
		{"", mine.Presets, mine.Params}, {"other", nil, mine.Params},
		{"other", mine.Presets, nil}, {"other", mine.Presets, none}} {
		if _, err := r.With(bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

func TestRegistryRefuses(t *testing.T) {
	if _, err := NewParams("tcp", ""); err == nil {
		t.Error("an unknown algorithm is accepted")
	}
	if _, err := NewParams("dcqcn", "cx9"); err == nil {
		t.Error("an unknown preset is accepted")
	}
	bad := &DCQCNParams{G: 2, MinRate: 50 * unit.GbPerSecond, ByteCounter: -1, FastRecovery: -1,
		InitialAlpha: 3, RateHAI: -1, DecreaseInterval: -1, MinDecreaseFactor: 1, FirstCNPRate: 2}
	if faults := bad.Validate(line); len(faults) != 13 {
		t.Errorf("%d faults, want one for each of 13 fields: %v", len(faults), faults)
	}
	bare := &DCQCNPlusParams{InitialAlpha: 2, StepRate: -1}
	if faults := bare.Validate(line); len(faults) != 10 {
		t.Errorf("%d faults, want one for each of 10 fields: %v", len(faults), faults)
	}
	worse := &QCNParams{Gd: 0.1, Jitter: 1, FastRecovery: -1, RateHAI: -1, BucketDepth: -1}
	if faults := worse.Validate(line); len(faults) != 10 {
		t.Errorf("%d faults, want one for each of 10 fields: %v", len(faults), faults)
	}
	board := newQCNParams("netfpga") // whose bucket carries 1.5 Gb/s
	for rate, want := range map[unit.Rate]int{unit.GbPerSecond: 0, 3 * unit.GbPerSecond / 2: 0,
		10 * unit.GbPerSecond: 1} {
		if faults := board.Validate(rate); len(faults) != want {
			t.Errorf("at %v: %v", rate, faults)
		}
	}
}

// [DCQCN] figure 6: one CNP at once, then at most one each N while marks come in the window.
func TestNotificationPoint(t *testing.T) {
	n := NewNotificationPoint(DefaultCNPInterval)
	for _, c := range []struct {
		at     unit.Time
		marked bool
		cnp    bool
		next   unit.Time
	}{
		{0, true, true, unit.Never},          // first mark
		{10 * us, true, false, 50 * us},      // in the window: remembered
		{49 * us, true, false, 50 * us},      //
		{50 * us, false, true, unit.Never},   // window over, marks in it
		{100 * us, false, false, unit.Never}, // window over, none
		{100 * us, true, true, unit.Never},   // quiet again: at once
		{120 * us, true, false, 150 * us},    //
		{170 * us, true, true, unit.Never},   // a mark before the late Wake: one CNP, not two
		{219 * us, false, false, unit.Never}, //
		{300 * us, true, true, unit.Never},   // long after the window
	} {
		cnp := false
		if c.marked {
			cnp = n.Marked(c.at)
		} else {
			cnp = n.Wake(c.at)
		}
		if cnp != c.cnp || n.NextWake() != c.next {
			t.Errorf("at %v: CNP %v, next %v; want %v, %v", c.at, cnp, n.NextWake(), c.cnp, c.next)
		}
	}
	each := NewNotificationPoint(0)
	if !each.Marked(5) || !each.Marked(5) {
		t.Error("with N = 0 each mark makes a CNP")
	}
}
