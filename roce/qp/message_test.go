package qp

import (
	"errors"
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/roce/ib"
)

// IBTA 9.2.3: the solicited event bit goes with the last packet of what takes a receive, and the
// peer's completion has it.
func TestSolicited(t *testing.T) {
	for _, op := range []Op{Send, SendImm, Write, WriteImm, Read} {
		a, b := pair(t, nil)
		if err := b.PostReceive(0, ReceiveWR{Local: b.local(0, 600)}); err != nil {
			t.Fatal(err)
		}
		a.post(t, WR{Op: op, Local: a.local(0, 600), Remote: b.remote(0), Solicited: true})
		for i := 0; a.Pending(0); i++ {
			packet := a.next(0)
			p := opened(t, packet)
			if want := i == 2 && op.takesReceive(); p.BTH.Solicited() != want {
				t.Errorf("%v packet %d: SE %v", op, i, p.BTH.Solicited())
			}
			b.receive(t, 0, packet)
		}
		for _, c := range b.polled() {
			if !c.Solicited {
				t.Errorf("%v: %+v", op, c)
			}
		}
	}
}

// IBTA 10.8.3.3: a fenced request waits for the READs and atomics before it, and for no more.
func TestFence(t *testing.T) {
	a, b := pair(t, nil)
	a.post(t, WR{Op: Read, Local: a.local(0, 9), Remote: b.remote(0)})
	a.post(t, WR{Op: Write, Local: a.local(0, 9), Remote: b.remote(0)})
	a.post(t, WR{Op: Write, Local: a.local(0, 9), Remote: b.remote(0), Fence: true})
	b.receive(t, 0, a.next(0))
	b.receive(t, 0, a.next(0))
	if a.Pending(0) {
		t.Fatal("the fence does not hold")
	}
	a.receive(t, 0, b.next(0))
	if !a.Pending(0) {
		t.Error("the fence waits for the WRITE too")
	}
	settle(t, 0, a, b)
	wantStatus(t, a.polled(), Success, Success, Success)
}

// Inline bytes are taken when they are posted.
func TestInline(t *testing.T) {
	a, b := pair(t, func(c *Config) { c.MaxInline = 300 })
	text := make([]byte, 300)
	for i := range 8 {
		text[0], text[299] = byte(i+1), byte(i+1)
		a.post(t, WR{Op: Write, Inline: text, Remote: b.remote(300 * i)})
	}
	clear(text)
	settle(t, 0, a, b)
	for i := range 8 {
		if got := b.region.Bytes[300*i:][:300]; got[0] != byte(i+1) || got[299] != byte(i+1) {
			t.Errorf("message %d: %d and %d", i, got[0], got[299])
		}
	}
	if err := a.Post(0, WR{Op: Write, Inline: make([]byte, 301)}); !errors.Is(err, ErrLength) {
		t.Error(err)
	}
	if err := a.Post(0, WR{Op: Read, Inline: text}); !errors.Is(err, ErrOp) {
		t.Error(err)
	}
}

// IBTA 9.7.7.3: a message of 2 GB, at the smallest and the largest path MTU. Only what a packet
// needs is looked at; the memory is never touched.
func TestLargestMessage(t *testing.T) {
	for _, mtu := range []int{256, 4096} {
		a, _ := pair(t, func(c *Config) { c.MTU = mtu })
		huge := sparse(t, a.mem, MaxMessage, Access{})
		a.post(t, WR{Op: Write, Local: Local{huge.Key, huge.VA, MaxMessage}})
		var o ib.Outgoing
		packets, bytes := 0, 0
		ack := opened(t, a.nak(0, ib.SyndromeACK))
		for a.Next(0, 0, &o) {
			if packets == 0 && (o.Opcode != ib.WriteFirst || o.RDMA.Length != MaxMessage) {
				t.Fatalf("%v of %d bytes", o.Opcode, o.RDMA.Length)
			}
			packets, bytes = packets+1, bytes+len(o.Payload)
			if o.AckReq {
				ack.BTH.SetPSN(o.PSN)
				a.Receive(0, &ack)
			}
		}
		if packets != MaxMessage/mtu || bytes != MaxMessage || o.Opcode != ib.WriteLast {
			t.Errorf("%d packets, %d bytes, the last %v", packets, bytes, o.Opcode)
		}
		wantStatus(t, a.polled(), Success)
		if a.Post(0, WR{Op: Send, Local: Local{huge.Key, huge.VA, MaxMessage + 1}}) == nil {
			t.Error("more than 2 GB")
		}
	}
}

// IBTA 10.9.3: at least one side is a full member, and of the same partition.
func TestPartitions(t *testing.T) {
	for _, c := range []struct {
		ours, theirs uint16
		ok           bool
	}{
		{0xffff, 0xffff, true}, {0xffff, 0x7fff, true}, {0x7fff, 0xffff, true},
		{0x7fff, 0x7fff, false}, {0xffff, 0xfffe, false}, {0x8001, 0x8001, true},
	} {
		a, b := pair(t, func(cfg *Config) { cfg.PKey = c.ours })
		a.post(t, WR{Op: Write, Local: a.local(0, 9), Remote: b.remote(0)})
		p := opened(t, a.next(0))
		p.BTH.SetPKey(c.theirs)
		_, why := b.Receive(0, &p)
		if ok := why == frame.NoReason; ok != c.ok || b.HasResponse() != c.ok ||
			(b.counters.BadPKey == 0) != c.ok {
			t.Errorf("%#04x at %#04x: %v, %d counted", c.theirs, c.ours, why, b.counters.BadPKey)
		}
	}
}
