package ratelimit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rocelab/rocelab/dataplane/unit"
	"pgregory.net/rapid"
)

// oracle is a wheel as a sorted list: by deadline, then by the order of setting.
type oracle []*Timer

func (o *oracle) cancel(t *Timer) {
	if i := slices.Index(*o, t); i >= 0 {
		*o = slices.Delete(*o, i, i+1)
	}
}

func (o *oracle) set(t *Timer, at unit.Time) {
	o.cancel(t)
	if at == unit.Never {
		return
	}
	i := 0
	for i < len(*o) && (*o)[i].at <= at {
		i++
	}
	*o = slices.Insert(*o, i, t)
}

func (o *oracle) pop(now unit.Time) *Timer {
	if len(*o) == 0 || (*o)[0].at > now {
		return nil
	}
	t := (*o)[0]
	*o = (*o)[1:]
	return t
}

// The wheel gives out what a sorted list gives out, in the same order, and never promises a
// wake-up later than the first deadline.
func TestWheelAgainstSortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, o := Wheel{}, oracle{}
		timers := make([]Timer, 12)
		now := unit.Time(rapid.Int64Range(0, 1<<50).Draw(t, "start"))
		delay := rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, 300),
			rapid.Int64Range(0, 1<<20), rapid.Int64Range(0, 1<<55))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			tm := &timers[rapid.IntRange(0, len(timers)-1).Draw(t, "timer")]
			switch rapid.IntRange(0, 4).Draw(t, "op") {
			case 0, 1:
				at := now.Add(0) + unit.Time(delay.Draw(t, "delay"))
				w.Set(tm, at)
				o.set(tm, at)
			case 2:
				w.Cancel(tm)
				o.cancel(tm)
			case 3:
				now += unit.Time(delay.Draw(t, "advance"))
				drain(t, &w, &o, now)
			case 4:
				if next := w.Next(); next != unit.Never {
					now = max(now, next)
					drain(t, &w, &o, now)
				}
			}
			if w.Len() != len(o) || (len(o) > 0 && w.Next() > max(o[0].at, now)) ||
				(len(o) == 0) != (w.Next() == unit.Never) {
				t.Fatalf("len %d, next %v; oracle %d", w.Len(), w.Next(), len(o))
			}
		}
	})
}

func drain(t *rapid.T, w *Wheel, o *oracle, now unit.Time) {
	for {
		got, want := w.Pop(now), o.pop(now)
		if got != want {
			t.Fatalf("at %v: popped %v, want %v", now, got, want)
		}
		if got == nil {
			if next := w.Next(); next <= now {
				t.Fatalf("at %v: nothing due but next wake %v", now, next)
			}
			return
		}
		if got.Armed() {
			t.Fatal("popped timer is still armed")
		}
	}
}

// Next is exact as long as nothing was cancelled: no wake-up is for nothing.
func TestWheelWakesOnceATimer(t *testing.T) {
	var w Wheel
	timers := make([]Timer, 1000)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range timers {
		w.Set(&timers[i], unit.Time(rng.Int64N(1e9)))
	}
	wakes := 0
	for w.Len() > 0 {
		wakes++
		if w.Pop(w.Next()) == nil {
			t.Fatal("woke for nothing")
		}
	}
	if wakes != len(timers) {
		t.Errorf("%d wakes for %d timers", wakes, len(timers))
	}
}

func TestWheelDoesNotAllocate(t *testing.T) {
	var w Wheel
	timers := make([]Timer, 64)
	now := unit.Time(0)
	if n := testing.AllocsPerRun(100, func() {
		for i := range timers {
			w.Set(&timers[i], now+unit.Time(i*997))
		}
		now += 40_000
		for w.Pop(now) != nil {
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// One operation is: take the first timer, set it anew. Its cost must not grow with the number
// of timers.
func BenchmarkWheel(b *testing.B) {
	for _, n := range []int{10, 1_000, 100_000} {
		b.Run(fmt.Sprintf("timers=%d", n), func(b *testing.B) {
			var w Wheel
			timers := make([]Timer, n)
			rng := rand.New(rand.NewPCG(1, 2))
			for i := range timers {
				w.Set(&timers[i], unit.Time(rng.Int64N(55_000)))
			}
			b.ReportAllocs()
			for b.Loop() {
				next := w.Next()
				t := w.Pop(next)
				if t == nil {
					b.Fatal("nothing due")
				}
				w.Set(t, next+unit.Time(50_000+rng.Int64N(10_000)))
			}
		})
	}
}
