package ib

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/wire"
)

func endpointsOf(b []byte, q QPN) Endpoints {
	l4 := l4Of(b)
	size := 4
	if !isIPv4(b[wire.EthernetLen:]) {
		size = 16
	}
	src, _ := netip.AddrFromSlice(b[l4-2*size : l4-size]) // the addresses end the header
	dst, _ := netip.AddrFromSlice(b[l4-size : l4])
	e := Endpoints{Source: src, Dest: dst, DestQP: q,
		SourcePort: binary.BigEndian.Uint16(b[l4:])}
	copy(e.DestMAC[:], b)
	copy(e.SourceMAC[:], b[6:])
	return e
}

func someEndpoints(v6 bool, vlan VLAN) Endpoints {
	e := Endpoints{SourceMAC: [6]byte{2, 0, 0, 0, 0, 1}, DestMAC: [6]byte{2, 0, 0, 0, 0, 2},
		VLAN: vlan, SourcePort: SourcePort(17, 18), DestQP: 18}
	e.Source, e.Dest = netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	if v6 {
		e.Source, e.Dest = netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")
	}
	return e
}

// refICRC is the definition, bit by bit and on a copy: A17.3 and IBTA 7.8.1.
func refICRC(packet []byte, udp int) uint32 {
	b := append([]byte(nil), packet...)
	ones := func(at ...int) {
		for _, i := range at {
			b[i] = 0xff
		}
	}
	if b[0]>>4 == 4 {
		ones(1, 8, 10, 11)
	} else {
		b[0] |= 0x0f
		ones(1, 2, 3, 7)
	}
	ones(udp+6, udp+7, udp+12)
	crc := ^uint32(0)
	for _, c := range append([]byte{255, 255, 255, 255, 255, 255, 255, 255}, b...) {
		crc ^= uint32(c)
		for range 8 {
			crc = crc>>1 ^ 0xedb88320&-(crc&1)
		}
	}
	return ^crc
}

// What Build writes, Open reads back, over all opcodes, both IP versions, tagged or not; lengths
// and checksums are right, and the ICRC is that of the definition.
func TestBuildOpen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v6 := rapid.Bool().Draw(t, "v6")
		vlan := VLAN{ID: 7, Priority: 3, Tagged: rapid.Bool().Draw(t, "tagged")}
		h := NewHeaders(someEndpoints(v6, vlan))
		o := Outgoing{
			Opcode: rapid.SampledFrom(known()).Draw(t, "opcode"),
			TOS:    rapid.Byte().Draw(t, "tos"), ID: rapid.Uint16().Draw(t, "id"),
			AckReq: rapid.Bool().Draw(t, "ackreq"), PSN: MakePSN(rapid.Uint32().Draw(t, "psn")),
			RDMA: RDMA{rapid.Uint64().Draw(t, "va"), rapid.Uint32().Draw(t, "rkey"), 99},
			AETH: Acknowledgement{Syndrome(rapid.Byte().Draw(t, "syn")), 0xabcdef, 1 << 60},
			Imm:  rapid.Uint32().Draw(t, "imm"), Invalidate: rapid.Uint32().Draw(t, "key"),
			Solicited: rapid.Bool().Draw(t, "solicited"),
			UD:        Datagram{QKey: 0x80010000, SourceQP: 1},
		}
		has := o.Opcode.Info().Has
		if has.AtomicETH {
			o.RDMA.Length = 0
			o.Atomic = AtomicOperands{1, 2}
		}
		if has.Payload {
			o.Payload = rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "payload")
		}
		b := make([]byte, MaxOverhead+300)
		n := h.Build(b, &o)
		b = b[:n]
		p, ok := Open(b, h.l3, h.l4)
		if !ok || !p.CheckICRC() {
			t.Fatalf("%v: parsed %v, ICRC ok %v", o.Opcode, ok, ok && p.CheckICRC())
		}
		if want := refICRC(b[h.l3:n-ICRCLen], h.l4-h.l3); getICRC(b[n-ICRCLen:]) != want {
			t.Fatalf("ICRC %08x, want %08x", getICRC(b[n-ICRCLen:]), want)
		}
		if n != h.Size(&o) || string(p.Payload) != string(o.Payload) {
			t.Fatalf("size %d, payload %x, sent %x", n, p.Payload, o.Payload)
		}
		checkFields(t, &p, &o)
		checkIP(t, b[h.l3:], v6, o.TOS)
	})
}

