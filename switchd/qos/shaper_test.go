package qos

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/mmu"
)

// wireRun sends from queues that are never empty over a wire of a rate, as a port does, until a
// time, and returns what each queue sent, in metered bytes.
type wireRun struct {
	sched  Scheduler
	shaper *Shaper
	rate   unit.Rate
	heads  Heads
	ready  QueueSet

	now    unit.Time
	serial unit.Serial
	sent   [mmu.Queues]unit.Bytes
	frames [mmu.Queues]int
}

// metered is what a shaper without overhead counts for a frame.
func metered(n unit.Bytes) unit.Bytes { return max(n, wire.MinFrame) + wire.FCSLen }

// next sends one frame, after waiting for a shaper if it must, and tells from which queue and when.
func (w *wireRun) next() (q mmu.Queue, at unit.Time) {
	allowed, from := w.shaper.Allowed(w.now, w.ready)
	if allowed == 0 {
		w.now = from
		allowed, _ = w.shaper.Allowed(w.now, w.ready)
	}
	below := w.shaper.Below(w.now)
	q = w.sched.Pick(allowed, below, &w.heads)
	n := w.heads[q]
	if below.Has(q) {
		w.sched.Gone(q, true)
	} else {
		w.sched.Sent(q, n, true)
	}
	w.shaper.Sent(w.now, q, n, below.Has(q))
	w.sent[q] += metered(n)
	w.frames[q]++
	at = w.now
	w.now = w.now.Add(w.serial.Time(wire.OnLine(n), w.rate))
	return q, at
}

func (w *wireRun) until(end unit.Time) {
	for w.now < end {
		w.next()
	}
}

func newRun(c DWRRConfig, shape ShaperConfig) *wireRun {
	return &wireRun{sched: NewDWRR(c), shaper: NewShaper(0, shape, 1500),
		rate: 40 * unit.GbPerSecond, ready: 0xff,
		heads: Heads{1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500}}
}

// near reports whether a rate is within a part of another.
func near(got, want unit.Rate, part int64) bool {
	d := int64(got - want)
	return d*part <= int64(want) && -d*part <= int64(want)
}

// TestMaximumIsExact: a queue that sends whenever it may sends at the very nanosecond at which its
// rate has carried what it sent before, less the burst.
func TestMaximumIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c ShaperConfig
		rate := rapid.Int64Range(1e3, 400e9).Draw(t, "rate")
		burst := rapid.Int64Range(1, 100000).Draw(t, "burst")
		c.Queues[3] = Shape{Max: unit.Rate(rate), MaxBurst: unit.Bytes(burst)}
		s := NewShaper(0, c, 1500)
		ready := QueueSet(0).With(3)
		var sent int64
		for now := unit.Time(0); sent < 1e6; {
			if allowed, from := s.Allowed(now, ready); allowed == 0 {
				now = from
			}
			// Bits times 1e9, which is what bits a second times nanoseconds are.
			owed := new(big.Int).Mul(big.NewInt(sent-burst), big.NewInt(8e9))
			earned := func(at unit.Time) *big.Int {
				return new(big.Int).Mul(big.NewInt(rate), big.NewInt(int64(at)))
			}
			if owed.Cmp(earned(now)) > 0 || (now > 0 && owed.Cmp(earned(now-1)) <= 0) {
				t.Fatalf("after %d bytes the next frame goes at %v", sent, now)
			}
			n := unit.Bytes(rapid.IntRange(1, 9000).Draw(t, "length"))
			s.Sent(now, 3, n, false)
			sent += int64(metered(n))
		}
	})
}

// TestMaximumInTheLongRun: over a second, next to seven others, within a frame. The queue has to
// wait for the wire, which the burst makes up for.
func TestMaximumInTheLongRun(t *testing.T) {
	var c ShaperConfig
	c.Queues[3] = Shape{Max: 333_333_333, MaxBurst: 20_000}
	c.Queues[5] = Shape{Max: PacketRate(123_457), MaxBurst: 10, Meter: Packets}
	w := newRun(evenWeights(), c)
	w.until(unit.Time(100 * time.Millisecond))
	want := (333_333_333 * unit.BitPerSecond).BytesIn(100*time.Millisecond) + 20_000
	if got := w.sent[3]; got < want-1504 || got > want+1504 {
		t.Errorf("queue 3 sent %d bytes, want %d", got, want)
	}
	if got := w.frames[5]; got < 12345+10 || got > 12345+12 {
		t.Errorf("queue 5 sent %d frames, want %d", got, 12345+11)
	}
}

// TestPortMaximum bounds all queues together, in bytes of the line if it is told to count 20 more.
func TestPortMaximum(t *testing.T) {
	w := newRun(evenWeights(), ShaperConfig{Port: Shape{Max: 10 * unit.GbPerSecond,
		MaxBurst: 1}, Overhead: 20})
	w.until(unit.Time(10 * time.Millisecond))
	var frames int
	for _, n := range w.frames {
		frames += n
	}
	line := unit.Bytes(frames) * wire.OnLine(1500)
	if got := line.Over(10 * time.Millisecond); !near(got, 10*unit.GbPerSecond, 1000) {
		t.Errorf("the line carried %v", got)
	}
	if got := w.frames[0]; got < frames/8-1 || got > frames/8+1 {
		t.Errorf("queue 0 sent %d of %d frames", got, frames)
	}
}

