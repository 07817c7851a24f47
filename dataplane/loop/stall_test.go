package loop_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/clock"
	"github.com/rocelab/rocelab/dataplane/conform"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/loop/looptest"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// A loop without a lab has 1000 frames to send, 0.8 ms of its link, when its machine stands still
// for 5 ms. It does not send them all when it wakes, but what the other end of the link can hold,
// and then goes on at its rate. Time moves by the test's hand.
func TestStallIsLost(t *testing.T) {
	const (
		rate   = 10 * unit.GbPerSecond
		frames = 1000
		size   = 976 // 1000 bytes on the line, 800 ns
		each   = 800
		delay  = time.Microsecond
		stall  = 5 * time.Millisecond
	)
	var mono atomic.Int64
	mono.Store(1e9)
	budget := loop.Stall(rate)
	c, err := clock.NewOwn(1, unit.Time(budget), mono.Load)
	if err != nil {
		t.Fatal(err)
	}
	near, _, err := looptest.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	relay, pool := &conform.Relay{}, frame.NewPool(frames, 2048)
	port := loop.Port{Name: "wire", Wire: near, TxLink: loop.NoLink, RxLink: loop.NoLink,
		Link: link.Config{Rate: rate, Delay: delay}}
	l, err := loop.New(loop.Config{Device: relay, Pool: pool, Clock: c, Ports: []loop.Port{port},
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	b := &bench{loop: l}
	if err := l.Do(func(unit.Time) {
		for range frames {
			f := pool.Get()
			f.Set(make([]byte, size))
			relay.Originate(0, f)
		}
	}); err != nil {
		t.Fatal(err)
	}
	sent := func() time.Duration { return time.Duration(near.Stats().Sent) * each }
	mono.Add(stall.Nanoseconds())
	var lost time.Duration
	b.eventually(t, "the stall is noticed", func() bool { lost = c.Lost(); return lost > 0 })
	if lost < stall-budget-2*delay || lost > stall-budget {
		t.Errorf("of %v with a budget of %v %v were lost", stall, budget, lost)
	}
	if got := sent(); got < budget-delay-each || got > budget+each {
		t.Errorf("after the stall %v of the link left at once, want %v", got, budget)
	}
	before := sent()
	mono.Add(budget.Nanoseconds() / 2) // as late as it may be
	b.eventually(t, "it goes on", func() bool { return sent() >= before+budget/2-each })
	st, err := l.Stats()
	if err != nil || st.Lost != lost || sent() > before+budget/2+each {
		t.Errorf("then %v left and %v were lost, want %v and %v; %v", sent()-before, st.Lost,
			budget/2, lost, err)
	}
}
