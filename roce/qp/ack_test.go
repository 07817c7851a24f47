package qp

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// nak makes an answer of b's to a's packet at that PSN.
func (s *side) nak(psn ib.PSN, syn ib.Syndrome) []byte {
	return s.packet(&ib.Outgoing{Opcode: ib.Acknowledge, PSN: psn,
		AETH: ib.Acknowledgement{Syndrome: syn}})
}

// IBTA table 46 and 9.7.5.2.8: the requester comes back after the time that the code asks for, for
// all codes.
func TestRNRTimerCodes(t *testing.T) {
	for code := range ib.RNRTimer(32) {
		a, b := pair(t, func(c *Config) { c.MinRNRTimer = code })
		a.post(t, WR{Op: Send, Local: a.local(0, 9)})
		b.receive(t, 0, a.next(0))
		a.receive(t, 500, b.answer())
		if want := unit.Time(500).Add(code.Duration()); a.Deadline() != want {
			t.Errorf("code %d: deadline %v, want %v", code, a.Deadline(), want)
		}
		if err := b.PostReceive(0, ReceiveWR{Local: b.local(0, 9)}); err != nil {
			t.Fatal(err)
		}
		now := a.Deadline()
		a.Wake(now)
		settle(t, now, a, b)
		wantStatus(t, a.polled(), Success)
	}
}

// IBTA 9.7.5.2.8: a count of seven never runs out; a lower one starts again with each progress.
func TestRNRRetries(t *testing.T) {
	a, _ := pair(t, nil)
	a.post(t, WR{Op: Send, Local: a.local(0, 9)})
	now := unit.Time(0)
	for range 100 {
		a.next(now)
		a.receive(t, now, a.nak(0xfffffe, ib.RNR(1)))
		now = a.Deadline()
		a.Wake(now)
	}
	wantStatus(t, a.polled())
	a, _ = pair(t, func(c *Config) { c.RNRRetry = 1 })
	for i := range 5 {
		psn := ib.PSN(0xfffffe).Add(i)
		a.post(t, WR{Op: Send, Local: a.local(0, 9)})
		a.next(now)
		a.receive(t, now, a.nak(psn, ib.RNR(1)))
		now = a.Deadline()
		a.Wake(now)
		a.next(now)
		a.receive(t, now, a.nak(psn, ib.SyndromeACK))
		wantStatus(t, a.polled(), Success)
	}
}

// IBTA 9.7.5.2: each NAK code ends the request that it names with its own status, those before
// with success and those behind flushed.
func TestNAKCodes(t *testing.T) {
	for syn, want := range map[ib.Syndrome]Status{
		ib.NAKInvalidRequest: RemoteInvalidRequest, ib.NAKRemoteAccess: RemoteAccess,
		ib.NAKRemoteOperational: RemoteOperational,
	} {
		a, _ := pair(t, nil)
		for range 3 {
			a.post(t, WR{Op: Write, Local: a.local(0, 9)})
			a.next(0)
		}
		a.receive(t, 0, a.nak(0xffffff, syn))
		wantStatus(t, a.polled(), Success, want, Flushed)
		if a.State() != StateErr || a.Deadline() != unit.Never {
			t.Errorf("%v: %v, deadline %v", syn, a.State(), a.Deadline())
		}
	}
}

// IBTA 9.7.6.1.3: 4.096 us x 2^code; code 0 is no timer.
func TestAckTimeoutCodes(t *testing.T) {
	for code := range uint8(32) {
		a, b := pair(t, func(c *Config) { c.Timeout = code })
		a.post(t, WR{Op: Write, Local: a.local(0, 9), Remote: b.remote(0)})
		a.next(77)
		want := unit.Time(77).Add(4096 * time.Nanosecond << code)
		if code == 0 {
			want = unit.Never
		}
		if a.Deadline() != want {
			t.Errorf("code %d: %v, want %v", code, a.Deadline(), want)
		}
	}
}

