package qp

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/roce/ib"
)

// The walk through IBTA's rules for a reliable connection, one test a rule. This file is the
// responder's first checks of a packet; ibta_responder_test.go what it does and answers,
// ibta_requester_test.go what the requester sends and when it gives up, ibta_completer_test.go how
// it takes answers. Rules with a test of their own elsewhere: READ and atomics 9.4.4, 9.4.5
// (read_test), NAK codes, timers and credits 9.7.5.2, 9.7.6.1.3, 9.7.7.2 (ack_test), states 10.3.1
// (state_test), rights 10.6.3.1 (refuse_test), what is counted when dropped (counted_test).

// IBTA 9.7.4.1: the sequence of opcodes. In a message of SENDs or WRITEs only its own next packets
// may follow; outside of one only what begins a message.
func TestOpcodeSequence(t *testing.T) {
	var requests []ib.Opcode
	for o := range 256 {
		if i := ib.Opcode(o).Info(); i.Known() && i.Request() && i.Transport == ib.RC {
			requests = append(requests, ib.Opcode(o))
		}
	}
	for _, before := range []ib.Opcode{ib.SendOnly, ib.SendFirst, ib.WriteFirst, ib.ReadRequest} {
		for _, o := range requests {
			_, b := pair(t, nil)
			for range 2 {
				if err := b.PostReceive(0, ReceiveWR{Local: b.local(0, 2000)}); err != nil {
					t.Fatal(err)
				}
			}
			b.receive(t, 0, b.legal(before, 0xfffffe))
			b.drain(t)
			b.receive(t, 0, b.legal(o, 0xffffff))
			open := ib.NoVerb
			if before.Info().Place == ib.First {
				open = before.Info().Verb
			}
			i := o.Info()
			want := !i.Has.IETH && (open == ib.NoVerb && i.Place.Starts() ||
				open != ib.NoVerb && open == i.Verb && !i.Place.Starts())
			if got := b.State() == StateRTS; got != want {
				t.Errorf("%v after %v: accepted %v, want %v", o, before, got, want)
			}
			if p := b.answer(); !want && (p == nil ||
				opened(t, p).AETH.Syndrome() != ib.NAKInvalidRequest) {
				t.Errorf("%v after %v: not NAKed as invalid", o, before)
			}
		}
	}
}

// legal makes a request that is right by itself: a full packet if more follow, a WRITE of as much
// as the sequence under test sends.
func (s *side) legal(op ib.Opcode, psn ib.PSN) []byte {
	o := ib.Outgoing{Opcode: op, PSN: psn, AckReq: true,
		RDMA: ib.RDMA{VA: s.region.VA, RKey: s.region.Key}}
	if i := op.Info(); i.Has.Payload {
		o.Payload = make([]byte, 256)
		o.RDMA.Length = 256
		if i.Place == ib.First {
			o.RDMA.Length = 512
		}
	}
	return s.packet(&o)
}

// IBTA 9.7.4.1, figure of the PSN regions: the half of the space before the expected PSN is
// duplicates, the half from it on new or missing.
func TestPSNRegions(t *testing.T) {
	for _, c := range []struct {
		off            int
		duplicate, gap uint64
	}{{-1, 1, 0}, {-1 << 22, 1, 0}, {-1 << 23, 1, 0}, {0, 0, 0}, {1, 0, 1}, {1<<23 - 1, 0, 1}} {
		_, b := pair(t, nil)
		b.receive(t, 0, b.legal(ib.WriteOnly, ib.PSN(0xfffffe).Add(c.off)))
		if b.counters.DuplicateRequest != c.duplicate || b.counters.OutOfSequence != c.gap {
			t.Errorf("%+d: %+v", c.off, b.counters)
		}
	}
}

// IBTA 9.7.4.1: payload lengths by place. Full packets but for the last, which is not empty.
func TestPayloadLengths(t *testing.T) {
	for _, c := range []struct {
		op ib.Opcode
		n  int
		ok bool
	}{
		{ib.SendFirst, 255, false}, {ib.SendFirst, 256, true}, {ib.SendFirst, 257, false},
		{ib.SendOnly, 0, true}, {ib.SendOnly, 256, true}, {ib.SendOnly, 257, false},
		{ib.SendMiddle, 255, false}, {ib.SendMiddle, 256, true}, {ib.SendMiddle, 257, false},
		{ib.SendLast, 0, false}, {ib.SendLast, 1, true}, {ib.SendLast, 257, false},
	} {
		_, b := pair(t, nil)
		if err := b.PostReceive(0, ReceiveWR{Local: b.local(0, 2000)}); err != nil {
			t.Fatal(err)
		}
		psn := ib.PSN(0xfffffe)
		if !c.op.Info().Place.Starts() {
			b.receive(t, 0, b.legal(ib.SendFirst, psn))
			psn = psn.Add(1)
		}
		b.receive(t, 0, b.packet(&ib.Outgoing{Opcode: c.op, PSN: psn,
			Payload: make([]byte, c.n)}))
		if ok := b.State() == StateRTS; ok != c.ok {
			t.Errorf("%v of %d bytes: accepted %v", c.op, c.n, ok)
		}
	}
}

// IBTA 9.7.5: an acknowledgement is of what was sent and not yet acknowledged; MSN counts messages,
// of every kind, over its wrap.
func TestMSN(t *testing.T) {
	a, b := pair(t, nil)
	b.resp.msn = 0xfffffe
	for i, op := range []Op{Write, Read, FetchAdd, Write} {
		a.post(t, WR{Op: op, Local: a.local(0, AtomicLen), Remote: b.remote(0)})
		b.receive(t, 0, a.next(0))
		p := b.answer()
		if p == nil {
			p = b.next(0)
		}
		if got, want := opened(t, p).AETH.MSN(), ib.MSN(0xffffff+i)&0xffffff; got != want {
			t.Errorf("%v: MSN %d, want %d", op, got, want)
		}
		a.receive(t, 0, p)
		if why := a.receive(t, 0, p); why != frame.NoReason {
			t.Errorf("%v: the same answer again: %v", op, why)
		}
	}
	wantStatus(t, a.polled(), Success, Success, Success, Success)
}
