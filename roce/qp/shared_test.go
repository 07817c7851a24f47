package qp

import (
	"errors"
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
)

// IBTA 10.2.6: nobody polls, a completion is lost, and the QP is in error; those that there was
// room for can still be polled.
func TestCompletionQueueOverrun(t *testing.T) {
	a, b := pair(t, nil)
	a.cq = NewOverrunCQ(3)
	for i := range 5 {
		a.post(t, WR{ID: uint64(i), Op: Write, Local: a.local(0, 9), Remote: b.remote(0)})
	}
	for range 3 {
		b.receive(t, 0, a.next(0))
	}
	a.receive(t, 0, b.answer())
	if a.CQ().Overrun() || a.State() != StateRTS {
		t.Fatal("three fit")
	}
	b.receive(t, 0, a.next(0))
	a.receive(t, 0, b.answer())
	if !a.CQ().Overrun() || a.next(0) != nil || a.State() != StateErr {
		t.Errorf("overrun %v, %v", a.CQ().Overrun(), a.State())
	}
	if err := a.Post(0, WR{Op: Write, Local: a.local(0, 9)}); !errors.Is(err, ErrState) {
		t.Error(err)
	}
	wantStatus(t, a.polled(), Success, Success, Success)
}

// IBTA 11.4.2.2: one event for each time of arming, of the kind that was asked for.
func TestCompletionEvents(t *testing.T) {
	a, b := pair(t, nil)
	send := func(solicited bool) {
		t.Helper()
		if err := b.PostReceive(0, ReceiveWR{Local: b.local(0, 9)}); err != nil {
			t.Fatal(err)
		}
		a.post(t, WR{Op: Send, Local: a.local(0, 9), Solicited: solicited})
		settle(t, 0, a, b)
		a.polled()
		b.polled()
	}
	want := func(what string, want bool) {
		t.Helper()
		if got := b.CQ().Event(); got != want {
			t.Errorf("%s: event %v", what, got)
		}
	}
	send(true)
	want("not armed", false)
	b.CQ().Arm(NotifyNext)
	send(false)
	want("next", true)
	send(false)
	want("armed once", false)
	b.CQ().Arm(NotifySolicited)
	send(false)
	want("not solicited", false)
	send(true)
	want("solicited", true)
	b.CQ().Arm(NotifySolicited)
	if err := b.PostReceive(0, ReceiveWR{Local: b.local(0, 9)}); err != nil {
		t.Fatal(err)
	}
	b.Fail(0)
	want("an error", true)
}

// IBTA 10.2.9: two QPs take receives from one queue in the order of their messages.
func TestSharedReceiveQueue(t *testing.T) {
	a, b := newSide(t, 0, nil), newSide(t, 1, nil)
	other, _ := pair(t, nil)
	srq := NewSRQ(b.mem, 1, 3)
	if err := b.UseSRQ(NewSRQ(b.mem, 2, 3)); !errors.Is(err, ErrLocal) {
		t.Errorf("another domain's: %v", err)
	}
	if err := other.UseSRQ(srq); !errors.Is(err, ErrState) {
		t.Errorf("in RTS: %v", err)
	}
	if err := b.UseSRQ(srq); err != nil {
		t.Fatal(err)
	}
	connect(t, a, b, 1, 2)
	c, d := newSide(t, 2, nil), New(b.Config(), b.mem, b.cq, &b.counters)
	d2 := &side{QP: d, mem: b.mem, region: b.region, headers: b.headers}
	if err := d2.UseSRQ(srq); err != nil {
		t.Fatal(err)
	}
	connect(t, c, d2, 3, 4)
	if err := b.PostReceive(0, ReceiveWR{}); !errors.Is(err, ErrOp) {
		t.Error(err)
	}
	for i := range 3 {
		if err := srq.Post(ReceiveWR{ID: uint64(i), Local: b.local(1000*i, 600)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := srq.Post(ReceiveWR{}); !errors.Is(err, ErrQueueFull) {
		t.Error(err)
	}
	srq.Arm(1)
	a.post(t, WR{Op: Send, Local: a.local(0, 600)})
	c.post(t, WR{Op: Send, Local: c.local(0, 300)})
	b.receive(t, 0, a.next(0))
	d2.receive(t, 0, c.next(0))
	d2.receive(t, 0, c.next(0))
	b.receive(t, 0, a.next(0))
	b.receive(t, 0, a.next(0))
	got := b.polled()
	wantStatus(t, got, Success, Success)
	if got[0].ID != 1 || got[0].Bytes != 300 || got[1].ID != 0 || got[1].Bytes != 600 {
		t.Errorf("%+v", got)
	}
	if srq.LimitReached() {
		t.Error("one is left")
	}
	b.answer()
	for range 2 {
		a.post(t, WR{Op: Send, Local: a.local(0, 9)})
		b.receive(t, 0, a.next(0))
	}
	if !srq.LimitReached() || srq.LimitReached() || srq.Len() != 0 {
		t.Error("the limit is told once")
	}
	if p := opened(t, b.answer()); !p.AETH.Syndrome().IsRNR() {
		t.Errorf("%v from an empty queue", p.AETH.Syndrome())
	}
	b.Fail(0)
	wantStatus(t, b.polled(), Success) // and nothing of the shared queue is flushed
	if why := b.receive(t, 0, a.nak(0, 0)); why != frame.DropUnknownQP {
		t.Error(why)
	}
}

// IBTA 10.2.6: a queue that has lost a completion takes every QP that uses it to ERR, also one
// that had no part in it, at the next thing that happens to it.
func TestSharedCompletionQueueOverrun(t *testing.T) {
	a, b := pair(t, nil)
	c, d := pair(t, nil)
	a.cq = NewOverrunCQ(1)
	c.cq = a.cq
	for range 2 {
		a.post(t, WR{Op: Write, Local: a.local(0, 9), Remote: b.remote(0)})
		b.receive(t, 0, a.next(0))
		a.receive(t, 0, b.answer())
	}
	if c.State() != StateRTS {
		t.Fatal("told before it was called")
	}
	d.post(t, WR{Op: Write, Local: d.local(0, 9), Remote: c.remote(0)})
	if why := c.receive(t, 0, d.next(0)); why != frame.DropUnknownQP || c.State() != StateErr ||
		c.counters.NotReady != 1 {
		t.Errorf("%v in %v", why, c.State())
	}
	sameBytes(t, "placed", c.region.Bytes, make([]byte, regionSize))
}