// IBTA 9.7.7.2: the responder tells how many receives it has; the requester sends no more than
// that, and no RNR NAK is needed.
func TestCredits(t *testing.T) {
	a, b := pair(t, func(c *Config) { c.Credits = true })
	receive := func() {
		if err := b.PostReceive(0, ReceiveWR{Local: b.local(0, 1000)}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		receive()
	}
	a.post(t, WR{Op: Send, Local: a.local(0, 9)})
	settle(t, 0, a, b) // the first ACK tells: two more
	for range 5 {
		a.post(t, WR{Op: Send, Local: a.local(0, 700)})
	}
	a.post(t, WR{Op: Write, Local: a.local(0, 9), Remote: b.remote(0)})
	for range 6 {
		b.receive(t, 0, a.next(0))
	}
	if a.Pending(0) {
		t.Error("sends beyond its credit")
	}
	a.receive(t, 0, b.answer()) // no receive is left: one packet may ask
	p := a.next(0)
	if !opened(t, p).BTH.AckReq() || a.Pending(0) {
		t.Error("a limited request is one packet with AckReq")
	}
	receive()
	b.receive(t, 0, p)
	a.receive(t, 0, b.answer()) // accepted: the message goes on, and no further
	b.receive(t, 0, a.next(0))
	b.receive(t, 0, a.next(0))
	if a.Pending(0) {
		t.Error("the next message has no credit")
	}
	receive()
	receive()
	settle(t, 0, a, b)
	wantStatus(t, a.polled(), Success, Success, Success, Success, Success, Success, Success)
	if b.counters.OutOfBuffer != 0 || a.counters.RNRNakRetryErr != 0 {
		t.Errorf("%+v", b.counters)
	}
}

// "Invalid" credit, as rxe sends: the requester does not count. Told a count, then none, it goes
// on without.
func TestInvalidCredit(t *testing.T) {
	a, _ := pair(t, nil)
	for range 4 {
		a.post(t, WR{Op: Send, Local: a.local(0, 9)})
	}
	a.next(0)
	a.receive(t, 0, a.packet(&ib.Outgoing{Opcode: ib.Acknowledge, PSN: 0xfffffe,
		AETH: ib.Acknowledgement{Syndrome: ib.ACK(1), MSN: 1}}))
	if a.next(0) == nil || a.Pending(0) {
		t.Fatal("one credit is one message")
	}
	a.receive(t, 0, a.packet(&ib.Outgoing{Opcode: ib.Acknowledge, PSN: 0xfffffe,
		AETH: ib.Acknowledgement{Syndrome: ib.SyndromeACK, MSN: 1}}))
	if a.next(0) == nil || a.next(0) == nil {
		t.Error("waits for credit that nobody counts")
	}
}

// A message that began before the peer told its credit goes on, whatever that is: its first
// packet need not have asked for an acknowledgement.
func TestCreditInTheMiddle(t *testing.T) {
	a, b := pair(t, func(c *Config) { c.Credits = true })
	for range 2 {
		if err := b.PostReceive(0, ReceiveWR{Local: b.local(0, 600)}); err != nil {
			t.Fatal(err)
		}
	}
	a.post(t, WR{Op: Send, Local: a.local(0, 9)})
	a.post(t, WR{Op: Send, Local: a.local(0, 600)})
	b.receive(t, 0, a.next(0))
	late := a.next(0)
	a.receive(t, 0, a.packet(&ib.Outgoing{Opcode: ib.Acknowledge, PSN: 0xfffffe,
		AETH: ib.Acknowledgement{Syndrome: ib.ACK(0), MSN: 1}}))
	b.receive(t, 0, late)
	b.receive(t, 0, a.next(0))
	b.receive(t, 0, a.next(0))
	a.receive(t, 0, b.answer())
	wantStatus(t, a.polled(), Success, Success)
}
