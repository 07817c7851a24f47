package cc

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// maxValues is how many values of State a NIC shows.
const maxValues = 8

// eachPreset calls see for every preset of every algorithm.
func eachPreset(t *testing.T, see func(t *testing.T, p Params)) {
	for _, e := range builtIn {
		for _, preset := range e.Presets {
			t.Run(e.Name+"_"+preset, func(t *testing.T) { see(t, e.Params(preset)) })
		}
	}
}

// event draws something that can happen to a reaction point, to be told to several.
func event(t *rapid.T) (name string, tell func(a Algorithm, now unit.Time)) {
	n := rapid.Int64Range(1, 2_000_000).Draw(t, "n")
	interval := time.Duration(rapid.Int64Range(0, 3_000_000).Draw(t, "interval"))
	marked := rapid.IntRange(0, 64).Draw(t, "marked")
	switch name = rapid.SampledFrom([]string{"sent", "ack", "nack", "cnp", "cnm", "rtt",
		"timeout"}).Draw(t, "event"); name {
	case "sent":
		tell = func(a Algorithm, now unit.Time) { a.Sent(now, unit.Bytes(n)) }
	case "ack":
		packets := int(n%64) + 1
		k := Ack{Bytes: unit.Bytes(n % 65536), Packets: packets, Marked: min(marked, packets),
			RTT: time.Duration(n)}
		tell = func(a Algorithm, now unit.Time) { a.Ack(now, k) }
	case "nack":
		tell = func(a Algorithm, now unit.Time) { a.Nack(now) }
	case "cnp":
		tell = func(a Algorithm, now unit.Time) { a.CNP(now, CNP{Interval: interval}) }
	case "cnm":
		tell = func(a Algorithm, now unit.Time) { a.CNM(now, CNM{Feedback: uint8(n & 63)}) }
	case "rtt":
		tell = func(a Algorithm, now unit.Time) { a.RTT(now, time.Duration(n)) }
	case "timeout":
		tell = func(a Algorithm, now unit.Time) { a.Timeout(now) }
	}
	return name, tell
}

// TestModel drives every algorithm with random events. Whatever it is: it keeps its rate above
// zero and below the line's, wants no wake in the past, slows down on bad news, and comes to the
// same whether Wake is punctual or never called.
func TestModel(t *testing.T) {
	eachPreset(t, func(t *testing.T, p Params) {
		rapid.Check(t, func(t *rapid.T) {
			setup := Setup{Line: line, MTU: 1082, Seed: rapid.Uint64().Draw(t, "seed")}
			punctual, late := p.New(setup), p.New(setup)
			now := unit.Time(0)
			for range rapid.IntRange(1, 40).Draw(t, "events") {
				now += unit.Time(rapid.Int64Range(0, 2_000_000).Draw(t, "gap"))
				wake(t, punctual, now)
				before := punctual.Limit()
				name, tell := event(t)
				tell(punctual, now)
				tell(late, now)
				judge(t, name, before, punctual, now)
				if a, b := punctual.Limit(), late.Limit(); a != b ||
					punctual.NextWake() != late.NextWake() ||
					!slices.Equal(punctual.State(), late.State()) {
					t.Fatalf("%s at %v: %+v %v\nlate: %+v %v", name, now, a, punctual.State(), b,
						late.State())
				}
			}
		})
	})
}

// wake calls an algorithm whenever it wants. Timers only raise: none of the papers has one that
// takes a rate down.
func wake(t *rapid.T, a Algorithm, now unit.Time) {
	for at := a.NextWake(); at <= now; at = a.NextWake() {
		before := a.Limit()
		if a.Wake(at); a.NextWake() <= at {
			t.Fatalf("woken at %v, wants %v", at, a.NextWake())
		}
		if l := a.Limit(); l.Rate < before.Rate || l.Window < before.Window {
			t.Fatalf("woken at %v: from %+v down to %+v", at, before, l)
		}
	}
}

// badNews is what never raises a limit. The papers' increases come with time, with bytes that were
// sent, and with acknowledgements.
var badNews = map[string]bool{"cnp": true, "cnm": true, "nack": true, "timeout": true}

// judge looks at an algorithm after an event.
func judge(t *rapid.T, name string, before Limit, a Algorithm, now unit.Time) {
	l := a.Limit()
	if l.Rate <= 0 || l.Rate > line || l.Window < 0 {
		t.Fatalf("%s: %+v", name, l)
	}
	if a.NextWake() < now {
		t.Fatalf("%s at %v: wake wanted at %v", name, now, a.NextWake())
	}
	if badNews[name] && (l.Rate > before.Rate || l.Window > before.Window) {
		t.Fatalf("%s: from %+v up to %+v", name, before, l)
	}
	if name == "sent" && (l.Rate < before.Rate || l.Window < before.Window) {
		t.Fatalf("%s: from %+v down to %+v", name, before, l)
	}
	if l.Plain > 0 && l.Plain > before.Plain {
		t.Fatalf("%s: %v without ECN, before %v", name, l.Plain, before.Plain)
	}
	if n := len(a.State()); n > maxValues {
		t.Fatalf("%d values", n)
	}
}

// TestNoAllocation: events, deadlines and looking cost no memory.
func TestNoAllocation(t *testing.T) {
	eachPreset(t, func(t *testing.T, p Params) {
		a, now := p.New(Setup{Line: line, MTU: 1082}), unit.Time(0)
		if n := testing.AllocsPerRun(1000, func() {
			a.CNP(now, CNP{Interval: 100 * time.Microsecond})
			a.CNM(now, CNM{Feedback: 20})
			a.Sent(now, 1500)
			a.Ack(now, Ack{Bytes: 1500, Packets: 1})
			now += 60 * us
			a.Wake(now)
			_, _ = a.Limit(), a.State()
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
