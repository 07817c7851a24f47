package qos

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/mmu"
)

// TestShares is the promise of DWRR and of WRR: whatever the weights and the lengths of frames,
// with strict queues above that come and go, the queues that always have frames share what is
// left within 1 %. Some queues are paused for long stretches; the others then share alone, and
// each stretch is looked at by itself.
func TestShares(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		c := evenWeights()
		c.Strict = 0b1100_0000
		c.MTU = 9000
		c.Unit = Unit(seed % 2)
		var lengths [8][]unit.Bytes
		for q := range lengths {
			c.Weight[q] = 1 + rng.IntN(maxWeight)
			for range 1 + rng.IntN(7) {
				lengths[q] = append(lengths[q], unit.Bytes(60+rng.IntN(9000-59)))
			}
		}
		s := NewDWRR(c)
		for range 3 {
			ready := 0b0011_1111 &^ QueueSet(rng.IntN(0b10_0000))
			stretch(t, s, &c, &lengths, ready, 2+rng.IntN(8))
		}
	}
}

// stretch serves the weighted queues of ready, with a strict frame now and then, for so many
// rounds that what a round leaves over is well below 1 %.
func stretch(t *testing.T, s *DWRR, c *DWRRConfig, lengths *[8][]unit.Bytes, ready QueueSet,
	strictEvery int) {
	const rounds = 300
	var sent [8]unit.Bytes // in the scheduler's unit
	var at [8]int
	var heads Heads
	for q := range heads {
		heads[q] = lengths[q][0]
	}
	target := unit.Bytes(rounds*c.Weight[5]) * s.round()
	for step := 0; sent[5] < target; step++ {
		now := ready
		if step%strictEvery == 0 {
			now = now.With(6)
		}
		q := s.Pick(now, 0, &heads)
		if now.Has(6) != (q == 6) {
			t.Fatalf("queue %d of %08b, and 6 is strict", q, now)
		}
		s.Sent(q, heads[q], true)
		sent[q] += s.cost(heads[q])
		at[q]++
		heads[q] = lengths[q][at[q]%len(lengths[q])]
	}
	share := float64(sent[5]) / float64(c.Weight[5])
	for q := range mmu.Queue(5) {
		want := float64(c.Weight[q]) * share
		if !ready.Has(q) {
			want = 0
		}
		if got := float64(sent[q]); math.Abs(got-want) > 0.01*want {
			t.Fatalf("queue %d of %08b with weight %d got %v, want %v", q, ready, c.Weight[q], got,
				want)
		}
	}
}

// round is what a weight of 1 is worth.
func (s *DWRR) round() unit.Bytes { return s.cost(9000) }
