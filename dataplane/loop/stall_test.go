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

// byHand is a loop without a lab, whose time moves by the test's hand.
type byHand struct {
	*bench
	mono  atomic.Int64
	clock *clock.Clock
}

// The link of such a loop.
const (
	handRate  = 10 * unit.GbPerSecond
	handDelay = time.Microsecond
	handSize  = 976 // 1000 bytes on the line
	handEach  = 800 * time.Nanosecond
	stall     = 5 * time.Millisecond
)

func startByHand(t *testing.T) *byHand {
	t.Helper()
	h := &byHand{bench: &bench{relay: &conform.Relay{Keep: true}, pool: frame.NewPool(1024, 2048)}}
	h.mono.Store(clock.Monotonic())
	var err error
	h.clock, err = clock.NewOwn(1, unit.Time(loop.Stall(handRate)), h.mono.Load)
	if err != nil {
		t.Fatal(err)
	}
	if h.near[0], h.far[0], err = looptest.Pipe(); err != nil {
		t.Fatal(err)
	}
	port := loop.Port{Name: "wire", Wire: h.near[0], TxLink: loop.NoLink, RxLink: loop.NoLink,
		Link: link.Config{Rate: handRate, Delay: handDelay}}
	h.loop, err = loop.New(loop.Config{Device: h.relay, Pool: h.pool, Clock: h.clock,
		Ports: []loop.Port{port}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.loop.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return h
}

// A loop without a lab has 1000 frames to send, 0.8 ms of its link, when its machine stands still
// for 5 ms. It does not send them all when it wakes, but what the other end of the link can hold,
// and then goes on at its rate.
func TestStallIsLost(t *testing.T) {
	h, budget := startByHand(t), loop.Stall(handRate)
	if err := h.loop.Do(func(unit.Time) {
		for range 1000 {
			f := h.pool.Get()
			f.Set(make([]byte, handSize))
			h.relay.Originate(0, f)
		}
	}); err != nil {
		t.Fatal(err)
	}
	sent := func() time.Duration { return time.Duration(h.near[0].Stats().Sent) * handEach }
	h.mono.Add(stall.Nanoseconds())
	var lost time.Duration
	h.eventually(t, "the stall is noticed", func() bool { lost = h.clock.Lost(); return lost > 0 })
	if lost < stall-budget-2*handDelay || lost > stall-budget {
		t.Errorf("of %v with a budget of %v %v were lost", stall, budget, lost)
	}
	if got := sent(); got < budget-handDelay-handEach || got > budget+handEach {
		t.Errorf("after the stall %v of the link left at once, want %v", got, budget)
	}
	before := sent()
	h.mono.Add(budget.Nanoseconds() / 2) // as late as it may be
	h.eventually(t, "it goes on", func() bool { return sent() >= before+budget/2-handEach })
	st, err := h.loop.Stats()
	if err != nil || st.Lost != lost || sent() > before+budget/2+handEach {
		t.Errorf("then %v left and %v were lost, want %v and %v; %v", sent()-before, st.Lost,
			budget/2, lost, err)
	}
}

// What came before a stall and is still on the line arrives before what came after it.
func TestStallKeepsTheOrder(t *testing.T) {
	h := startByHand(t)
	h.relay.Sink = true
	const frames = 200 // longer on the line than the loop may be late
	for i := range frames {
		h.far[0].Push(append(make([]byte, handSize-1), byte(i)))
	}
	h.eventually(t, "all are taken", func() bool { return h.near[0].Stats().Received == frames })
	h.mono.Add(stall.Nanoseconds())
	h.far[0].Push(append(make([]byte, handSize-1), frames))
	h.eventually(t, "all have arrived", func() bool {
		h.mono.Add(time.Microsecond.Nanoseconds())
		return len(h.relay.Log) == frames+1
	})
	for i, seen := range h.relay.Log {
		if seen.Tag != byte(i) {
			t.Fatalf("frame %d is number %d", seen.Tag, i)
		}
	}
	if h.clock.Lost() == 0 {
		t.Error("nothing was lost")
	}
}
