package qp

import (
	"errors"
	"testing"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// Each packet of a SEND or WRITE takes one PSN, a READ as many as its answer has packets, an atomic
// one, an empty message one. IBTA 9.7.3.
func TestRulePSNs(t *testing.T) {
	a, b := pair(t, nil)
	psn := ib.PSN(0xfffffe)
	for _, c := range []struct{ op, n, takes int }{
		{int(Send), 0, 1}, {int(Write), 256, 1}, {int(Write), 257, 2}, {int(Read), 1000, 4},
		{int(Read), 0, 1}, {int(FetchAdd), AtomicLen, 1}, {int(CmpSwap), AtomicLen, 1},
		{int(Send), 1, 1},
	} {
		a.post(t, WR{Op: Op(c.op), Local: a.local(0, c.n), Remote: b.remote(0)})
		if p := opened(t, a.next(0)); p.BTH.PSN() != psn {
			t.Errorf("%v of %d bytes at PSN %d, want %d", Op(c.op), c.n, p.BTH.PSN(), psn)
		}
		for a.next(0) != nil {
		}
		psn = psn.Add(c.takes)
	}
}

// The PSN starts where the transition says, counts to 2^24-1 and goes on at 0.
func TestRulePSNWraps(t *testing.T) {
	for _, first := range []ib.PSN{0, 1, 0x7fffff, 0x800000, 0xfffffe, 0xffffff} {
		a, b := newSide(t, 0, nil), newSide(t, 1, nil)
		connect(t, a, b, first, first.Add(5))
		a.post(t, WR{Op: Write, Local: a.local(0, 256*4), Remote: b.remote(0)})
		for i := range 4 {
			p := a.next(0)
			if got := opened(t, p).BTH.PSN(); got != first.Add(i) {
				t.Errorf("from %d: packet %d has PSN %d", first, i, got)
			}
			b.receive(t, 0, p)
		}
		a.receive(t, 0, b.answer())
		wantStatus(t, a.polled(), Success)
	}
}

// The last packet of each message asks for an acknowledgement, and so do READs and atomics.
func TestRuleLastPacketAsks(t *testing.T) {
	for _, op := range []Op{Send, SendImm, Write, WriteImm, Read, FetchAdd, CmpSwap} {
		a, b := pair(t, nil)
		n := 600
		if op.Atomic() {
			n = AtomicLen
		}
		a.post(t, WR{Op: op, Local: a.local(0, n), Remote: b.remote(0)})
		for a.Pending(0) {
			p := opened(t, a.next(0))
			if p.BTH.AckReq() == a.Pending(0) {
				t.Errorf("%v: %v asks: %v", op, p.BTH.Opcode(), p.BTH.AckReq())
			}
		}
	}
}

// Completions come in the order of posting, whatever was answered how; one ACK stands for all
// before it.
func TestRuleCompletionsInOrder(t *testing.T) {
	a, b := pair(t, nil)
	for i, op := range []Op{Write, Write, FetchAdd, Write, Read, Write} {
		a.post(t, WR{ID: uint64(i), Op: op, Local: a.local(8*i, AtomicLen), Remote: b.remote(0)})
	}
	for a.Pending(0) {
		b.receive(t, 0, a.next(0))
	}
	for b.Pending(0) || b.HasResponse() {
		p := b.next(0)
		if p == nil {
			p = b.answer()
		}
		a.receive(t, 0, p)
	}
	for i, c := range a.polled() {
		if c.ID != uint64(i) || c.Status != Success {
			t.Errorf("completion %d: %+v", i, c)
		}
	}
}

// The retransmission timer runs while an answer is owed, from the packet that asked or the last
// progress, and not otherwise.
func TestRuleTimerRunsWhileWaiting(t *testing.T) {
	a, b := pair(t, nil)
	c := a.Config()
	wait := unit.Time(4096 << c.Timeout)
	if a.Deadline() != unit.Never {
		t.Error("before anything was sent")
	}
	a.post(t, WR{Op: Write, Local: a.local(0, 9), Remote: b.remote(0)})
	a.post(t, WR{Op: Write, Local: a.local(0, 9), Remote: b.remote(0)})
	one := a.next(100)
	two := a.next(200)
	if a.Deadline() != 100+wait {
		t.Errorf("runs until %v, want %v", a.Deadline(), 100+wait)
	}
	b.receive(t, 300, one)
	a.receive(t, 400, b.answer())
	if a.Deadline() != 400+wait {
		t.Errorf("after progress until %v, want %v", a.Deadline(), 400+wait)
	}
	b.receive(t, 500, two)
	a.receive(t, 600, b.answer())
	if a.Deadline() != unit.Never {
		t.Error("when all is acknowledged")
	}
}

// The retry counter is of retransmissions without progress: any progress renews it, waiting for a
// receiver does not use it, and the RNR counter is its own.
func TestRuleProgressRenewsRetries(t *testing.T) {
	a, b := pair(t, func(c *Config) { c.RetryCount, c.RNRRetry = 1, 1 })
	now := unit.Time(0)
	for i := range 5 {
		psn := ib.PSN(0xfffffe).Add(i)
		a.post(t, WR{Op: Send, Local: a.local(0, 9)})
		a.next(now)
		now = a.Deadline()
		a.Wake(now) // lost once
		a.next(now)
		a.receive(t, now, a.nak(psn, ib.RNR(1))) // refused once
		now = a.Deadline()
		a.Wake(now)
		a.next(now)
		a.receive(t, now, a.nak(psn, ib.SyndromeACK))
		wantStatus(t, a.polled(), Success)
	}
	if a.State() != StateRTS || a.counters.LocalAckTimeoutErr != 5 ||
		a.counters.RNRNakRetryErr != 5 {
		t.Errorf("%v, %+v", a.State(), a.counters)
	}
	_ = b
}

// Going back repeats the packets as they were: opcode, PSN, payload, and place in the message.
func TestRuleRepeatsAreTheSame(t *testing.T) {
	a, b := pair(t, func(c *Config) { c.AckEvery = 1 })
	a.fill(7)
	a.post(t, WR{Op: WriteImm, Local: a.local(3, 700), Remote: b.remote(0), Imm: 5})
	a.post(t, WR{Op: Read, Local: a.local(1000, 300), Remote: b.remote(0)})
	a.post(t, WR{Op: CmpSwap, Local: a.local(0, 8), Remote: b.remote(0)})
	var first, second [][]byte
	for p := a.next(0); p != nil; p = a.next(0) {
		first = append(first, p)
	}
	a.Wake(a.Deadline())
	for p := a.next(0); p != nil; p = a.next(0) {
		second = append(second, p)
	}
	if len(first) != 5 || len(second) != 5 {
		t.Fatalf("%d packets, then %d", len(first), len(second))
	}
	for i := range first {
		sameBytes(t, "packet", second[i], first[i])
	}
}

// When retries are used up the oldest request ends with the reason, all behind it are flushed in
// order, receives too, and the QP is in ERR: nothing goes out, and what is posted is flushed.
func TestRuleGivingUp(t *testing.T) {
	a, b := pair(t, func(c *Config) { c.RetryCount = 0 })
	for i := range 3 {
		a.post(t, WR{ID: uint64(i), Op: Write, Local: a.local(0, 9), Remote: b.remote(0)})
	}
	if err := a.PostReceive(0, ReceiveWR{ID: 9, Local: a.local(0, 9)}); err != nil {
		t.Fatal(err)
	}
	a.next(0)
	a.Wake(a.Deadline())
	got := a.polled()
	wantStatus(t, got, RetryExceeded, Flushed, Flushed, Flushed)
	if got[3].Op != Receive || a.State() != StateErr || a.Pending(0) || a.HasResponse() ||
		a.Deadline() != unit.Never {
		t.Errorf("%+v in %v", got, a.State())
	}
}

// A READ's answer must fit half of the PSNs, or old and new could not be told apart: IBTA 9.7.2.
func TestRuleReadFitsTheWindow(t *testing.T) {
	a, _ := pair(t, nil)
	huge := sparse(t, a.mem, MaxMessage, Access{LocalWrite: true})
	wr := WR{Op: Read, Local: Local{huge.Key, huge.VA, MaxMessage}}
	if err := a.Post(0, wr); !errors.Is(err, ErrLength) {
		t.Errorf("2^23 packets: %v", err)
	}
	wr.Local.Length -= 256
	a.post(t, wr)
	if p := opened(t, a.next(0)); p.RETH.Length() != MaxMessage-256 {
		t.Errorf("asks for %d bytes", p.RETH.Length())
	}
	a.post(t, WR{Op: Read, Local: a.local(0, 9)})
	if a.Pending(0) {
		t.Error("a second READ, whose PSN would be half of all beyond the oldest")
	}
}
