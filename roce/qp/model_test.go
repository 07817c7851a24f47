package qp

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
	"pgregory.net/rapid"
)

// badWire carries packets with loss, duplication, reordering and corruption, by seed.
type badWire struct {
	rng    *rand.Rand
	faults float64 // probability of each fault
	flying []flight
}

type flight struct {
	at   unit.Time
	to   *side
	data []byte
}

func (w *badWire) send(now unit.Time, to *side, b []byte) {
	if b == nil || w.rng.Float64() < w.faults {
		return
	}
	delay := unit.Time(1000)
	if w.rng.Float64() < w.faults {
		delay += unit.Time(w.rng.IntN(20_000)) // others overtake it
	}
	if w.rng.Float64() < w.faults {
		b = slices.Clone(b)
		b[14+w.rng.IntN(len(b)-14)] ^= 1 << w.rng.IntN(8)
	}
	w.flying = append(w.flying, flight{now + delay, to, b})
	if w.rng.Float64() < w.faults {
		w.flying = append(w.flying, flight{now + delay + unit.Time(w.rng.IntN(9000)), to, b})
	}
}

// deliver hands over what has arrived. Damaged packets die at the ICRC, as in a NIC; but damage
// in the fields that it leaves out must not kill the connection either.
func (w *badWire) deliver(now unit.Time) {
	slices.SortStableFunc(w.flying, func(a, b flight) int { return int(a.at - b.at) })
	for len(w.flying) > 0 && w.flying[0].at <= now {
		f := w.flying[0]
		w.flying = w.flying[1:]
		if p, ok := ib.Open(f.data, 14, 34); ok && p.CheckICRC() {
			f.to.Receive(now, &p)
		}
	}
}

// message is one work request of the model and what must come of it.
type message struct {
	wr WR
	at int // offset in the receiver's memory
}

// Over a wire that loses, repeats, reorders and damages, every message arrives whole, once and in
// order, and completes once.
func TestBadWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &badWire{rng: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)),
			faults: rapid.SampledFrom([]float64{0, 0.01, 0.1}).Draw(t, "faults")}
		tb := fatal{t}
		// Retries are counted from the last progress: 7 would run out in a wire this bad.
		a, b := pairFor(tb, func(c *Config) { c.Timeout, c.RetryCount, c.MinRNRTimer = 4, 255, 1 })
		a.fill(byte(w.rng.Uint32()))
		messages := makeMessages(t, a, b)
		run(tb, w, a, b, messages)
		sent, got := 0, 0
		for _, m := range messages {
			src := a.region.Bytes[m.wr.Local.VA-a.region.VA:][:m.wr.Local.Length]
			if !bytes.Equal(b.region.Bytes[m.at:m.at+len(src)], src) {
				t.Fatalf("message %d: memory differs", m.wr.ID)
			}
			sent += len(src)
		}
		got = int(b.Stats.BytesReceived)
		if sent != got || a.Stats.BytesAcked != uint64(sent) {
			t.Fatalf("%d bytes posted, %d placed, %d acknowledged", sent, got, a.Stats.BytesAcked)
		}
		if w.faults == 0 && a.Stats.PacketsRetransmitted != 0 && a.counters.RNRNakRetryErr == 0 {
			t.Fatal("retransmissions without a fault")
		}
	})
}

type fatal struct{ *rapid.T }

func makeMessages(t *rapid.T, a, b *side) (all []message) {
	at := 0
	for i := range rapid.IntRange(1, 20).Draw(t, "messages") {
		n := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(0, 3000)).Draw(t, "size")
		m := message{at: at, wr: WR{ID: uint64(i), Imm: uint32(i), Local: a.local(i*7, n),
			Op: Op(rapid.IntRange(int(Send), int(WriteImm)).Draw(t, "op")), Remote: b.remote(at)}}
		all = append(all, m)
		at += n
	}
	return all
}

// run drives both QPs until every message is complete on both sides.
func run(t fatal, w *badWire, a, b *side, messages []message) {
	now := unit.Time(0)
	posted, received, done, wanted := 0, 0, 0, []int{}
	for i := range messages {
		if messages[i].wr.Op != Write {
			wanted = append(wanted, i)
		}
	}
	for step := 0; done < len(messages) || received < len(wanted); step++ {
		if step > 400_000 {
			t.Fatalf("stuck: %d of %d done, %v", done, len(messages), a.State())
		}
		if posted < len(messages) && a.Post(messages[posted].wr) == nil {
			posted++
		}
		if next := received + b.resp.queue.len() + b.resp.taken(); next < len(wanted) &&
			step%3 == 0 {
			m := &messages[wanted[next]]
			err := b.PostReceive(ReceiveWR{ID: m.wr.ID, Local: b.local(m.at, m.wr.Local.Length)})
			if err != nil && !errors.Is(err, ErrQueueFull) {
				t.Fatal(err)
			}
		}
		w.send(now, b, a.next(now))
		w.send(now, b, a.answer())
		w.send(now, a, b.answer())
		now += 300
		w.deliver(now)
		a.Wake(now)
		for _, c := range a.polled() {
			if c.Status != Success || c.ID != uint64(done) {
				t.Fatalf("completion %+v, want success of %d", c, done)
			}
			done++
		}
		for _, c := range b.polled() {
			m := &messages[wanted[received]]
			if c.Status != Success || c.ID != m.wr.ID || c.Bytes != m.wr.Local.Length ||
				c.HasImm != (m.wr.Op != Send) || c.HasImm && c.Imm != m.wr.Imm {
				t.Fatalf("received %+v, want %+v", c, m.wr)
			}
			received++
		}
	}
}

func pairFor(t fatal, change func(*Config)) (a, b *side) {
	a, b = newSide(t, 0, change), newSide(t, 1, change)
	connect(t, a, b, 0xfffffe, 100)
	return a, b
}
