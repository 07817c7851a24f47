package cc

import (
	"reflect"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// BenchmarkEvent is each event of a QP that was slowed down once, for every algorithm: nanoseconds,
// and the bytes of state that a QP takes for it. No event allocates.
func BenchmarkEvent(b *testing.B) {
	hop := (*wire.TelemetryHop)(telemetry(0, 0, 10_000))
	ack := Ack{Bytes: 1024, Packets: 1, RTT: 20 * time.Microsecond, Hops: hop[:]}
	marked := ack
	marked.Marked = 1
	for _, e := range builtIn {
		for _, ev := range []struct {
			name string
			tell func(a Algorithm, now unit.Time)
		}{
			{"sent", func(a Algorithm, now unit.Time) { a.Sent(now, 1082) }},
			{"ack", func(a Algorithm, now unit.Time) {
				hop.SetTime(now)
				hop.SetSent(uint64(now))
				a.Ack(now, ack)
			}},
			{"marked_ack", func(a Algorithm, now unit.Time) { a.Ack(now, marked) }},
			{"cnp", func(a Algorithm, now unit.Time) { a.CNP(now, CNP{}) }},
			{"cnm", func(a Algorithm, now unit.Time) { a.CNM(now, CNM{Feedback: 1}) }},
			{"rtt", func(a Algorithm, now unit.Time) { a.RTT(now, ack.RTT) }},
			{"wake", func(a Algorithm, now unit.Time) { a.Wake(now) }},
		} {
			b.Run(e.Name+"/"+ev.name, func(b *testing.B) {
				a, now := e.Params(e.Presets[0]).New(Setup{Line: line, MTU: 1082}), unit.Time(0)
				a.CNP(0, CNP{})
				a.CNM(0, CNM{Feedback: 63})
				b.ReportAllocs()
				for b.Loop() {
					now += 300
					ev.tell(a, now)
				}
				b.ReportMetric(float64(stateBytes(a)), "B/QP")
				if n := testing.AllocsPerRun(100, func() { ev.tell(a, now) }); n != 0 {
					b.Errorf("%v allocations", n)
				}
			})
		}
	}
}

// stateBytes is the size of an algorithm's state; none has any elsewhere.
func stateBytes(a Algorithm) uintptr {
	t := reflect.TypeOf(a)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Size()
}

// maxState bounds the state of a QP: a thousand QPs of any algorithm fit into a megabyte.
const maxState = 1024

// TestState: the state is one struct without pointers, slices and maps, and no larger than it may
// be.
func TestState(t *testing.T) {
	var flat func(t reflect.Type) bool
	flat = func(t reflect.Type) bool {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface, reflect.Func,
			reflect.Chan:
			return false
		case reflect.Array:
			return flat(t.Elem())
		case reflect.Struct:
			for i := range t.NumField() {
				if !flat(t.Field(i).Type) {
					return false
				}
			}
		}
		return true
	}
	eachPreset(t, func(t *testing.T, p Params) {
		a := p.New(Setup{Line: line, MTU: 1082})
		state := reflect.TypeOf(a)
		if state.Kind() == reflect.Pointer {
			state = state.Elem()
		}
		if !flat(state) || stateBytes(a) > maxState {
			t.Errorf("%v: %d bytes, flat %v", state, stateBytes(a), flat(state))
		}
	})
}
