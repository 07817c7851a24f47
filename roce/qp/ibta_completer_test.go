package qp

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// writes posts n WRITEs of one packet and sends them.
func writes(t *testing.T, n int, change func(*Config)) *side {
	t.Helper()
	a, b := pair(t, change)
	for i := range n {
		a.post(t, WR{ID: uint64(i), Op: Write, Local: a.local(0, 9), Remote: b.remote(0)})
		a.next(0)
	}
	return a
}

// An ACK is of the packet that it names and all before it; one that comes again, or late, says
// nothing.
func TestRuleAckIsCumulative(t *testing.T) {
	a := writes(t, 4, nil)
	a.receive(t, 0, a.nak(0, ib.SyndromeACK)) // the third
	wantStatus(t, a.polled(), Success, Success, Success)
	for _, psn := range []ib.PSN{0, 0xffffff, 0xfffffe, 0x800001} {
		if why := a.receive(t, 0, a.nak(psn, ib.SyndromeACK)); why != frame.NoReason {
			t.Errorf("an old ACK of %d: %v", psn, why)
		}
	}
	wantStatus(t, a.polled())
	a.receive(t, 0, a.nak(1, ib.SyndromeACK))
	wantStatus(t, a.polled(), Success)
}

// An ACK of what was not sent is dropped and changes nothing.
func TestRuleAckOfTheFuture(t *testing.T) {
	a := writes(t, 1, nil)
	for _, psn := range []ib.PSN{0xffffff, 0, 0x7ffffd} {
		if why := a.receive(t, 0, a.nak(psn, ib.SyndromeACK)); why != frame.DropUnexpected {
			t.Errorf("ACK of %d: %v", psn, why)
		}
	}
	wantStatus(t, a.polled())
}

// A NAK acknowledges all before the packet that it names, whatever its code.
func TestRuleNAKAcknowledgesWhatIsBefore(t *testing.T) {
	for _, c := range []struct {
		syn  ib.Syndrome
		want []Status
	}{
		{ib.NAKSequence, []Status{Success, Success}},
		{ib.RNR(3), []Status{Success, Success}},
		{ib.NAKRemoteAccess, []Status{Success, Success, RemoteAccess, Flushed}},
	} {
		a := writes(t, 4, nil)
		a.receive(t, 0, a.nak(0, c.syn))
		wantStatus(t, a.polled(), c.want...)
	}
}

// After a sequence NAK everything from the named packet on is sent again, once: the same NAK
// again, before anything of that has been answered, costs another retry, and an older one nothing.
func TestRuleGoBackN(t *testing.T) {
	a := writes(t, 4, func(c *Config) { c.RetryCount = 2 })
	a.receive(t, 0, a.nak(0xffffff, ib.NAKSequence))
	for i := range 3 {
		if p := opened(t, a.next(0)); p.BTH.PSN() != ib.PSN(0xffffff).Add(i) {
			t.Errorf("packet %d: PSN %d", i, p.BTH.PSN())
		}
	}
	if a.next(0) != nil {
		t.Error("more than was sent")
	}
	a.receive(t, 0, a.nak(0xfffffe, ib.NAKSequence)) // from before
	if a.Pending(0) {
		t.Error("goes back for an old NAK")
	}
	a.receive(t, 0, a.nak(0xffffff, ib.NAKSequence))
	wantStatus(t, a.polled(), Success)
	a.receive(t, 0, a.nak(0xffffff, ib.NAKSequence))
	wantStatus(t, a.polled(), RetryExceeded, Flushed, Flushed)
}

// rxe sends a sequence NAK behind each RNR NAK. It is no second reason to go back: the wait goes
// on, one retry of the RNR kind is used and none of the other.
func TestRuleRNRThenSequenceNAK(t *testing.T) {
	a := writes(t, 2, func(c *Config) { c.RetryCount = 0 })
	a.receive(t, 100, a.nak(0xfffffe, ib.RNR(12)))
	a.receive(t, 101, a.nak(0xfffffe, ib.NAKSequence))
	if want := unit.Time(100).Add(ib.RNRTimer(12).Duration()); a.Deadline() != want ||
		a.State() != StateRTS || a.Pending(0) {
		t.Errorf("%v until %v, want %v", a.State(), a.Deadline(), want)
	}
}

// While a requester waits for a receiver, an ACK that overtook nothing still counts.
func TestRuleProgressWhileWaiting(t *testing.T) {
	a := writes(t, 3, nil)
	a.receive(t, 100, a.nak(0xffffff, ib.RNR(12)))
	wantStatus(t, a.polled(), Success)
	a.receive(t, 200, a.nak(0xffffff, ib.SyndromeACK)) // an earlier copy got through
	wantStatus(t, a.polled(), Success)
	now := a.Deadline()
	a.Wake(now)
	if p := opened(t, a.next(now)); p.BTH.PSN() != 0 {
		t.Errorf("goes on at %d", p.BTH.PSN())
	}
}

// An answer beyond a missing one implies its NAK, once; what else of the later ones arrives says
// nothing new, until there is progress.
func TestRuleImpliedNAK(t *testing.T) {
	for _, later := range []ib.Opcode{ib.AtomicAcknowledge, ib.Acknowledge, ib.ReadResponseOnly} {
		a, b := pair(t, nil)
		for _, op := range []Op{Read, FetchAdd, Write, Read} {
			a.post(t, WR{Op: op, Local: a.local(0, AtomicLen), Remote: b.remote(0)})
			a.next(0)
		}
		psn := map[ib.Opcode]ib.PSN{ib.AtomicAcknowledge: 0xffffff, ib.Acknowledge: 0,
			ib.ReadResponseOnly: 1}[later]
		for range 3 {
			a.receive(t, 0, a.packet(&ib.Outgoing{Opcode: later, PSN: psn,
				AETH: ib.Acknowledgement{Syndrome: ib.SyndromeACK}, Payload: nil}))
		}
		if a.counters.ImpliedNakSeqErr != 1 {
			t.Errorf("%v: implied %d NAKs", later, a.counters.ImpliedNakSeqErr)
		}
		if p := opened(t, a.next(0)); p.BTH.PSN() != 0xfffffe || p.Info.Verb != ib.Read {
			t.Errorf("%v: asks again for %v at %d", later, p.BTH.Opcode(), p.BTH.PSN())
		}
		wantStatus(t, a.polled())
	}
}

// A READ's answer comes in order, each packet once; repeats are passed over, and the first of a
// resumed answer may be FIRST, ONLY, or with rxe MIDDLE or LAST.
func TestRuleReadAnswers(t *testing.T) {
	for _, resumed := range []ib.Opcode{ib.ReadResponseFirst, ib.ReadResponseMiddle} {
		a, b := reader(t, 700, nil)
		b.receive(t, 0, a.next(0))
		one := b.next(0)
		two := opened(t, b.next(0))
		three := b.next(0)
		a.receive(t, 0, one)
		a.receive(t, 0, one)
		a.receive(t, 0, three) // two is missing
		if p := opened(t, a.next(0)); p.RETH.Length() != 700-256 {
			t.Fatalf("asks again for %d bytes", p.RETH.Length())
		}
		a.receive(t, 0, a.packet(&ib.Outgoing{Opcode: resumed, PSN: two.BTH.PSN(),
			Payload: two.Payload}))
		a.receive(t, 0, three)
		wantStatus(t, a.polled(), Success)
		sameBytes(t, "fetched", a.region.Bytes[:700], b.region.Bytes[:700])
	}
}
