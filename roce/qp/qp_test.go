package qp

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// All operations at all sizes around packet boundaries arrive whole and complete once.
func TestOperationsAndSizes(t *testing.T) {
	for _, n := range []int{0, 1, 3, 255, 256, 257, 512, 513, 5000} {
		for _, op := range []Op{Send, SendImm, Write, WriteImm} {
			a, b := pair(t, nil)
			a.fill(byte(n))
			if err := b.PostReceive(0, ReceiveWR{ID: 9, Local: b.local(100, 6000)}); err != nil {
				t.Fatal(err)
			}
			a.post(t, WR{ID: 7, Op: op, Local: a.local(13, n), Remote: b.remote(100), Imm: 0xabc})
			settle(t, 0, a, b)
			got := a.polled()
			wantStatus(t, got, Success)
			if got[0].ID != 7 || got[0].Op != op || got[0].Bytes != n {
				t.Errorf("%v %d: %+v", op, n, got[0])
			}
			sameBytes(t, op.String(), b.region.Bytes[100:100+n], a.region.Bytes[13:13+n])
			sameBytes(t, "behind", b.region.Bytes[100+n:], make([]byte, regionSize-100-n))
			if got = b.polled(); op == Write {
				wantStatus(t, got)
				continue
			}
			wantStatus(t, got, Success)
			imm := op == SendImm || op == WriteImm
			if got[0].ID != 9 || got[0].Bytes != n || got[0].HasImm != imm ||
				imm && got[0].Imm != 0xabc {
				t.Errorf("%v %d: received %+v", op, n, got[0])
			}
		}
	}
}

// IBTA 9.7.4.1: opcodes and AckReq of a message of several packets.
func TestSegmentation(t *testing.T) {
	a, b := pair(t, func(c *Config) { c.AckEvery = 2 })
	a.post(t, WR{Op: WriteImm, Local: a.local(0, 1100), Remote: b.remote(0)})
	for i, want := range []struct {
		op   ib.Opcode
		size int
		ack  bool
	}{
		{ib.WriteFirst, 256, false}, {ib.WriteMiddle, 256, true}, {ib.WriteMiddle, 256, false},
		{ib.WriteMiddle, 256, true}, {ib.WriteLastImm, 76, true},
	} {
		p := opened(t, a.next(0))
		if p.BTH.Opcode() != want.op || len(p.Payload) != want.size ||
			p.BTH.AckReq() != want.ack || p.BTH.PSN() != ib.PSN(0xfffffe).Add(i) {
			t.Errorf("packet %d: %v, %d bytes, AckReq %v, PSN %d", i, p.BTH.Opcode(),
				len(p.Payload), p.BTH.AckReq(), p.BTH.PSN())
		}
	}
	if a.next(0) != nil {
		t.Error("a sixth packet")
	}
}

// Several AckReq before the answer goes out make one acknowledgement, of the last.
func TestCoalescing(t *testing.T) {
	a, b := pair(t, nil)
	for range 3 {
		a.post(t, WR{Op: Write, Local: a.local(0, 300), Remote: b.remote(0)})
	}
	for range 6 {
		b.receive(t, 0, a.next(0))
	}
	p := opened(t, b.answer())
	if p.BTH.PSN() != ib.PSN(0xfffffe).Add(5) || p.AETH.MSN() != 3 || b.HasResponse() {
		t.Errorf("ACK of %d, MSN %d", p.BTH.PSN(), p.AETH.MSN())
	}
}

// IBTA 9.7.5.1.1 and .2: one NAK a gap, which acknowledges what came before; go back to there.
func TestSequenceNAKOnceAGap(t *testing.T) {
	a, b := pair(t, nil)
	a.fill(1)
	a.post(t, WR{Op: Write, Local: a.local(0, 256*6), Remote: b.remote(0)})
	b.receive(t, 0, a.next(0))
	a.next(0) // lost
	for range 3 {
		b.receive(t, 0, a.next(0))
	}
	p := opened(t, b.answer())
	if p.AETH.Syndrome() != ib.NAKSequence || p.BTH.PSN() != 0xffffff || b.HasResponse() {
		t.Fatalf("%v for %d", p.AETH.Syndrome(), p.BTH.PSN())
	}
	a.receive(t, 0, a.flip(p))
	if a.acked != (Acked{Bytes: 256, Packets: 1, Lost: true}) || a.counters.PacketSeqErr != 1 {
		t.Errorf("acked %+v, %+v", a.acked, a.counters)
	}
	settle(t, 0, a, b)
	wantStatus(t, a.polled(), Success)
	sameBytes(t, "after the gap", b.region.Bytes[:1536], a.region.Bytes[:1536])
	if b.counters.OutOfSequence != 3 || a.Stats.PacketsRetransmitted != 4 {
		t.Errorf("%+v, %d retransmitted", b.counters, a.Stats.PacketsRetransmitted)
	}
}

