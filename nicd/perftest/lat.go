package perftest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/rdma"
)

// roundTrips are the measured times of a latency test, in virtual time: from one answer to the
// next. perftest measures from one posting to the next, which is the same round; but the moment of
// an answer is the NIC's own, exact to the nanosecond, and that of a posting the program's. With
// WRITEs the answer is the acknowledgement, because nothing tells when memory was written.
type roundTrips struct {
	size   int
	times  []time.Duration
	window time.Duration // measured part of a run of a duration
	count  int           // messages in it
	loss   loss
}

// latencyRun is one measurement of latency, on the first QP.
type latencyRun struct {
	*traffic
	size    int
	posted  int // messages
	done    int
	arrived int       // messages of the peer
	last    unit.Time // answer

	first, end unit.Time // of a run of a duration
	trips      roundTrips
}

// runLatency measures. If it is interrupted it tells what was measured until then.
func (t *traffic) runLatency(ctx context.Context, size int) (roundTrips, error) {
	r := latencyRun{traffic: t, size: size, trips: roundTrips{size: size}}
	if t.c.Duration == 0 {
		r.trips.times = make([]time.Duration, 0, t.c.Iterations)
	}
	var err error
	switch t.c.Test.Verb {
	case Send:
		err = r.sends(ctx)
	case Write:
		err = r.writes(ctx)
	default:
		err = r.fetches(ctx)
	}
	if errors.Is(err, errStalled) {
		err = t.stalled("measured", max(r.arrived, r.done), t.c.Iterations)
	}
	return r.trips, err
}

// more reports whether message n is still to be sent or awaited.
func (r *latencyRun) more(n int) bool {
	if r.c.Duration == 0 {
		return n < r.c.Iterations
	}
	return r.end == 0 || r.now() < r.end
}

func (r *latencyRun) until() unit.Time {
	if r.c.Duration == 0 || r.end == 0 {
		return unit.Never
	}
	return r.end
}

// post sends the next message.
func (r *latencyRun) post() error {
	r.wrs = append(r.wrs[:0], rdma.WR{})
	r.request(&r.wrs[0], 0, r.posted, r.size)
	r.stamp(0, r.posted, r.size)
	if r.c.Test.Verb == Write {
		at := r.lay.sendAt(0, r.posted, r.size)
		r.mem.Bytes[at+r.size-1] = byte(r.posted + 1)
		// All go to the same place: the peer watches its last byte.
		r.wrs[0].Remote = r.remote[0]
	}
	r.posted++
	if now := r.now(); r.end == 0 && r.c.Duration > 0 {
		r.first, r.end = now.Add(r.c.Margin), now.Add(r.c.Duration)
		r.trips.window = r.c.Duration - 2*r.c.Margin
		r.trips.loss = loss{from: r.lost(), to: r.lost(), window: r.trips.window}
	}
	_, err := r.qps[0].Post(r.wrs...)
	return err
}

// answered takes note of an answer, which a completion told of.
func (r *latencyRun) answered(c *rdma.Completion) {
	at, first, t := c.At, r.last == 0, &r.trips
	if !first && r.c.Duration == 0 {
		t.times = append(t.times, at.Sub(r.last))
		t.loss.window += at.Sub(r.last)
	}
	r.last = at
	switch {
	case r.c.Duration == 0 && first || r.c.Duration > 0 && at < r.first:
		t.loss.begin(c.Lost)
	case r.c.Duration == 0:
		t.loss.to = c.Lost
	case at <= r.end.Add(-r.c.Margin):
		t.count++
		t.loss.to = c.Lost
	}
}

