package qp

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/roce/ib"
)

// An acknowledgement is sent when one was asked for, on any packet of a message, and else not.
func TestRuleAckOnlyWhenAsked(t *testing.T) {
	_, b := pair(t, nil)
	rdma := ib.RDMA{VA: b.region.VA, RKey: b.region.Key, Length: 256 * 4}
	for i, c := range []struct {
		op  ib.Opcode
		req bool
	}{{ib.WriteFirst, false}, {ib.WriteMiddle, true}, {ib.WriteMiddle, false},
		{ib.WriteLast, false}} {
		b.receive(t, 0, b.packet(&ib.Outgoing{Opcode: c.op, PSN: ib.PSN(0xfffffe).Add(i),
			AckReq: c.req, RDMA: rdma, Payload: make([]byte, 256)}))
		if b.HasResponse() != c.req {
			t.Errorf("packet %d: answers %v", i, b.HasResponse())
		}
		if p := b.answer(); p != nil && opened(t, p).AETH.MSN() != 0 {
			t.Error("a message is counted before its end")
		}
	}
	if b.resp.msn != 1 {
		t.Errorf("MSN %d after a message that nobody asked about", b.resp.msn)
	}
}

// A gap is NAKed once however many packets follow it; the next gap is NAKed again.
func TestRuleOneNAKEachGap(t *testing.T) {
	_, b := pair(t, nil)
	naks := 0
	send := func(i int) {
		b.receive(t, 0, b.packet(&ib.Outgoing{Opcode: ib.WriteOnly, PSN: ib.PSN(0xfffffe).Add(i)}))
		if p := b.answer(); p != nil {
			if h := opened(t, p).AETH; h.Syndrome() != ib.NAKSequence {
				t.Fatal(h.Syndrome())
			}
			naks++
		}
	}
	for _, i := range []int{0, 2, 3, 4, 1, 3, 4, 2, 3, 5, 4} { // gaps at 1, 2 and 4
		send(i)
	}
	if naks != 3 || b.resp.expected != ib.PSN(0xfffffe).Add(5) {
		t.Errorf("%d NAKs, expects %d", naks, b.resp.expected)
	}
}

// A NAK whose gap closes before it goes out is not sent.
func TestRuleNoNAKOfAClosedGap(t *testing.T) {
	_, b := pair(t, nil)
	b.receive(t, 0, b.packet(&ib.Outgoing{Opcode: ib.WriteOnly, PSN: 0xffffff}))
	b.receive(t, 0, b.packet(&ib.Outgoing{Opcode: ib.WriteOnly, PSN: 0xfffffe, AckReq: true}))
	if p := opened(t, b.answer()); !p.AETH.Syndrome().IsACK() || b.HasResponse() {
		t.Errorf("%v", p.AETH.Syndrome())
	}
}

// A repeated SEND or WRITE is acknowledged up to the newest packet that was executed, not up to
// itself, and touches no memory.
func TestRuleDuplicateAcknowledgesTheNewest(t *testing.T) {
	a, b := pair(t, nil)
	a.fill(1)
	first := []byte(nil)
	for i := range 3 {
		a.post(t, WR{Op: Write, Local: a.local(9*i, 9), Remote: b.remote(0)})
		p := a.next(0)
		if first == nil {
			first = p
		}
		b.receive(t, 0, p)
		b.answer()
	}
	b.receive(t, 0, first)
	p := opened(t, b.answer())
	if p.BTH.PSN() != 0 || p.AETH.MSN() != 3 {
		t.Errorf("acknowledges %d, MSN %d", p.BTH.PSN(), p.AETH.MSN())
	}
	sameBytes(t, "of the third", b.region.Bytes[:9], a.region.Bytes[18:27])
}

// A SEND takes a receive with its first packet, a WRITE with immediate with its last; a WRITE
// without takes none. RNR NAK names that packet, and what came before it stays executed.
func TestRuleWhoTakesAReceive(t *testing.T) {
	for _, c := range []struct {
		op  Op
		rnr int // packet that is refused without a receive, -1: none
	}{{Send, 0}, {SendImm, 0}, {Write, -1}, {WriteImm, 2}} {
		a, b := pair(t, nil)
		a.post(t, WR{Op: c.op, Local: a.local(0, 700), Remote: b.remote(0)})
		refused := -1
		for i := 0; a.Pending(0); i++ {
			b.receive(t, 0, a.next(0))
			if p := b.answer(); p != nil && opened(t, p).AETH.Syndrome().IsRNR() {
				refused = opened(t, p).BTH.PSN().Sub(0xfffffe)
			}
		}
		if refused != c.rnr {
			t.Errorf("%v: RNR NAK of packet %d, want %d", c.op, refused, c.rnr)
		}
		if n := b.counters.OutOfBuffer; n != uint64(min(c.rnr+1, 1)) {
			t.Errorf("%v: counted %d", c.op, n)
		}
	}
}

