package qp

import (
	"errors"
	"testing"

	"github.com/rocelab/rocelab/roce/ib"
)

// empty makes the region of a side void.
func (s *side) empty() { s.region.Bytes = nil }

// Of a void region zeros are read, and what is written there is forgotten; completions and counters
// are those of real memory.
func TestVoidRegions(t *testing.T) {
	for _, n := range []int{0, 1, 256, 257, 5000} {
		for _, op := range []Op{Send, WriteImm, Read} {
			var want Stats
			for _, c := range []struct{ fromVoid, toVoid bool }{{false, false}, {true, false},
				{false, true}, {true, true}} {
				a, b := pair(t, nil)
				from, to := a, b
				if op == Read {
					from, to = b, a
				}
				from.fill(1)
				to.fill(2)
				if c.fromVoid {
					from.empty()
				}
				if c.toVoid {
					to.empty()
				}
				if err := b.PostReceive(0, ReceiveWR{Local: b.local(100, 6000)}); err != nil {
					t.Fatal(err)
				}
				a.post(t, WR{Op: op, Local: a.local(100, n), Remote: b.remote(100)})
				settle(t, 0, a, b)
				got := a.polled()
				wantStatus(t, got, Success)
				if got[0].Bytes != n {
					t.Errorf("%v %d: %+v", op, n, got[0])
				}
				if c == (struct{ fromVoid, toVoid bool }{}) {
					want = a.Stats
				}
				if a.Stats != want {
					t.Errorf("%v %d: %+v, want %+v", op, n, a.Stats, want)
				}
				if c.fromVoid && !c.toVoid {
					sameBytes(t, op.String(), to.region.Bytes[100:100+n], make([]byte, n))
				}
			}
		}
	}
}

// A payload whose zeros nobody stored is placed as zeros.
func TestZerosArePlaced(t *testing.T) {
	a, b := pair(t, nil)
	b.fill(3)
	a.empty()
	a.post(t, WR{Op: Write, Local: a.local(0, 99), Remote: b.remote(50)})
	var o ib.Outgoing
	if !a.Next(0, 0, &o) || o.Payload != nil || o.Zeros != 99 {
		t.Fatalf("%d bytes, %d zeros", len(o.Payload), o.Zeros)
	}
	at := a.headers.PayloadAt(&o)
	var p ib.Packet
	if !p.OpenAround(a.packet(&o)[:at], 99, 14, 34) {
		t.Fatal("not a packet")
	}
	if _, why := b.Receive(0, &p); why != 0 {
		t.Errorf("dropped: %v", why)
	}
	sameBytes(t, "zeros", b.region.Bytes[50:149], make([]byte, 99))
	if b.region.Bytes[49] == 0 || b.region.Bytes[149] == 0 || b.Stats.BytesReceived != 99 {
		t.Error("more than the payload was placed")
	}
}

// Who needs bytes is refused.
func TestVoidRegionsRefuse(t *testing.T) {
	a, b := pair(t, nil)
	a.empty()
	err := a.Post(0, WR{Op: FetchAdd, Local: a.local(0, AtomicLen), Remote: b.remote(0)})
	if !errors.Is(err, ErrLocal) {
		t.Errorf("an atomic into void: %v", err)
	}
	a, b = pair(t, nil)
	b.empty()
	a.post(t, WR{Op: CmpSwap, Local: a.local(0, AtomicLen), Remote: b.remote(0)})
	settle(t, 0, a, b)
	wantStatus(t, a.polled(), RemoteAccess)
	u := newUD(t, UDConfig{QPN: 1, PKey: 0xffff})
	u.region.Bytes = nil
	if err := u.Post(0, UDWR{Local: u.local(0, 9)}); !errors.Is(err, ErrLocal) {
		t.Errorf("a datagram of void: %v", err)
	}
	if err := u.PostReceive(0, ReceiveWR{Local: u.local(0, 99)}); !errors.Is(err, ErrLocal) {
		t.Errorf("a datagram into void: %v", err)
	}
}
