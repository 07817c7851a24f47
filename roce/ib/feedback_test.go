package ib

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/rocelab/rocelab/dataplane/wire"
)

func feedbackHeaders() Headers {
	return NewHeaders(Endpoints{SourceMAC: [6]byte{2, 0, 0, 0, 0, 1},
		DestMAC: [6]byte{2, 0, 0, 0, 0, 2}, Source: netip.MustParseAddr("10.0.0.1"),
		Dest: netip.MustParseAddr("10.0.0.2"), SourcePort: 50000, DestQP: 17})
}

// opened builds o and takes it apart again.
func opened(t *testing.T, o Outgoing) Packet {
	t.Helper()
	h := feedbackHeaders()
	b := make([]byte, 2048)
	b = b[:h.Build(b, &o)]
	p, ok := Open(b, wire.EthernetLen, wire.EthernetLen+wire.IPv4Len)
	if !ok || !p.CheckICRC() || len(b) > len(p.Payload)+MaxOverhead {
		t.Fatalf("opened %v, ICRC %v, %d bytes for %d", ok, p.CheckICRC(), len(b), len(p.Payload))
	}
	return p
}

// A Transit stands between the last IBTA header and the payload, whatever the opcode, and comes
// back as it was put in; without one the packet is what it always was.
func TestTransit(t *testing.T) {
	payload := []byte("odd sized")
	passage := Passage{On: true, Every: 4, LSN: 0xfffffff0, Stamp: 0x01020304}
	for _, op := range []Opcode{SendMiddle, WriteFirst, WriteOnlyImm, ReadResponseFirst} {
		p := opened(t, Outgoing{Opcode: op, Payload: payload, Transit: passage,
			RDMA: RDMA{VA: 1, RKey: 2, Length: 3}, Imm: 7})
		if p.Transit == nil || p.Transit.Every() != 4 || p.Transit.LSN() != passage.LSN ||
			p.Transit.Stamp() != passage.Stamp || !bytes.Equal(p.Payload, payload) {
			t.Errorf("%v: transit %x, payload %q", op, p.Transit, p.Payload)
		}
		if op == WriteFirst && p.RETH.RKey() != 2 {
			t.Error("the RETH has moved")
		}
		if p := opened(t, Outgoing{Opcode: op, Payload: payload}); p.Transit != nil ||
			!bytes.Equal(p.Payload, payload) {
			t.Errorf("%v: a transit that nobody sent", op)
		}
	}
}

// READ requests and atomics, which have no payload, may carry one as well.
func TestTransitWithoutPayload(t *testing.T) {
	for _, op := range []Opcode{ReadRequest, CmpSwap, FetchAdd} {
		p := opened(t, Outgoing{Opcode: op, Transit: Passage{On: true, LSN: 7},
			RDMA: RDMA{VA: 1, RKey: 2, Length: 3}})
		if p.Transit == nil || p.Transit.LSN() != 7 || len(p.Payload) != 0 {
			t.Errorf("%v: transit %x, payload %q", op, p.Transit, p.Payload)
		}
	}
}

// A Transit that is cut off, of another version, or where none can be, is malformed.
func TestTransitRefused(t *testing.T) {
	h := feedbackHeaders()
	at := wire.EthernetLen + wire.IPv4Len + wire.UDPLen
	for name, o := range map[string]Outgoing{
		"cut off":    {Opcode: SendOnly, Payload: make([]byte, TransitLen-1)},
		"version 0":  {Opcode: SendOnly, Payload: make([]byte, TransitLen)},
		"in an ACK":  {Opcode: Acknowledge},
		"in a probe": {Opcode: RTTRequest},
	} {
		b := make([]byte, 2048)
		b = b[:h.Build(b, &o)]
		(*BTH)(b[at:]).SetTransit(true)
		if name == "cut off" {
			(*BTH)(b[at:]).SetPadCount(1)
		}
		if _, ok := Open(b, wire.EthernetLen, wire.EthernetLen+wire.IPv4Len); ok {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestFeedback(t *testing.T) {
	r := Report{Packets: 300, Marked: 2, Bytes: 1 << 20, LSN: 5, Echo: 0xfffffffe, Stamp: 9}
	hops := bytes.Repeat([]byte{0xab}, 2*wire.TelemetryHopLen)
	p := opened(t, Outgoing{Opcode: CongestionFeedback, Report: r, Payload: hops})
	f := p.Feedback
	if f == nil || f.Packets() != 300 || f.Marked() != 2 || f.Bytes() != 1<<20 || f.LSN() != 5 ||
		f.Echo() != 0xfffffffe || f.Stamp() != 9 || !bytes.Equal(p.Payload, hops) {
		t.Errorf("%+v, %d bytes", f, len(p.Payload))
	}
	p = opened(t, Outgoing{Opcode: RTTResponse, Report: Report{Echo: 77}})
	if p.Feedback.Echo() != 77 {
		t.Errorf("%+v", p.Feedback)
	}
}
