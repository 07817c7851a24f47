package qp

import "testing"

// Touches tells of each packet, before it is received, where it then is.
func TestTouches(t *testing.T) {
	for _, op := range []Op{Write, Send} {
		a, b := pair(t, nil)
		if err := b.PostReceive(0, ReceiveWR{Local: b.local(1000, 600)}); err != nil {
			t.Fatal(err)
		}
		a.post(t, WR{Op: op, Local: a.local(0, 600), Remote: b.remote(1000)})
		for at := uint64(1000); a.Pending(0); {
			packet := a.next(0)
			p := opened(t, packet)
			region, off, n, ok := b.Touches(&p)
			if !ok || region != b.region || off != at || n != len(p.Payload) {
				t.Errorf("%v: %d bytes at %d, %v; want %d at %d", op, n, off, ok, len(p.Payload),
					at)
			}
			b.receive(t, 0, packet)
			if _, _, _, ok := b.Touches(&p); ok {
				t.Errorf("%v: a duplicate would be placed", op)
			}
			at += uint64(n)
		}
	}
}

// What is refused touches nothing.
func TestTouchesNothing(t *testing.T) {
	a, b := pair(t, nil)
	for _, wr := range []WR{
		{Op: Write, Local: a.local(0, 9), Remote: b.remote(regionSize - 8)},
		{Op: Send, Local: a.local(0, 9)}, // no receive is posted
		{Op: Write, Remote: b.remote(0)},
		{Op: Read, Local: a.local(0, 9), Remote: b.remote(0)},
	} {
		a.post(t, wr)
		p := opened(t, a.next(0))
		if _, _, _, ok := b.Touches(&p); ok {
			t.Errorf("%v of %d bytes", wr.Op, wr.Local.Length)
		}
	}
}
