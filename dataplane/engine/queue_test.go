package engine

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// TestQueueOrder compares the queue with a list that is searched: bursts of one kind, near and far,
// that are popped now and then.
func TestQueueOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		var model []event
		t.Repeat(map[string]func(*rapid.T){
			"burst": func(t *rapid.T) {
				far := rapid.SampledFrom([]int{3, 70, 5000, 1 << 40}).Draw(t, "far")
				at := q.time + unit.Time(rapid.IntRange(0, far).Draw(t, "at"))
				kind := rapid.SampledFrom([]eventKind{evArrive, evFree, evWake,
					evDeliver}).Draw(t, "kind")
				port := dataplane.PortID(rapid.IntRange(0, 2).Draw(t, "port"))
				for range rapid.IntRange(1, 20).Draw(t, "n") {
					e := event{at: at, rank: rank(kind, port), node: &Node{}}
					q.push(e)
					model = append(model, e)
					at += unit.Time(rapid.IntRange(0, 2).Draw(t, "gap"))
				}
			},
			"pop": func(t *rapid.T) {
				for range min(len(model), rapid.IntRange(1, 15).Draw(t, "n")) {
					i := earliest(model)
					if got := q.pop(); got.node != model[i].node {
						t.Fatalf("popped rank %#x at %v, want %#x at %v", got.rank, got.at,
							model[i].rank, model[i].at)
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

// earliest is the place of the first event of a list that is in the order of pushing.
func earliest(events []event) (best int) {
	for i := range events {
		a, b := &events[i], &events[best]
		if a.at < b.at || a.at == b.at && a.rank < b.rank {
			best = i
		}
	}
	return best
}

// TestQueueReusesItsMemory: frames that pass through need no more memory than there are at a time.
func TestQueueReusesItsMemory(t *testing.T) {
	var q queue
	at := unit.Time(0)
	push := func() {
		q.push(event{at: at, rank: rank(evArrive, 0)})
		at++
	}
	for range 1000 {
		push()
	}
	if n := testing.AllocsPerRun(10_000, func() { push(); q.pop() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if len(q.entries) > 1002 {
		t.Errorf("room for %d events, never more than 1,001 at a time", len(q.entries)-1)
	}
}

// BenchmarkQueue is what an event costs among so many others, each of which comes again after a
// time of about a microsecond.
func BenchmarkQueue(b *testing.B) {
	for _, c := range []struct {
		name   string
		events int
	}{{"100", 100}, {"10000", 10_000}, {"1000000", 1_000_000}} {
		b.Run(c.name, func(b *testing.B) {
			var q queue
			for i := range c.events {
				q.push(event{at: unit.Time(i * 7919 % 1500)})
			}
			b.ReportAllocs()
			for b.Loop() {
				e := q.pop()
				e.at += 700 + (e.at*31)%800
				q.push(e)
			}
		})
	}
}
