package engine

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// TestQueueOrder: whatever is pushed and popped in whatever order, the earliest comes out, and of
// those of one time the one of the lower rank, and of those the one scheduled first.
func TestQueueOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		var model []event
		seq := uint64(0)
		t.Repeat(map[string]func(*rapid.T){
			"burst": func(t *rapid.T) {
				at := unit.Time(rapid.IntRange(0, 50).Draw(t, "at"))
				kind := rapid.SampledFrom([]eventKind{evArrive, evFree, evWake,
					evDeliver}).Draw(t, "kind")
				port := dataplane.PortID(rapid.IntRange(0, 2).Draw(t, "port"))
				for range rapid.IntRange(1, 20).Draw(t, "n") {
					e := event{at: at, seq: seq, rank: rank(kind, port)}
					seq++
					q.push(e)
					model = append(model, e)
					at += unit.Time(rapid.IntRange(0, 2).Draw(t, "gap"))
				}
			},
			"pop": func(t *rapid.T) {
				for range min(len(model), rapid.IntRange(1, 15).Draw(t, "n")) {
					i := earliest(model)
					if got := q.pop(); got.seq != model[i].seq {
						t.Fatalf("popped %d at %v, want %d at %v", got.seq, got.at, model[i].seq,
							model[i].at)
					}
					model = slices.Delete(model, i, i+1)
				}
			},
			"": func(t *rapid.T) {
				want := unit.Never
				if len(model) > 0 {
					want = model[earliest(model)].at
				}
				if q.next() != want {
					t.Fatalf("next is %v, want %v", q.next(), want)
				}
			},
		})
	})
}

func earliest(events []event) (best int) {
	for i := range events {
		if events[i].before(&events[best]) {
			best = i
		}
	}
	return best
}

// TestQueueReusesItsMemory: frames that pass through in order need no more memory than there are
// at a time.
func TestQueueReusesItsMemory(t *testing.T) {
	var q queue
	at, seq := unit.Time(0), uint64(0)
	push := func() {
		q.push(event{at: at, seq: seq, rank: rank(evArrive, 0)})
		at++
		seq++
	}
	for range 1000 {
		push()
	}
	if n := testing.AllocsPerRun(10_000, func() { push(); q.pop() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if cap(q.line) > 4000 {
		t.Errorf("room for %d events, never more than 1,001 at a time", cap(q.line))
	}
}
