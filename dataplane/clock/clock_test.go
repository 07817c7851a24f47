package clock

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// running returns a page in the state "runs since mono 1e9 at dilation k".
func running(t *testing.T, budget unit.Time, k uint64) *Page {
	t.Helper()
	p := Private(budget)
	if !p.update(
		func(n uint64, _ segment) { p.store(n+1, segment{r0: 1e9, speed: speedOne / k}) },
	) {
		t.Fatal("page is locked")
	}
	return p
}

func newClock(t *testing.T, p *Page, slot, slots int) *Clock {
	t.Helper()
	c, err := NewClock(p, slot, slots)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDilation(t *testing.T) {
	p := running(t, unit.Never, 128)
	if got, ok := p.Virtual(1e9 + 128_000); got != 1000 || !ok {
		t.Errorf("128 us after the start at k=128: %v, want 1us", got)
	}
	c := newClock(t, p, 0, 1)
	due, _ := p.Virtual(Monotonic() + int64(time.Second))
	if got := c.Until(due, time.Minute); got < 900*time.Millisecond || got > time.Second+128 {
		t.Errorf("what is due in a second is waited for for %v", got)
	}
	if got := c.Until(due, time.Millisecond); got != time.Millisecond {
		t.Errorf("the limit of 1 ms was made %v", got)
	}
	if got := c.Until(0, time.Minute); got != 0 {
		t.Errorf("what is over is waited for for %v", got)
	}
}

func TestHoldWaitsForTheLateLoop(t *testing.T) {
	p := running(t, 500, 1)
	late, c := newClock(t, p, 0, 2), newClock(t, p, 1, 2)
	late.Publish(10_000)
	c.Publish(unit.Never)
	v, _ := c.now(unit.Never) // real time is far past
	if v != 10_500 {
		t.Fatalf("the clock shows %v, want the late loop's deadline plus the budget", v)
	}
	if again, _ := c.now(unit.Never); again != 10_500 {
		t.Errorf("held, then %v", again)
	}
	if p.Status().Held <= 0 {
		t.Error("no held time was counted")
	}
	late.Publish(unit.Never)
	if v, _ := late.now(unit.Never); v < 10_500 {
		t.Errorf("after the hold the clock went back to %v", v)
	}
	stamp := Monotonic()
	if v, _ := p.Virtual(stamp); v < 10_500 || v > 10_500+unit.Time(time.Second) {
		t.Errorf("after the hold time jumped to %v", v)
	}
}

// The clock stands at its stop, without regard to the budget, with it and without: nobody is late,
// and the governor learns nothing from it. Then it goes on from there.
func TestStop(t *testing.T) {
	for _, budget := range []unit.Time{500, unit.Never} {
		p := running(t, budget, 1)
		c := newClock(t, p, 0, 1)
		c.Publish(unit.Never)
		p.StopAt(10_000)
		turn := func() unit.Time {
			now, _ := c.Begin()
			c.Publish(unit.Never)
			return now
		}
		for range 2 {
			if now := turn(); now != 10_000 {
				t.Errorf("budget %v: the clock shows %v, want its stop", budget, now)
			}
		}
		if held := p.Status().Held; held != 0 || !p.stopped(Monotonic()) {
			t.Errorf("budget %v: held for %v, stopped %v", budget, held, p.stopped(Monotonic()))
		}
		p.StopAt(20_000)
		now := turn()
		for turns := 0; now != 20_000 && turns < 1_000_000; turns++ { // 10 us of real time
			if now < 10_000 || now > 20_000 {
				t.Fatalf("budget %v: from 10us to 20us the clock shows %v", budget, now)
			}
			now = turn()
		}
		if now != 20_000 {
			t.Errorf("budget %v: the clock does not go on: %v", budget, now)
		}
	}
}

// A loop that is suspended after it has read the clock and before it has published must not go on
// with the time it read.
func TestASuspendedLoopCatchesUp(t *testing.T) {
	p := running(t, 500, 1)
	other, c := newClock(t, p, 0, 2), newClock(t, p, 1, 2)
	c.Publish(unit.Never)
	other.Publish(20_000) // where the others have got to
	c.last = 3000
	now, _ := c.Begin()
	if now != 20_500 {
		t.Errorf("the turn begins at %v, want 20.5us", now)
	}
	if limit, _ := p.limit(-1); limit != 20_500 {
		t.Errorf("the others may go on to %v, want the earlier of both deadlines", limit)
	}
}

func TestFramesOnTheirWayCountAsDeadlines(t *testing.T) {
	p := running(t, 500, 1)
	c := newClock(t, p, 0, 1)
	links, err := NewLinks(p, 4)
	if err != nil {
		t.Fatal(err)
	}
	links.Handing(2, []Flight{{3000, 7}, {3100, 8}, {3200, 7}})
	links.Handing(2, []Flight{{7000, 9}}) // later ones do not move the time
	if v, _ := c.now(unit.Never); v != 3500 {
		t.Errorf("with a frame that arrives at 3000 the clock shows %d, want 3500", v)
	}
	if n := links.OnTheWay(2); n != 4 {
		t.Errorf("%d on their way, want 4", n)
	}
	take := func(check Check, want unit.Time, wantLost int) {
		t.Helper()
		at, lost, ok := links.Take(2, check)
		if !ok || at != want || lost != wantLost {
			t.Errorf("took %v, %d lost, %v; want %v, %d", at, lost, ok, want, wantLost)
		}
	}
	if n := links.Find(2, 8); n != 1 {
		t.Errorf("%d are in front of the second", n)
	}
	take(7, 3000, 0)
	take(7, 3200, 1) // the one between them is lost
	if limit, _ := p.limit(-1); limit != 7500 {
		t.Errorf("one is still on its way; the limit is %v, want 7500", limit)
	}
	if _, _, ok := links.Take(2, 1); ok || links.OnTheWay(2) != 1 {
		t.Error("took a frame that nobody told of")
	}
	take(9, 7000, 0)
	if limit, _ := p.limit(-1); limit != unit.Never || links.Next(2) != unit.Never {
		t.Errorf("none is on its way; the limit is %v", limit)
	}
	links.Handing(1, []Flight{{9000, 1}, {9001, 2}})
	if lost := links.Forget(1, 5); lost != 2 || links.Next(1) != unit.Never {
		t.Errorf("forgot %d of 2", lost)
	}
}

// TestCheckTellsFrames: each bit of the headers makes another check, and so does the length.
func TestCheckTellsFrames(t *testing.T) {
	for _, size := range []int{14, 60, 62, 80, 90, 1086} {
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(i * 7)
		}
		seen := map[Check]bool{CheckOf(b): true, CheckOf(b[:size-1]): true,
			CheckOf(append(b, 0)): true}
		want := 3
		for bit := range min(size&^7, checked) * 8 {
			b[bit/8] ^= 1 << (bit % 8)
			seen[CheckOf(b)] = true
			b[bit/8] ^= 1 << (bit % 8)
			want++
		}
		if len(seen) != want {
			t.Errorf("%d bytes: %d checks of %d frames", size, len(seen), want)
		}
		for c := range seen { // order does not matter
			if c>>CheckBits != 0 {
				t.Errorf("%d bytes: check %#x", size, c)
			}
		}
	}
}

