package qp

import (
	"bytes"
	"encoding/binary"
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

	before uint64 // atomic: what it must find
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
		checkMemory(t, a, b, messages)
		if w.faults == 0 && a.Stats.PacketsRetransmitted != 0 && a.counters.RNRNakRetryErr == 0 {
			t.Fatal("retransmissions without a fault")
		}
	})
}

type fatal struct{ *rapid.T }

// The memories of both: what a sends stands in front, what it fetches goes to fetchedAt; what b
// receives stands in front, and a counter in the last eight bytes.
const (
	fetchedAt = regionSize / 2 // of 20 messages of 3000 bytes at 1600: half overwrites half
	counterAt = regionSize - AtomicLen
	stride    = 1600
)

func makeMessages(t *rapid.T, a, b *side) (all []message) {
	binary.NativeEndian.PutUint64(b.region.Bytes[counterAt:], 0)
	at, adds := 0, uint64(0)
	for i := range rapid.IntRange(1, 20).Draw(t, "messages") {
		n := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(0, 3000)).Draw(t, "size")
		m := message{at: at, wr: WR{ID: uint64(i), Imm: uint32(i), Local: a.local(i*7, n),
			Op:     Op(rapid.IntRange(int(Send), int(operations)-1).Draw(t, "op")),
			Remote: b.remote(at)}}
		switch op := m.wr.Op; {
		case op == Read:
			n = min(n, stride)
			m.wr.Local = a.local(fetchedAt+i*stride, n)
			m.at, m.wr.Remote = i*stride, a.peerOfRead(b, i)
		case op.Atomic():
			m.wr.Local, m.wr.Remote = a.local(fetchedAt+i*stride, AtomicLen), b.remote(counterAt)
			m.before = adds
			m.wr.Atomic = ib.AtomicOperands{SwapAdd: 1, Compare: 0}
			if op == CmpSwap { // only right in its place in the order
				m.wr.Atomic = ib.AtomicOperands{SwapAdd: adds + 1, Compare: adds}
			}
			adds++
		default:
			at += n
		}
		all = append(all, m)
	}
	return all
}

// peerOfRead is where b keeps what message i reads: a pattern in a region that nobody writes.
func (s *side) peerOfRead(b *side, i int) Remote {
	return Remote{VA: b.library.VA + uint64(i*stride), RKey: b.library.Key}
}

// checkMemory compares every byte that went either way with where it came from.
func checkMemory(t *rapid.T, a, b *side, messages []message) {
	sent, fetched := 0, 0
	for _, m := range messages {
		mine := a.region.Bytes[m.wr.Local.VA-a.region.VA:][:m.wr.Local.Length]
		theirs := b.region.Bytes[min(m.at, counterAt):]
		switch op := m.wr.Op; {
		case op == Read:
			theirs = b.library.Bytes[m.at:]
			fetched += len(mine)
		case op.Atomic():
			theirs = binary.NativeEndian.AppendUint64(nil, m.before)
			fetched += len(mine)
		default:
			sent += len(mine)
		}
		if !bytes.Equal(mine, theirs[:len(mine)]) {
			t.Fatalf("message %d, %v: memory differs", m.wr.ID, m.wr.Op)
		}
	}
	if a.Stats.BytesAcked != uint64(sent) || b.Stats.BytesReceived != uint64(sent) ||
		a.Stats.BytesReceived != uint64(fetched) {
		t.Fatalf("%d bytes posted, %d to fetch; %+v and %+v", sent, fetched, a.Stats, b.Stats)
	}
}

// run drives both QPs until every message is complete on both sides.
func run(t fatal, w *badWire, a, b *side, messages []message) {
	now := unit.Time(0)
	posted, received, done, wanted := 0, 0, 0, []int{}
	for i := range messages {
		if op := messages[i].wr.Op; op < Write || op == WriteImm {
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
		w.send(now, a, b.next(now))
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