func known() (all []Opcode) {
	for o := range 256 {
		if i := Opcode(o).Info(); i.Known() {
			all = append(all, Opcode(o))
		}
	}
	return all
}

func checkFields(t *rapid.T, p *Packet, o *Outgoing) {
	again := outgoingOf(p)
	again.TOS, again.ID, again.Payload = o.TOS, o.ID, o.Payload
	want := *o
	has := o.Opcode.Info().Has
	if !has.RETH && !has.AtomicETH {
		want.RDMA = RDMA{}
	}
	if !has.AETH {
		want.AETH = Acknowledgement{}
	} else if !has.AtomicAckETH {
		want.AETH.Original = 0
	}
	if !has.Imm {
		want.Imm = 0
	}
	if !has.IETH {
		want.Invalidate = 0
	}
	if !has.DETH {
		want.UD = Datagram{}
	}
	again.Payload, want.Payload = nil, nil
	if !equal(&again, &want) {
		t.Fatalf("read back %+v, sent %+v", again, want)
	}
	if p.BTH.BECN() != (o.Opcode == CongestionNotify) || p.BTH.PKey() != DefaultPKey {
		t.Fatalf("BECN %v, P_Key %x", p.BTH.BECN(), p.BTH.PKey())
	}
}

func equal(a, b *Outgoing) bool {
	return a.Opcode == b.Opcode && a.AckReq == b.AckReq && a.PSN == b.PSN && a.RDMA == b.RDMA &&
		a.AETH == b.AETH && a.Imm == b.Imm &&
		a.Solicited == b.Solicited &&
		a.Invalidate == b.Invalidate && a.Atomic == b.Atomic && a.UD == b.UD
}

func checkIP(t *rapid.T, ip []byte, v6 bool, tos uint8) {
	if v6 {
		if got := ip[0]<<4 | ip[1]>>4; got != tos || ip[0]>>4 != 6 {
			t.Fatalf("traffic class %x, want %x", got, tos)
		}
		if int(binary.BigEndian.Uint16(ip[4:])) != len(ip)-wire.IPv6Len {
			t.Fatal("IPv6 payload length")
		}
		return
	}
	sum := uint32(0)
	for i := 0; i < wire.IPv4Len; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	if sum = sum>>16 + sum&0xffff; sum>>16+sum&0xffff != 0xffff {
		t.Fatalf("IPv4 header checksum does not verify: %x", ip[:wire.IPv4Len])
	}
	if int(binary.BigEndian.Uint16(ip[2:])) != len(ip) || ip[1] != tos {
		t.Fatal("IPv4 length or TOS")
	}
}

// The bytes of NVIDIA's published example of a CNP: A17.9.3.
func TestCNPBytes(t *testing.T) {
	e := someEndpoints(false, VLAN{})
	e.DestQP = 0xd2
	h := NewHeaders(e)
	b := make([]byte, 128)
	n := h.Build(b, &Outgoing{Opcode: CongestionNotify, TOS: 48 << 2})
	want := "\x81\x00\xff\xff\x40\x00\x00\xd2\x00\x00\x00\x00" + string(make([]byte, 16))
	if got := string(b[h.l4+wire.UDPLen : n-ICRCLen]); got != want {
		t.Errorf("CNP %x, want %x", got, want)
	}
}