func TestStampsConvertThroughPastSegments(t *testing.T) {
	p := running(t, unit.Never, 1)
	// From real 2e9 on at a tenth of the speed, after a hold that lasted from 1.9e9.
	p.update(func(n uint64, s segment) {
		p.store(n+1, segment{r0: 2e9, v0: 900_000_000, speed: speedOne / 10})
	})
	for _, c := range []struct {
		mono int64
		want unit.Time
	}{{1_500_000_000, 500_000_000}, {1_950_000_000, 900_000_000}, {2e9, 900_000_000}} {
		if got, _ := p.Virtual(c.mono); got != c.want {
			t.Errorf("stamp %d is %d, want %d", c.mono, got, c.want)
		}
	}
	if got, _ := p.Virtual(3e9); got < 999_999_990 || got > 1_000_000_000 {
		t.Errorf("a second later at a tenth of the speed: %d", got)
	}
}

func TestGovernorFollowsTheHeldShare(t *testing.T) {
	p := Private(unit.Never)
	g, err := NewGovernor(p, 10, 1000)
	if err != nil {
		t.Fatal(err)
	}
	g.Start(100)
	p.words.At(wordHeldNs).Add(uint64(time.Hour)) // everything is held
	g.Adjust()
	if k := p.Status().Dilation; k < 109 || k > 111 {
		t.Errorf("after a held period k is %.1f, want 110", k)
	}
	for range 100 {
		g.lastMono -= int64(time.Millisecond) // a period without holding
		g.Adjust()
	}
	if k := p.Status().Dilation; k < 9.99 || k > 10.01 {
		t.Errorf("an idle machine ends at k %.2f, want the lower bound", k)
	}
	due, _ := p.Virtual(Monotonic())
	newClock(t, p, 0, 1).Publish(due)
	p.words.At(wordBudget).Store(7)
	g.Stop()
	if v, _ := p.Virtual(Monotonic()); v > due+7 {
		t.Errorf("stopped at %v with a loop waited for since %v and a budget of 7 ns", v, due)
	}
	before, _ := p.Virtual(Monotonic())
	if after, _ := p.Virtual(Monotonic() + int64(time.Hour)); after != before {
		t.Errorf("a stopped clock moved from %v to %v", before, after)
	}
	if _, err := NewGovernor(p, 0.5, 1); err == nil {
		t.Error("a dilation below 1 is accepted")
	}
}

func TestPageIsSharedAndVersioned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clock")
	a, err := Create(path, 700)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	newClock(t, a, 0, 2).Publish(42)
	newClock(t, b, 1, 2).Publish(unit.Never)
	if got, _ := b.limit(-1); got != 742 {
		t.Errorf("the other mapping sees limit %d, want 742", got)
	}
	a.words.At(wordMagic).Store(1)
	if _, err := Open(path); err == nil {
		t.Error("a page of another version is accepted")
	}
	if _, err := Create(path, 0); err == nil {
		t.Error("an existing page is overwritten")
	}
}

func TestAKilledWriterStopsTheClockAndNothingElse(t *testing.T) {
	p := running(t, unit.Never, 1)
	c := newClock(t, p, 0, 1)
	v, _ := c.Begin()
	p.words.At(wordSeq).Add(1) // a writer died inside
	if _, ok := p.Virtual(Monotonic()); ok {
		t.Error("a stamp is converted by a page that cannot be read")
	}
	if again, _ := c.Begin(); again != v {
		t.Errorf("the clock shows %v, then %v without a readable page", v, again)
	}
}

func TestMonotonicIsTheKernelsClock(t *testing.T) {
	for range 100 {
		before := monotonicSyscall()
		got := Monotonic()
		after := monotonicSyscall()
		const slack = 1000 // of the calibration
		if got < before-slack || got > after+slack {
			t.Fatalf("%d is outside %d..%d", got, before, after)
		}
	}
}

func BenchmarkBegin(b *testing.B) {
	p := Private(1000)
	p.update(func(n uint64, _ segment) { p.store(n+1, segment{r0: Monotonic(), speed: speedOne}) })
	c, err := NewClock(p, 0, 8)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		c.now(unit.Never)
	}
}
