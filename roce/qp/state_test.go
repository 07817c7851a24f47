package qp

import (
	"errors"
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/roce/ib"
)

// inState brings a fresh QP into a state.
func inState(t *testing.T, want State) *side {
	t.Helper()
	s := newSide(t, 0, nil)
	steps := []func() error{s.Init, func() error { return s.ReadyToReceive(s.receives(1, 2)) },
		func() error { return s.ReadyToSend(s.sends(3)) }, s.Drain}
	if want == StateErr {
		steps = append(steps[:1], func() error { s.Fail(0); return nil })
	} else {
		steps = steps[:want]
	}
	for _, step := range steps {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if s.State() != want {
		t.Fatalf("in %v, want %v", s.State(), want)
	}
	return s
}

// IBTA 10.3.1, figure 124: every transition from every state, legal or not. A refused one changes
// nothing.
func TestTransitions(t *testing.T) {
	const no = StateErr + 1
	for _, c := range []struct {
		name string
		do   func(s *side) error
		// from RESET, INIT, RTR, RTS, SQD, ERR
		to [6]State
	}{
		{"Init", func(s *side) error { return s.Init() },
			[6]State{StateInit, no, no, no, no, no}},
		{"ReadyToReceive", func(s *side) error { return s.ReadyToReceive(s.receives(1, 2)) },
			[6]State{no, StateRTR, no, no, no, no}},
		{"ReadyToSend", func(s *side) error { return s.ReadyToSend(s.sends(3)) },
			[6]State{no, no, StateRTS, no, no, no}},
		{"Drain", func(s *side) error { return s.Drain() },
			[6]State{no, no, no, StateSQD, no, no}},
		{"Resume", func(s *side) error { return s.Resume() },
			[6]State{no, no, no, no, StateRTS, no}},
		{"Fail", func(s *side) error { s.Fail(0); return nil },
			[6]State{StateReset, StateErr, StateErr, StateErr, StateErr, StateErr}},
		{"Reset", func(s *side) error { s.Reset(); return nil }, [6]State{}},
	} {
		for from, to := range c.to {
			s := inState(t, State(from))
			err := c.do(s)
			if to == no && (!errors.Is(err, ErrState) || s.State() != State(from)) {
				t.Errorf("%s in %v: %v, now %v", c.name, State(from), err, s.State())
			}
			if to != no && (err != nil || s.State() != to) {
				t.Errorf("%s in %v: %v, now %v, want %v", c.name, State(from), err, s.State(), to)
			}
		}
	}
}

// IBTA 10.3.1: what may be posted in which state, and what is done with packets.
func TestWhatStatesAllow(t *testing.T) {
	for _, c := range []struct {
		state               State
		send, receive       bool
		request, answerable bool
	}{
		{StateReset, false, false, false, false}, {StateInit, false, true, false, false},
		{StateRTR, false, true, true, false}, {StateRTS, true, true, true, true},
		{StateSQD, true, true, true, true}, {StateErr, true, true, false, false},
	} {
		s := inState(t, c.state)
		request := s.packet(&ib.Outgoing{Opcode: ib.WriteOnly, PSN: 2, AckReq: true})
		if why := s.receive(t, 0, request); (why == frame.NoReason) != c.request {
			t.Errorf("%v: a request: %v", c.state, why)
		}
		if s.HasResponse() != c.request {
			t.Errorf("%v: answers %v", c.state, s.HasResponse())
		}
		if why := s.receive(t, 0, s.nak(2, ib.SyndromeACK)); (why == frame.NoReason) !=
			c.answerable {
			t.Errorf("%v: an old ACK: %v", c.state, why)
		}
		if err := s.Post(0, WR{Local: s.local(0, 1)}); (err == nil) != c.send {
			t.Errorf("%v: Post: %v", c.state, err)
		}
		if err := s.PostReceive(0, ReceiveWR{Local: s.local(0, 1)}); (err == nil) != c.receive {
			t.Errorf("%v: PostReceive: %v", c.state, err)
		}
		if s.Pending(0) != (c.state == StateRTS) {
			t.Errorf("%v: pending %v", c.state, s.Pending(0))
		}
		if n := len(s.polled()); (n == 2) != (c.state == StateErr) {
			t.Errorf("%v: %d completions", c.state, n)
		}
	}
}

// IBTA 10.3.1.5: SQD finishes the message in progress, repeats what is lost, and begins no other.
func TestDrain(t *testing.T) {
	a, b := pair(t, nil)
	for range 2 {
		a.post(t, WR{Op: Write, Local: a.local(0, 600), Remote: b.remote(0)})
	}
	a.next(0) // lost
	if err := a.Drain(); err != nil {
		t.Fatal(err)
	}
	b.receive(t, 0, a.next(0))
	if a.Drained() {
		t.Error("drained in the middle of a message")
	}
	settle(t, 0, a, b)
	wantStatus(t, a.polled(), Success)
	if !a.Drained() {
		t.Error("not drained")
	}
	if err := a.Resume(); err != nil {
		t.Fatal(err)
	}
	settle(t, 0, a, b)
	wantStatus(t, a.polled(), Success)
}

// Work goes with the state: flushed by ERR, gone without a trace by RESET.
func TestFailAndReset(t *testing.T) {
	for _, reset := range []bool{false, true} {
		a, b := pair(t, nil)
		for range 3 {
			a.post(t, WR{Op: Read, Local: a.local(0, 9), Remote: b.remote(0)})
			if err := a.PostReceive(0, ReceiveWR{Local: a.local(0, 9)}); err != nil {
				t.Fatal(err)
			}
		}
		b.receive(t, 0, a.next(0))
		if reset {
			a.Reset()
			b.Reset()
			wantStatus(t, a.polled())
		} else {
			a.Fail(0)
			b.Fail(0)
			wantStatus(t, a.polled(), Flushed, Flushed, Flushed, Flushed, Flushed, Flushed)
			a.Reset()
			b.Reset()
		}
		if b.Pending(0) || b.HasResponse() {
			t.Error("answers a READ of its former life")
		}
		connect(t, a, b, 5, 6)
		a.post(t, WR{Op: Read, Local: a.local(0, 9), Remote: b.remote(0)})
		settle(t, 0, a, b)
		wantStatus(t, a.polled(), Success)
		if a.CQ().reserved != 0 {
			t.Errorf("%d places of the completion queue are lost", a.CQ().reserved)
		}
	}
}
