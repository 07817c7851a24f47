package qp

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/roce/ib"
)

// Requests that must not be executed are refused, change no memory and end both QPs.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name string
		ask  func(a, b *side) WR
		want Status
	}{
		{"wrong key", func(a, b *side) WR {
			return WR{Op: Write, Local: a.local(0, 9),
				Remote: Remote{b.region.VA, b.region.Key + 1}}
		}, RemoteAccess},
		{"beyond the end", func(a, b *side) WR {
			return WR{Op: Write, Local: a.local(0, 300), Remote: b.remote(regionSize - 299)}
		}, RemoteAccess},
		{"before the start", func(a, b *side) WR {
			return WR{Op: Write, Local: a.local(0, 9),
				Remote: Remote{b.region.VA - 1, b.region.Key}}
		}, RemoteAccess},
		{"no right to write", func(a, b *side) WR {
			b.region.Access.RemoteWrite = false
			return WR{Op: Write, Local: a.local(0, 9), Remote: b.remote(0)}
		}, RemoteAccess},
		{"another domain", func(a, b *side) WR {
			b.region.PD = 2
			return WR{Op: Write, Local: a.local(0, 9), Remote: b.remote(0)}
		}, RemoteAccess},
		{"no right to read", func(a, b *side) WR {
			b.region.Access.RemoteRead = false
			return WR{Op: Read, Local: a.local(0, 9), Remote: b.remote(0)}
		}, RemoteAccess},
		{"READ beyond the end", func(a, b *side) WR {
			return WR{Op: Read, Local: a.local(0, 300), Remote: b.remote(regionSize - 299)}
		}, RemoteAccess},
		{"no right to atomics", func(a, b *side) WR {
			b.region.Access.RemoteAtomic = false
			return WR{Op: FetchAdd, Local: a.local(0, 8), Remote: b.remote(0)}
		}, RemoteAccess},
		{"atomic beyond the end", func(a, b *side) WR {
			return WR{Op: CmpSwap, Local: a.local(0, 8), Remote: b.remote(regionSize)}
		}, RemoteAccess},
		{"SEND longer than the receive", func(a, b *side) WR {
			b.region.Access.LocalWrite = true
			_ = b.PostReceive(0, ReceiveWR{Local: b.local(0, 299)})
			return WR{Op: Send, Local: a.local(0, 300)}
		}, RemoteInvalidRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := pair(t, nil)
			a.fill(3)
			a.post(t, c.ask(a, b))
			settle(t, 0, a, b)
			wantStatus(t, a.polled(), c.want)
			if a.State() != StateErr || b.State() != StateErr {
				t.Errorf("states %v and %v", a.State(), b.State())
			}
			if c.want == RemoteAccess {
				sameBytes(t, "untouched", b.region.Bytes, make([]byte, regionSize))
			}
		})
	}
}

// A zero length WRITE touches no memory and needs no key: IBTA 9.7.5.2.4.
func TestZeroLengthNeedsNoKey(t *testing.T) {
	a, b := pair(t, nil)
	a.post(t, WR{Op: Write, Remote: Remote{VA: 1, RKey: 2}})
	settle(t, 0, a, b)
	wantStatus(t, a.polled(), Success)
}

// Packets that no sane peer sends are refused or dropped, by table.
func TestInsanePackets(t *testing.T) {
	full := make([]byte, 256)
	for _, c := range []struct {
		name string
		o    ib.Outgoing
		why  frame.Reason
		nak  ib.Syndrome
	}{
		{"middle without first", ib.Outgoing{Opcode: ib.WriteMiddle, Payload: full}, 0,
			ib.NAKInvalidRequest},
		{"short first", ib.Outgoing{Opcode: ib.WriteFirst, Payload: full[:9]}, 0,
			ib.NAKInvalidRequest},
		{"too long", ib.Outgoing{Opcode: ib.WriteOnly, Payload: make([]byte, 257)}, 0,
			ib.NAKInvalidRequest},
		{"ACK of what was never sent", ib.Outgoing{Opcode: ib.Acknowledge, PSN: 1000,
			AETH: ib.Acknowledgement{Syndrome: ib.SyndromeACK}}, frame.DropUnexpected, 0},
		{"READ response that nobody asked for", ib.Outgoing{Opcode: ib.ReadResponseOnly, PSN: 100},
			frame.DropUnexpected, 0},
		{"READ of too much", ib.Outgoing{Opcode: ib.ReadRequest,
			RDMA: ib.RDMA{Length: MaxMessage + 1}}, 0, ib.NAKInvalidRequest},
		{"atomic out of line", ib.Outgoing{Opcode: ib.FetchAdd, RDMA: ib.RDMA{VA: 4}}, 0,
			ib.NAKInvalidRequest},
		{"SEND with invalidate", ib.Outgoing{Opcode: ib.SendOnlyInvalidate}, 0,
			ib.NAKInvalidRequest},
		{"unreliable", ib.Outgoing{Opcode: 0x24, Payload: full}, frame.DropUnexpected, 0},
	} {
		a, b := pair(t, nil)
		if c.o.PSN == 0 {
			c.o.PSN = 0xfffffe
		}
		if why := b.receive(t, 0, a.packet(&c.o)); why != c.why {
			t.Errorf("%s: dropped as %v, want %v", c.name, why, c.why)
		}
		if c.nak == 0 {
			if b.HasResponse() || b.State() != StateRTS {
				t.Errorf("%s: answered or failed", c.name)
			}
			continue
		}
		if p := opened(t, b.answer()); p.AETH.Syndrome() != c.nak {
			t.Errorf("%s: %v", c.name, p.AETH.Syndrome())
		}
	}
}
