package ib

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/rocelab/rocelab/dataplane/wire"
)

// TestAround: a packet whose zeros are left out is, once they are put in, the packet with zeros as
// payload; and taken apart without them it says the same.
func TestAround(t *testing.T) {
	v4 := Endpoints{Source: netip.MustParseAddr("10.0.0.1"), Dest: netip.MustParseAddr("10.0.0.2")}
	v6 := Endpoints{Source: netip.MustParseAddr("fd00::1"), Dest: netip.MustParseAddr("fd00::2"),
		VLAN: VLAN{ID: 5, Tagged: true}}
	for _, e := range []Endpoints{v4, v6} {
		for _, o := range []Outgoing{
			{Opcode: WriteFirst, RDMA: RDMA{VA: 7, RKey: 8, Length: 9000}, Zeros: 1024},
			{Opcode: WriteMiddle, PSN: 3, Zeros: 1024, Transit: Passage{On: true, LSN: 6}},
			{Opcode: SendOnlyImm, PSN: 4, Imm: 5, Zeros: 1, AckReq: true},
			{Opcode: ReadResponseLast, Zeros: 4095, ID: 9, TOS: 0x6a},
		} {
			h := NewHeaders(e)
			n, at := h.Size(&o), h.PayloadAt(&o)
			b := bytes.Repeat([]byte{0xa5}, n)
			h.BuildAround(b[:at], b[at+o.Zeros:], &o)
			head := bytes.Clone(b[:at])
			clear(b[at : at+o.Zeros])
			Seal(b, h.l3, h.l4)
			plain := o
			plain.Payload, plain.Zeros = make([]byte, o.Zeros), 0
			want, zeros := make([]byte, n), bytes.Repeat([]byte{0x5a}, n)
			h.Build(want, &plain)
			h.Build(zeros, &o)
			if !bytes.Equal(b, want) || !bytes.Equal(zeros, want) {
				t.Errorf("%v:\n% x and\n% x, want\n% x", o.Opcode, b, zeros, want)
			}
			var p Packet
			ok := p.OpenAround(head, o.Zeros, h.l3, h.l4)
			q, ok2 := Open(want, h.l3, h.l4)
			if !ok || !ok2 || p.PayloadLen() != q.PayloadLen() || *p.BTH != *q.BTH ||
				!p.CheckICRC() || !q.CheckICRC() || (p.RETH != nil && *p.RETH != *q.RETH) ||
				(p.Transit != nil && *p.Transit != *q.Transit) ||
				(p.Imm != nil && *p.Imm != *q.Imm) {
				t.Errorf("%v: %+v, want %+v", o.Opcode, p, q)
			}
			if new(Packet).OpenAround(want[:at+1], o.Zeros-1, h.l3, h.l4) {
				t.Errorf("%v: zeros that begin within the payload", o.Opcode)
			}
			(*wire.UDP)(head[h.l4:]).SetLen(n - h.l4 - 1)
			if new(Packet).OpenAround(head, o.Zeros, h.l3, h.l4) {
				t.Errorf("%v: zeros that end behind the datagram", o.Opcode)
			}
		}
	}
}
