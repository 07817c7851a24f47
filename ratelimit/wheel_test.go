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
type oracle []entry

type entry struct {
	id TimerID
	at unit.Time
}

func (o *oracle) cancel(id TimerID) {
	*o = slices.DeleteFunc(*o, func(e entry) bool { return e.id == id })
}

func (o *oracle) set(id TimerID, at unit.Time) {
	o.cancel(id)
	if at == unit.Never {
		return
	}
	i := 0
	for i < len(*o) && (*o)[i].at <= at {
		i++
	}
	*o = slices.Insert(*o, i, entry{id, at})
}

func (o *oracle) pop(now unit.Time) (TimerID, bool) {
	if len(*o) == 0 || (*o)[0].at > now {
		return 0, false
	}
	first := (*o)[0]
	*o = (*o)[1:]
	return first.id, true
}

// The wheel gives out what a sorted list gives out, in the same order, and never promises a
// wake-up later than the first deadline.
func TestWheelAgainstSortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const timers = 12
		w, o := NewWheel(timers), oracle{}
		now := unit.Time(rapid.Int64Range(0, 1<<50).Draw(t, "start"))
		delay := rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, 300),
			rapid.Int64Range(0, 1<<20), rapid.Int64Range(0, 1<<55))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			tm := TimerID(rapid.IntRange(0, timers-1).Draw(t, "timer"))
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
				drain(t, w, &o, now)
			case 4:
				if next := w.Next(); next != unit.Never {
					now = max(now, next)
					drain(t, w, &o, now)
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
		got, ok := w.Pop(now)
		if want, due := o.pop(now); got != want || ok != due {
			t.Fatalf("at %v: popped %v %v, want %v %v", now, got, ok, want, due)
		}
		if !ok {
			if next := w.Next(); next <= now {
				t.Fatalf("at %v: nothing due but next wake %v", now, next)
			}
			return
		}
		if w.Armed(got) {
			t.Fatal("popped timer is still armed")
		}
	}
}

// Next is exact as long as nothing was cancelled: no wake-up is for nothing.
func TestWheelWakesOnceATimer(t *testing.T) {
	const timers = 1000
	w := NewWheel(timers)
	rng := rand.New(rand.NewPCG(1, 2))
	for id := range TimerID(timers) {
		w.Set(id, unit.Time(rng.Int64N(1e9)))
	}
	wakes := 0
	for w.Len() > 0 {
		wakes++
		if _, ok := w.Pop(w.Next()); !ok {
			t.Fatal("woke for nothing")
		}
	}
	if wakes != timers {
		t.Errorf("%d wakes for %d timers", wakes, timers)
	}
}

func TestWheelDoesNotAllocate(t *testing.T) {
	const timers = 64
	w := NewWheel(timers)
	now := unit.Time(0)
	if n := testing.AllocsPerRun(100, func() {
		for id := range TimerID(timers) {
			w.Set(id, now+unit.Time(id)*997)
		}
		now += 40_000
		for _, ok := w.Pop(now); ok; _, ok = w.Pop(now) {
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// One operation is: take the first timer, set it anew 50 to 60 us ahead. Each timer moves through
// three levels whatever their number, so the work is the same. What remains is the caches: the slab
// of 100,000 timers takes 1.6 MB, so a core whose second level holds 1 MB misses some of them, once
// in their life, when the slot they wait in is walked.
func BenchmarkWheel(b *testing.B) {
	for _, n := range []int{10, 1_000, 100_000} {
		b.Run(fmt.Sprintf("timers=%d", n), func(b *testing.B) {
			w := NewWheel(n)
			rng := rand.New(rand.NewPCG(1, 2))
			for id := range TimerID(n) {
				w.Set(id, unit.Time(rng.Int64N(55_000)))
			}
			b.ReportAllocs()
			for b.Loop() {
				next := w.Next()
				id, ok := w.Pop(next)
				if !ok {
					b.Fatal("nothing due")
				}
				w.Set(id, next+unit.Time(50_000+rng.Int64N(10_000)))
			}
		})
	}
}