// SEND with invalidate is not offered: refused as an invalid request, as the only packet and as the
// last of a message, whose receive ends with that. No key is invalidated, no byte is placed.
func TestRuleInvalidateIsRefused(t *testing.T) {
	for _, last := range []bool{false, true} {
		a, b := pair(t, nil)
		if err := b.PostReceive(0, ReceiveWR{ID: 4, Local: b.local(0, 600)}); err != nil {
			t.Fatal(err)
		}
		o := ib.Outgoing{Opcode: ib.SendOnlyInvalidate, PSN: 0xfffffe,
			Invalidate: b.region.Key, Payload: []byte("data")}
		want := Flushed
		if last {
			b.receive(t, 0, b.legal(ib.SendFirst, 0xfffffe))
			b.drain(t)
			o.Opcode, o.PSN, want = ib.SendLastInvalidate, 0xffffff, RemoteInvalidRequest
		}
		b.receive(t, 0, a.packet(&o))
		if p := opened(t, b.answer()); p.AETH.Syndrome() != ib.NAKInvalidRequest ||
			p.BTH.PSN() != o.PSN {
			t.Errorf("%v of %d", p.AETH.Syndrome(), p.BTH.PSN())
		}
		got := b.polled()
		wantStatus(t, got, want)
		if _, ok := b.mem.remote(1, b.remote(0), 1, ib.Write); !ok || b.State() != StateErr {
			t.Errorf("the key is gone, or the QP is in %v", b.State())
		}
		sameBytes(t, "placed", b.region.Bytes, make([]byte, regionSize))
	}
}

// After the refusal of a request nothing of that connection is executed any more, and the NAK goes
// out once.
func TestRuleNothingAfterARefusal(t *testing.T) {
	a, b := pair(t, nil)
	a.fill(1)
	b.receive(t, 0, a.packet(&ib.Outgoing{Opcode: ib.WriteMiddle, PSN: 0xfffffe,
		Payload: make([]byte, 256)}))
	if why := b.receive(t, 0, a.packet(&ib.Outgoing{Opcode: ib.WriteOnly, PSN: 0xfffffe,
		RDMA:    ib.RDMA{VA: b.region.VA, RKey: b.region.Key, Length: 4},
		Payload: []byte("data")})); why != frame.DropUnknownQP {
		t.Errorf("the next request: %v", why)
	}
	if b.answer() == nil || b.answer() != nil {
		t.Error("want one NAK")
	}
	sameBytes(t, "placed", b.region.Bytes, make([]byte, regionSize))
}

// Answers go out in the order of the requests: an ACK waits for the answers to the READ and the
// atomic before it.
func TestRuleAnswersKeepTheOrder(t *testing.T) {
	a, b := pair(t, nil)
	for _, op := range []Op{Read, FetchAdd, Write} {
		a.post(t, WR{Op: op, Local: a.local(0, AtomicLen), Remote: b.remote(0)})
		b.receive(t, 0, a.next(0))
	}
	if b.HasResponse() {
		t.Fatal("something overtakes the answer to the READ")
	}
	b.next(0)
	for _, want := range []ib.Opcode{ib.AtomicAcknowledge, ib.Acknowledge} {
		if got := opened(t, b.answer()).BTH.Opcode(); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// An immediate of a SEND and of a WRITE arrives with its bytes in order, with the length of the
// whole message.
func TestRuleImmediate(t *testing.T) {
	for _, op := range []Op{SendImm, WriteImm} {
		a, b := pair(t, nil)
		if err := b.PostReceive(0, ReceiveWR{Local: b.local(0, 600)}); err != nil {
			t.Fatal(err)
		}
		a.post(t, WR{Op: op, Local: a.local(0, 513), Remote: b.remote(0), Imm: 0x01020304})
		settle(t, 0, a, b)
		got := b.polled()
		wantStatus(t, got, Success)
		if !got[0].HasImm || got[0].Imm != 0x01020304 || got[0].Bytes != 513 {
			t.Errorf("%v: %+v", op, got[0])
		}
	}
}

// IBTA 9.7.7.3: a message is of 0 to 2^31 bytes. The responder's counts hold at the end of the
// longest; between, nothing happens that did not happen at its start, and that is left out.
func TestRuleLongestMessageArrives(t *testing.T) {
	a, b := pair(t, func(c *Config) { c.MTU = 4096 })
	huge := sparse(t, b.mem, MaxMessage, Access{RemoteWrite: true})
	rdma := ib.RDMA{VA: huge.VA, RKey: huge.Key, Length: MaxMessage}
	payload := make([]byte, 4096)
	write := func(op ib.Opcode, psn ib.PSN) {
		b.receive(t, 0, a.packet(&ib.Outgoing{Opcode: op, PSN: psn, RDMA: rdma,
			Payload: payload, AckReq: true}))
	}
	write(ib.WriteFirst, 0xfffffe)
	r, left := &b.resp, 2*4096
	r.expected = r.expected.Add((MaxMessage - left) / 4096)
	r.total, r.dest.bytes = MaxMessage-left, r.dest.bytes[len(r.dest.bytes)-left:]
	payload[4095] = 7
	write(ib.WriteMiddle, r.expected)
	write(ib.WriteLast, r.expected)
	if p := opened(t, b.answer()); !p.AETH.Syndrome().IsACK() || p.AETH.MSN() != 1 ||
		huge.Bytes[MaxMessage-1] != 7 || huge.Bytes[MaxMessage-4097] != 7 {
		t.Errorf("%v, MSN %d", p.AETH.Syndrome(), p.AETH.MSN())
	}
	rdma.Length++
	b.Reset()
	connect(t, newSide(t, 0, nil), b, 1, 2)
	write(ib.WriteFirst, 1)
	if p := opened(t, b.answer()); p.AETH.Syndrome() != ib.NAKInvalidRequest {
		t.Errorf("one byte more: %v", p.AETH.Syndrome())
	}
}
