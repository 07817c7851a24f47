package ib

import (
	"bytes"
	"testing"
)

// No program that we have a recording of sends immediates, so their bytes stand here by the book:
// ImmDt is the last header before the payload, four bytes in network order.
func TestImmediateBytes(t *testing.T) {
	const imm = "\x12\x34\x56\x78"
	reth := "\x01\x02\x03\x04\x05\x06\x07\x08" + "\x0a\x0b\x0c\x0d" + "\x00\x00\x00\x04"
	deth := "\x80\x01\x00\x00" + "\x00\x00\x00\x01"
	for _, c := range []struct {
		op   Opcode
		code byte
		want string // behind the BTH
	}{
		{SendLastImm, 0x03, imm}, {SendOnlyImm, 0x05, imm}, {WriteLastImm, 0x09, imm},
		{WriteOnlyImm, 0x0b, reth + imm}, {UDSendOnlyImm, 0x65, deth + imm},
	} {
		h := NewHeaders(someEndpoints(false, VLAN{}))
		o := Outgoing{Opcode: c.op, PSN: 5, Imm: 0x12345678, Payload: []byte("data"),
			RDMA: RDMA{VA: 0x0102030405060708, RKey: 0x0a0b0c0d, Length: 4},
			UD:   Datagram{QKey: 0x80010000, SourceQP: 1}}
		b := make([]byte, h.Size(&o))
		h.Build(b, &o)
		bth := b[h.l4+8:] // behind UDP
		if bth[0] != c.code || !bytes.Equal(bth[BTHLen:len(bth)-ICRCLen], []byte(c.want+"data")) {
			t.Errorf("%v: opcode %#02x, then % x, want % x", c.op, bth[0], bth[BTHLen:], c.want)
		}
		p, ok := Open(b, h.l3, h.l4)
		if !ok || p.Imm == nil || p.Imm.Value() != o.Imm || string(p.Payload) != "data" {
			t.Errorf("%v: read back %v %q", c.op, p.Imm, p.Payload)
		}
	}
}
