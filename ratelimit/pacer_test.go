package ratelimit

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"pgregory.net/rapid"
)

// A sender that is asked exactly when its bucket says has its rate to the bit: after n packets
// the time is their sum divided by the rate, rounded up once.
func TestBucketIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := unit.Rate(rapid.Int64Range(1_000_000, 400e9).Draw(t, "rate"))
		start := unit.Time(rapid.Int64Range(0, 1<<40).Draw(t, "start"))
		b := NewBucket(start, rate, 0)
		now, sent := start, unit.Bytes(0)
		b.credit = 0
		for range rapid.IntRange(1, 50).Draw(t, "packets") {
			n := unit.Bytes(rapid.Int64Range(64, 9000).Draw(t, "size"))
			b.Take(now, n)
			sent += n
			now = b.Ready(now)
		}
		var s unit.Serial
		if exact, got := s.Time(sent, rate), now.Sub(start); got-exact > 1 || got < exact {
			t.Fatalf("%d bytes at %v took %v, want %v", sent, rate, got, exact)
		}
	})
}

// Whoever asks when, a bucket never lets through more than rate, burst and one packet.
func TestBucketBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := unit.Rate(rapid.Int64Range(1_000_000, 100e9).Draw(t, "rate"))
		burst := unit.Bytes(rapid.Int64Range(0, 20_000).Draw(t, "burst"))
		b := NewBucket(0, rate, burst)
		now, sent := unit.Time(0), unit.Bytes(0)
		for range rapid.IntRange(1, 60).Draw(t, "asks") {
			now += unit.Time(rapid.Int64Range(0, 5000).Draw(t, "wait"))
			if b.Ready(now) <= now {
				b.Take(now, 1500)
				sent += 1500
			}
			if limit := burst + 1500 + rate.BytesIn(now.Sub(0)) + 1; sent > limit {
				t.Fatalf("%d bytes by %v, at most %d", sent, now, limit)
			}
		}
	})
}

func TestBucketRateChange(t *testing.T) {
	b := NewBucket(0, 8*unit.GbPerSecond, 0) // one byte a nanosecond
	b.Take(0, 1000)
	b.SetRate(500, 4*unit.GbPerSecond) // 500 bytes owed, half a byte a nanosecond
	if got := b.Ready(500); got != 1500 {
		t.Errorf("ready at %d, want 1500", got)
	}
	b.SetRate(600, 0)
	if got := b.Ready(700); got != unit.Never {
		t.Errorf("ready at %v with rate zero", got)
	}
}

// lab runs a pacer over a port of the given rate for some time, and returns what each flow sent.
func lab(flows []*Flow, port unit.Rate, until time.Duration, allowed func(unit.Time) uint8,
	w *Wheel, p *Pacer) map[uint32]unit.Bytes {
	const size = 1000
	sent := map[uint32]unit.Bytes{}
	var wire unit.Serial
	for now := unit.Time(0); now < unit.Time(until); {
		for id, ok := w.Pop(now); ok; id, ok = w.Pop(now) {
			p.Expired(now, flows[id])
		}
		if f := p.Next(allowed(now)); f != nil {
			sent[f.Owner] += size
			p.Sent(now, f, size)
			now = now.Add(wire.Time(size, port))
			continue
		}
		now = max(now+1, min(w.Next(), now+1000))
	}
	return sent
}

func within(t *testing.T, name string, got, want unit.Bytes) {
	t.Helper()
	if d := got - want; d < -want/100-1000 || d > want/100+1000 {
		t.Errorf("%s sent %d bytes, want about %d", name, got, want)
	}
}

func newFlows(w *Wheel, rates ...unit.Rate) ([]*Flow, *Pacer) {
	p := NewPacer(w)
	var flows []*Flow
	for i, r := range rates {
		f := &Flow{}
		f.Init(0, uint32(i), TimerID(i), uint8(i%2)+3, r, 1000)
		flows = append(flows, f)
		p.Activate(0, f)
	}
	return flows, p
}

func TestPacerKeepsRates(t *testing.T) {
	w := NewWheel(4)
	all := func(unit.Time) uint8 { return 0xff }
	flows, p := newFlows(w, 1e9, 2e9, 3e9)
	sent := lab(flows, 40e9, 10*time.Millisecond, all, w, p)
	for i, want := range []unit.Bytes{1_250_000, 2_500_000, 3_750_000} {
		within(t, "flow", sent[uint32(i)], want)
	}
}

func TestPacerSharesAFullPort(t *testing.T) {
	w := NewWheel(4)
	all := func(unit.Time) uint8 { return 0xff }
	flows, p := newFlows(w, 40e9, 40e9, 40e9, 40e9)
	sent := lab(flows, 8e9, 4*time.Millisecond, all, w, p)
	for i := range flows {
		within(t, "flow", sent[uint32(i)], 1_000_000)
	}
}

// A paused priority stops, and no other; the flows of the other get its share.
func TestPacerPausedPriority(t *testing.T) {
	w := NewWheel(4)
	only4 := func(now unit.Time) uint8 { return 1 << 4 }
	flows, p := newFlows(w, 40e9, 40e9)
	sent := lab(flows, 8e9, time.Millisecond, only4, w, p)
	within(t, "priority 4", sent[1], 1_000_000)
	if sent[0] != 0 {
		t.Errorf("paused priority 3 sent %d", sent[0])
	}
}

func TestPacerActivation(t *testing.T) {
	w := NewWheel(4)
	flows, p := newFlows(w, 8e9)
	f := flows[0]
	p.Activate(0, f) // twice is once
	if p.Next(0xff) != f || p.Ready() != 1<<3 {
		t.Fatal("not ready after Activate")
	}
	p.Sent(0, f, 5000) // 1000 of burst, then 4000 ns of debt
	if p.Next(0xff) != nil || w.Next() != 4000 || !f.Active() {
		t.Fatalf("in debt, next %v", w.Next())
	}
	p.SetRate(2000, f, 4e9)
	if w.Next() != 6000 {
		t.Errorf("at half the rate half the debt takes until %v, want 6000", w.Next())
	}
	p.Deactivate(f)
	if w.Len() != 0 || f.Active() {
		t.Error("deactivated flow still waits")
	}
	p.Activate(6000, f)
	if p.Next(0xff) != f {
		t.Error("debt is not over at 6000")
	}
	p.Deactivate(f)
	if p.Ready() != 0 || p.Next(0xff) != nil {
		t.Error("deactivated flow is still ready")
	}
}

func BenchmarkPacer(b *testing.B) {
	for _, n := range []int{10, 100_000} {
		name := map[int]string{10: "flows=10", 100_000: "flows=100000"}[n]
		b.Run(name, func(b *testing.B) {
			w := NewWheel(n)
			p := NewPacer(w)
			flows := make([]Flow, n)
			for i := range flows {
				flows[i].Init(0, uint32(i), TimerID(i), 3, unit.Rate(40e9/n), 0)
				p.Activate(0, &flows[i])
			}
			now := unit.Time(0)
			b.ReportAllocs()
			for b.Loop() {
				f := p.Next(0xff)
				for f == nil {
					now = max(now, w.Next())
					for id, ok := w.Pop(now); ok; id, ok = w.Pop(now) {
						p.Expired(now, &flows[id])
					}
					f = p.Next(0xff)
				}
				p.Sent(now, f, 1000)
			}
		})
	}
}