// await takes completions until one of the conditions holds, or a run's duration is over.
func (r *latencyRun) await(ctx context.Context, reached func() bool) error {
	for !reached() {
		cs, err := r.wait(ctx, r.until())
		if err != nil {
			return err
		}
		if len(cs) == 0 {
			return nil
		}
		for i := range cs {
			if err := r.complete(&cs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *latencyRun) complete(c *rdma.Completion) error {
	if err := r.check(c); err != nil {
		return err
	}
	_, count, receive := splitID(c.ID)
	if !receive {
		r.done = count
		if r.c.Test.Verb == Send {
			return nil
		}
		r.answered(c)
		return r.verifyFetched(0, count-1, r.size)
	}
	r.answered(c)
	r.arrived++
	if err := r.verifyReceived(0, count, c.Bytes); err != nil {
		return err
	}
	if next := count + r.c.RxDepth; r.c.Duration > 0 || next < r.c.Iterations {
		return r.postReceive(0, next, r.size)
	}
	return nil
}

// sends plays ping-pong with SENDs; the client begins.
func (r *latencyRun) sends(ctx context.Context) error {
	for n := 0; r.more(n); n++ {
		if !r.c.client() {
			if err := r.await(ctx, func() bool { return r.arrived > n }); err != nil {
				return err
			}
		}
		if !r.more(n) {
			return nil
		}
		if err := r.post(); err != nil {
			return err
		}
		if err := r.await(ctx, func() bool {
			return r.done > n && (r.arrived > n || !r.c.client())
		}); err != nil {
			return err
		}
	}
	return nil
}

// fetches waits for one READ or atomic after the other.
func (r *latencyRun) fetches(ctx context.Context) error {
	for n := 0; r.more(n); n++ {
		if err := r.post(); err != nil {
			return err
		}
		if err := r.await(ctx, func() bool { return r.done > n }); err != nil {
			return err
		}
	}
	return nil
}

// writes plays ping-pong with WRITEs. Nothing tells a program that its memory was written, so it
// watches the last byte of the message, which is its number. The server begins, other than with
// SENDs: a client that did would overwrite a number that the server has not seen yet.
func (r *latencyRun) writes(ctx context.Context) error {
	watched := r.lay.receiveArea(0) + r.size - 1
	for n := 0; r.more(n); n++ {
		if r.c.client() {
			if err := r.watch(ctx, watched, byte(n+1)); err != nil {
				return err
			}
		}
		if !r.more(n) {
			return nil
		}
		if err := r.post(); err != nil {
			return err
		}
		if !r.c.client() {
			if err := r.watch(ctx, watched, byte(n+1)); err != nil {
				return err
			}
		}
		if err := r.await(ctx, func() bool { return r.done > n }); err != nil {
			return err
		}
	}
	return nil
}

// watch looks at a byte of the memory until it has a value.
func (r *latencyRun) watch(ctx context.Context, at int, want byte) error {
	var late atomic.Bool
	timer := time.AfterFunc(r.c.Patience, func() { late.Store(true) })
	defer timer.Stop()
	for i := 0; load(r.mem.Bytes, at) != want; i++ {
		runtime.Gosched()
		if i%1024 != 0 {
			continue
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case late.Load():
			return errStalled
		case r.now() >= r.until():
			return nil
		}
		if err := r.failed(); err != nil {
			return err
		}
	}
	r.arrived++
	if !r.c.Check || r.size == 1 {
		return nil
	}
	got := r.mem.Bytes[at-r.size+1 : at]
	head := min(len(got), numberLen)
	if b := number(r.arrived - 1); string(got[:head]) != string(b[:head]) {
		return fmt.Errorf("message %d begins with %x, want %x", r.arrived-1, got[:head], b[:head])
	}
	return r.same(got[head:], r.pattern[head:len(got)], 0, r.arrived-1, head)
}

// failed looks whether a request of ours has ended badly, without waiting.
func (r *latencyRun) failed() error {
	n, err := r.cq.Poll(r.polled[:])
	for i := range r.polled[:n] {
		if err := r.complete(&r.polled[i]); err != nil {
			return err
		}
	}
	return err
}

// load reads a byte that another process writes. It is not inlined, so that the compiler reads it
// anew at every call; one byte is read whole on every processor.
//
//go:noinline
func load(b []byte, i int) byte { return b[i] }
