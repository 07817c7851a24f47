package qos

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/mmu"
)

func evenWeights() DWRRConfig {
	return DWRRConfig{Weight: [8]int{1, 1, 1, 1, 1, 1, 1, 1}, MTU: 1500}
}

// serve sends n frames out of queues that are never empty and returns the bytes of each.
func serve(s Scheduler, ready QueueSet, heads *Heads, n int) (sent [8]unit.Bytes) {
	for range n {
		q := s.Pick(ready, 0, heads)
		sent[q] += heads[q]
		s.Sent(q, heads[q], true)
	}
	return sent
}

// TestStrictAbove: strict queues by number, and no weighted one while they have frames.
func TestStrictAbove(t *testing.T) {
	c := evenWeights()
	c.Strict = QueueSet(0).With(6).With(2)
	s := NewDWRR(c)
	heads := &Heads{1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500}
	for _, step := range []struct {
		ready QueueSet
		want  mmu.Queue
	}{{0xff, 6}, {0xff &^ (1 << 6), 2}, {0xff, 6}, {1 << 7, 7}} {
		if got := s.Pick(step.ready, 0, heads); got != step.want {
			t.Errorf("of %08b: queue %d, want %d", step.ready, got, step.want)
		}
	}
}

// TestWeights: bytes are shared by weight, though the frames' lengths differ.
func TestWeights(t *testing.T) {
	s := NewDWRR(DWRRConfig{Weight: [8]int{14, 15, 1, 1, 1, 1, 1, 1}, MTU: 1500})
	sent := serve(s, 0b111, &Heads{1500, 64, 1000}, 200000)
	for q, weight := range []float64{14, 15, 1} {
		perWeight := float64(sent[q]) / weight
		if first := float64(sent[0]) / 14; math.Abs(perWeight-first) > 0.01*first {
			t.Errorf("queue %d: %v bytes per weight, queue 0 %v", q, perWeight, first)
		}
	}
}

// TestWRR: frames are shared by weight, though their lengths differ. A whole number of rounds
// shares them exactly.
func TestWRR(t *testing.T) {
	heads := &Heads{1500, 64, 9000}
	sent := serve(NewDWRR(DWRRConfig{Weight: [8]int{14, 15, 1, 1, 1, 1, 1, 1}, MTU: 1500,
		Unit: Packets}), 0b111, heads, 30*1000)
	for q, want := range []unit.Bytes{14000, 15000, 1000} {
		if got := sent[q] / heads[q]; got != want {
			t.Errorf("queue %d: %d frames, want %d", q, got, want)
		}
	}
}

// TestCredit: a queue that was paused goes on with the credit it had; one that ran
// empty starts anew.
func TestCredit(t *testing.T) {
	c := evenWeights()
	c.Weight[0] = 2
	s := NewDWRR(c)
	heads := &Heads{1500, 1500}
	s.Pick(0b11, 0, heads)
	s.Sent(0, 1500, true)
	if s.credit[0] != 1500 {
		t.Fatalf("credit %d", s.credit[0])
	}
	if got := s.Pick(0b10, 0, heads); got != 1 || s.credit[0] != 1500 {
		t.Errorf("paused: queue %d, credit %d", got, s.credit[0])
	}
	s.Sent(1, 1500, true)
	s.Pick(0b11, 0, heads)
	s.Sent(0, 1500, false)
	if s.credit[0] != 0 {
		t.Errorf("empty: credit %d", s.credit[0])
	}
}

// TestFrameAboveMTU: a frame longer than a round's credit waits some rounds and goes.
func TestFrameAboveMTU(t *testing.T) {
	sent := serve(NewDWRR(evenWeights()), 0b11, &Heads{9000, 1500}, 7000)
	if sent[0] == 0 || math.Abs(float64(sent[0]-sent[1])) > 20000 {
		t.Errorf("sent %v", sent)
	}
}

func TestDWRRValidate(t *testing.T) {
	c := evenWeights()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	c.Weight[3] = 0
	if err := c.Validate(); err == nil {
		t.Error("weight 0 was accepted")
	}
	if c.Strict = c.Strict.With(3); c.Validate() != nil {
		t.Error("a strict queue needs a weight")
	}
	if c.Unit = 2; c.Validate() == nil {
		t.Error("unit 2 was accepted")
	}
	c.Unit = Packets
	if c.MTU = 0; c.Validate() == nil {
		t.Error("MTU 0 was accepted")
	}
}

// schedulers is every implementation; all obey the rules of TestRules.
var schedulers = map[string]func() Scheduler{
	"dwrr": func() Scheduler { return NewDWRR(evenWeights()) },
	"strict and dwrr": func() Scheduler {
		c := evenWeights()
		c.Strict = 0b1100_0000
		return NewDWRR(c)
	},
	"wrr": func() Scheduler {
		c := evenWeights()
		c.Unit = Packets
		return NewDWRR(c)
	},
	"strict": func() Scheduler {
		c := evenWeights()
		c.Strict = 0xff
		return NewDWRR(c)
	},
}

// TestRules feeds random queues: only ready queues are picked, and asking twice changes nothing.
func TestRules(t *testing.T) {
	for name, build := range schedulers {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				s := build()
				var queues [8][]unit.Bytes
				for range rapid.IntRange(1, 200).Draw(t, "steps") {
					q := rapid.IntRange(0, 7).Draw(t, "queue")
					n := unit.Bytes(rapid.IntRange(60, 9000).Draw(t, "length"))
					queues[q] = append(queues[q], n)
					paused := QueueSet(rapid.Uint8().Draw(t, "paused"))
					step(t, s, &queues, paused)
				}
			})
		})
	}
}

func step(t *rapid.T, s Scheduler, queues *[8][]unit.Bytes, paused QueueSet) {
	var ready QueueSet
	var heads Heads
	for q, frames := range queues {
		if len(frames) > 0 && !paused.Has(mmu.Queue(q)) {
			ready = ready.With(mmu.Queue(q))
			heads[q] = frames[0]
		}
	}
	if ready == 0 {
		return
	}
	below := QueueSet(rapid.SampledFrom([]uint8{0, 0, 1, 0x81, 0xff}).Draw(t, "below"))
	q := s.Pick(ready, below, &heads)
	if !ready.Has(q) || s.Pick(ready, below, &heads) != q {
		t.Fatalf("picked %d, then %d of %08b", q, s.Pick(ready, below, &heads), ready)
	}
	queues[q] = queues[q][1:]
	if below.Has(q) {
		s.Gone(q, len(queues[q]) > 0)
	} else {
		s.Sent(q, heads[q], len(queues[q]) > 0)
	}
}

func BenchmarkSchedule(b *testing.B) {
	c := evenWeights()
	c.Strict = QueueSet(0).With(7)
	s := NewDWRR(c)
	heads := &Heads{1082, 1082, 62, 1082, 1082, 9000, 64, 64}
	b.ReportAllocs()
	var n unit.Bytes
	for b.Loop() {
		q := s.Pick(0b0111_1111, 0, heads)
		s.Sent(q, heads[q], true)
		n += heads[q]
	}
	if n == 0 {
		b.Fatal("nothing was sent")
	}
}