// flip makes bytes of an opened packet again; ICRC and all.
func (s *side) flip(p ib.Packet) []byte {
	return s.packet(&ib.Outgoing{Opcode: p.BTH.Opcode(), PSN: p.BTH.PSN(),
		AETH: ib.Acknowledgement{Syndrome: p.AETH.Syndrome(), MSN: p.AETH.MSN()}})
}

// A repeated SEND is acknowledged again and not delivered twice.
func TestDuplicates(t *testing.T) {
	a, b := pair(t, nil)
	for i := range 2 {
		if err := b.PostReceive(0, ReceiveWR{ID: uint64(i), Local: b.local(0, 100)}); err != nil {
			t.Fatal(err)
		}
	}
	a.post(t, WR{Op: Send, Local: a.local(0, 10)})
	request := a.next(0)
	for range 3 {
		b.receive(t, 0, request)
		p := opened(t, b.answer())
		if p.AETH.Syndrome() != ib.SyndromeACK || p.BTH.PSN() != 0xfffffe || p.AETH.MSN() != 1 {
			t.Errorf("%v PSN %d MSN %d", p.AETH.Syndrome(), p.BTH.PSN(), p.AETH.MSN())
		}
	}
	wantStatus(t, b.polled(), Success)
	if b.counters.DuplicateRequest != 2 {
		t.Errorf("%d duplicates", b.counters.DuplicateRequest)
	}
}

// IBTA 9.7.6.1.3: the timer runs out after 4.096 us x 2^timeout, again and again, until retries
// are used up; then the request fails and the QP with it.
func TestTimeoutAndRetryLimit(t *testing.T) {
	a, b := pair(t, func(c *Config) { c.Timeout, c.RetryCount = 4, 2 })
	a.post(t, WR{ID: 1, Op: Write, Local: a.local(0, 600), Remote: b.remote(0)})
	a.post(t, WR{ID: 2, Op: Write, Local: a.local(0, 10), Remote: b.remote(0)})
	now := unit.Time(1000)
	for range 3 {
		for a.next(now) != nil {
		}
		if want := now.Add(65536 * time.Nanosecond); a.Deadline() != want {
			t.Fatalf("deadline %v, want %v", a.Deadline(), want)
		}
		if a.Wake(a.Deadline() - 1) {
			t.Error("early timeout")
		}
		now = a.Deadline()
		if !a.Wake(now) {
			t.Error("no timeout")
		}
	}
	wantStatus(t, a.polled(), RetryExceeded, Flushed)
	if a.State() != StateErr || a.Deadline() != unit.Never || a.Stats.PacketsRetransmitted != 8 ||
		a.counters.LocalAckTimeoutErr != 2 || a.counters.ReqTransportRetriesExceeded != 1 {
		t.Errorf("%v, %+v, %+v", a.State(), a.Stats, a.counters)
	}
	if err := a.Post(0, WR{ID: 3, Local: a.local(0, 1)}); err != nil {
		t.Error(err)
	}
	wantStatus(t, a.polled(), Flushed)
}

// IBTA 9.7.5.2.8, with rxe's peculiarity: a NAK for the same PSN right behind the RNR NAK.
func TestReceiverNotReady(t *testing.T) {
	a, b := pair(t, func(c *Config) { c.MinRNRTimer = 1 })
	a.post(t, WR{Op: Send, Local: a.local(0, 300)})
	b.receive(t, 0, a.next(0))
	b.receive(t, 0, a.next(0)) // behind the refused one: says nothing more
	p := opened(t, b.answer())
	if p.AETH.Syndrome() != ib.RNR(1) || p.BTH.PSN() != 0xfffffe || b.HasResponse() {
		t.Fatalf("%v of %d", p.AETH.Syndrome(), p.BTH.PSN())
	}
	a.receive(t, 100, a.flip(p))
	a.receive(t, 101, a.packet(&ib.Outgoing{Opcode: ib.Acknowledge, PSN: p.BTH.PSN(),
		AETH: ib.Acknowledgement{Syndrome: ib.NAKSequence}}))
	if a.counters.RNRNakRetryErr != 1 || a.counters.PacketSeqErr != 0 || a.Pending(0) ||
		a.Deadline() != 10_100 {
		t.Fatalf("%+v, deadline %v", a.counters, a.Deadline())
	}
	if err := b.PostReceive(0, ReceiveWR{Local: b.local(0, 300)}); err != nil {
		t.Fatal(err)
	}
	if a.Wake(10_100) || !a.Pending(0) {
		t.Error("not sending after the wait")
	}
	settle(t, 10_100, a, b)
	wantStatus(t, a.polled(), Success)
	wantStatus(t, b.polled(), Success)
}

func TestRNRRetryLimit(t *testing.T) {
	a, b := pair(t, func(c *Config) { c.RNRRetry = 1 })
	a.post(t, WR{Op: Send, Local: a.local(0, 1)})
	now := unit.Time(0)
	for range 2 {
		b.receive(t, now, a.next(now))
		a.receive(t, now, b.answer())
		now = now.Add(time.Second)
		a.Wake(now)
	}
	wantStatus(t, a.polled(), RNRRetryExceeded)
}