func TestOpenRefuses(t *testing.T) {
	h := NewHeaders(someEndpoints(false, VLAN{}))
	build := func(o Opcode, payload int) []byte {
		b := make([]byte, 256)
		return b[:h.Build(b, &Outgoing{Opcode: o, Payload: make([]byte, payload)})]
	}
	for _, c := range []struct {
		name   string
		frame  []byte
		change func(b []byte)
	}{
		{"undefined opcode", build(SendOnly, 8), func(b []byte) { b[42] = 0x1f }},
		{"no room for the RETH", build(SendOnly, 8), func(b []byte) { b[42] = byte(WriteOnly) }},
		{"pad longer than payload", build(SendOnly, 0), func(b []byte) { b[43] = 0x30 }},
		{"payload behind an ACK", build(SendOnly, 8), func(b []byte) { b[42] = byte(Acknowledge) }},
		{"UDP longer than the frame", build(SendOnly, 8), func(b []byte) { b[39]++ }},
		{"UDP shorter than a BTH", build(SendOnly, 8), func(b []byte) { b[39] = 23 }},
	} {
		if _, ok := Open(c.frame, wire.EthernetLen, wire.EthernetLen+wire.IPv4Len); !ok {
			t.Fatalf("%s: refused before the change", c.name)
		}
		c.change(c.frame)
		if _, ok := Open(c.frame, wire.EthernetLen, wire.EthernetLen+wire.IPv4Len); ok {
			t.Errorf("%s: accepted", c.name)
		}
	}
}

func TestHeadersPanicOnMixedVersions(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	e := someEndpoints(false, VLAN{})
	e.Dest = netip.MustParseAddr("fd00::2")
	NewHeaders(e)
}

func TestSourcePort(t *testing.T) {
	for a := range QPN(64) {
		for b := range QPN(64) {
			p := SourcePort(a, b)
			if p < 49153 || p != SourcePort(b, a) {
				t.Fatalf("port %d for %v %v", p, a, b)
			}
		}
	}
	if SourcePort(1, 2) == SourcePort(1, 3) {
		t.Error("neighbours share a port")
	}
}

func BenchmarkBuild1024(b *testing.B) {
	h := NewHeaders(someEndpoints(false, VLAN{}))
	frame := make([]byte, 2048)
	o := Outgoing{Opcode: WriteMiddle, Payload: make([]byte, 1024)}
	b.SetBytes(int64(h.Size(&o)))
	b.ReportAllocs()
	for b.Loop() {
		h.Build(frame, &o)
	}
}

func BenchmarkOpen(b *testing.B) {
	h := NewHeaders(someEndpoints(false, VLAN{}))
	frame := make([]byte, 2048)
	n := h.Build(frame, &Outgoing{Opcode: WriteFirst, Payload: make([]byte, 1024)})
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := Open(frame[:n], h.l3, h.l4); !ok {
			b.Fatal("refused")
		}
	}
}

func BenchmarkICRC(b *testing.B) {
	for _, size := range []int{64, 256, 1024, 4096} {
		h := NewHeaders(someEndpoints(false, VLAN{}))
		frame := make([]byte, 8192)
		n := h.Build(frame, &Outgoing{Opcode: WriteMiddle, Payload: make([]byte, size)})
		b.Run(itoa(size), func(b *testing.B) {
			b.SetBytes(int64(n - h.l3 - ICRCLen))
			b.ReportAllocs()
			for b.Loop() {
				ICRC(frame[h.l3:n-ICRCLen], h.l4-h.l3)
			}
		})
	}
}

func TestNoAllocation(t *testing.T) {
	h := NewHeaders(someEndpoints(true, VLAN{}))
	frame := make([]byte, 2048)
	o := Outgoing{Opcode: WriteFirst, Payload: make([]byte, 1024)}
	if n := testing.AllocsPerRun(100, func() {
		n := h.Build(frame, &o)
		if p, ok := Open(frame[:n], h.l3, h.l4); !ok || !p.CheckICRC() {
			t.Fatal("own packet refused")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