// TestMinimumGoesFirst: queue 1 has a hundredth of the weight and a minimum of a quarter of the
// wire. It gets the quarter and its share of the rest; strict queues are above both.
func TestMinimumGoesFirst(t *testing.T) {
	c := DWRRConfig{Weight: [8]int{99, 1, 1, 1, 1, 1, 1, 1}, MTU: 1500,
		Strict: QueueSet(0).With(7)}
	var shape ShaperConfig
	shape.Queues[1] = Shape{Min: 10 * unit.GbPerSecond}
	shape.Queues[7] = Shape{Max: 8 * unit.GbPerSecond, MaxBurst: 10_000}
	w := newRun(c, shape)
	w.ready = 0b1000_0011
	const span = 10 * time.Millisecond
	w.until(unit.Time(span))
	// Of 40 Gb/s of line, frames of 1504 in 1524 bytes leave this much to share:
	all := unit.Rate(40_000_000_000 * 1504 / 1524)
	rest := all - 18*unit.GbPerSecond
	for q, want := range map[int]unit.Rate{7: 8 * unit.GbPerSecond,
		1: 10*unit.GbPerSecond + rest/100, 0: rest * 99 / 100} {
		if got := w.sent[q].Over(span); !near(got, want, 100) {
			t.Errorf("queue %d got %v, want %v", q, got, want)
		}
	}
}

// TestMinimums: each queue gets its own minimum and an equal share of the rest.
func TestMinimums(t *testing.T) {
	var shape ShaperConfig
	want := []unit.Rate{1e9, 2e9, 5e9, 10e9, 15e9}
	for q, r := range want {
		shape.Queues[q] = Shape{Min: r}
	}
	w := newRun(evenWeights(), shape)
	const span = 10 * time.Millisecond
	w.until(unit.Time(span))
	rest := (unit.Rate(40_000_000_000*1504/1524) - 33e9) / 8
	for q, r := range want {
		if got := w.sent[q].Over(span); !near(got, r+rest, 100) {
			t.Errorf("queue %d got %v, want %v", q, got, r+rest)
		}
	}
}

// TestHeldQueueDoesNotHoldOthers: a queue above its maximum is passed over, and the port is told
// when the first of several comes back.
func TestHeldQueueDoesNotHoldOthers(t *testing.T) {
	var c ShaperConfig
	c.Queues[2] = Shape{Max: unit.GbPerSecond, MaxBurst: 8}
	c.Queues[6] = Shape{Max: 2 * unit.GbPerSecond, MaxBurst: 8}
	s := NewShaper(0, c, 1500)
	if s.Sent(10, 1, 1504, false) || !s.Sent(10, 2, 1504, false) || !s.Sent(10, 6, 1504, false) {
		t.Error("the wrong queue is above its maximum")
	}
	// 1508 bytes, less the burst of 8, are 12 us at 1 Gb/s.
	for _, step := range []struct {
		now     unit.Time
		ready   QueueSet
		allowed QueueSet
		from    unit.Time
	}{
		{10, 0b0100_0110, 0b0000_0010, 10},
		{10, 0b0100_0100, 0, 6010},
		{10, 0b0000_0100, 0, 12010},
		{6009, 0b0100_0100, 0, 6010},
		{6010, 0b0100_0100, 0b0100_0000, 6010},
		{6010, 0b0000_0100, 0, 12010},
		{12010, 0b0100_0100, 0b0100_0100, 12010},
	} {
		allowed, from := s.Allowed(step.now, step.ready)
		if allowed != step.allowed || from != step.from {
			t.Errorf("at %v, of %08b: %08b from %v, want %08b from %v", step.now, step.ready,
				allowed, from, step.allowed, step.from)
		}
	}
}

// TestControlCountsForThePort: frames of no queue use up the port's rate.
func TestControlCountsForThePort(t *testing.T) {
	s := NewShaper(0, ShaperConfig{Port: Shape{Max: 512 * unit.MbPerSecond, MaxBurst: 1}}, 1500)
	s.SentControl(0, 42) // padded to 60, and 4 of FCS: 64 less 1 are 984.375 ns
	if allowed, from := s.Allowed(0, 1); allowed != 0 || from != 985 {
		t.Errorf("%08b from %v", allowed, from)
	}
}

// BenchmarkShapedSchedule is a decision and its account, with eight busy queues.
func BenchmarkShapedSchedule(b *testing.B) {
	for _, shaped := range []struct {
		name   string
		config ShaperConfig
	}{{"none", ShaperConfig{}}, {"all", everythingShaped()}} {
		b.Run("shaped="+shaped.name, func(b *testing.B) {
			w := newRun(evenWeights(), shaped.config)
			b.ReportAllocs()
			for b.Loop() {
				w.next()
			}
			if w.sent[0] == 0 {
				b.Fatal("nothing was sent")
			}
		})
	}
}

// everythingShaped gives each queue a minimum and a maximum, and the port one too.
func everythingShaped() (c ShaperConfig) {
	for q := range c.Queues {
		c.Queues[q] = Shape{Min: unit.GbPerSecond, Max: 6 * unit.GbPerSecond, MinBurst: 3000,
			MaxBurst: 3000}
	}
	c.Port = Shape{Max: 39 * unit.GbPerSecond, MaxBurst: 3000}
	return c
}
