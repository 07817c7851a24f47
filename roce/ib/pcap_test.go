package ib

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rocelab/rocelab/dataplane/wire"
)

// captured returns every RoCEv2 frame of the captures, by file.
func captured(t testing.TB) map[string][][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.pcap")
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	frames := map[string][][]byte{}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := pcapgo.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		for {
			b, _, err := r.ReadPacketData()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			frames[name] = append(frames[name], b)
		}
		f.Close()
	}
	return frames
}

// l4Of is where the UDP header of an untagged frame is.
func l4Of(b []byte) int {
	if (*wire.Ethernet)(b).Type() == wire.TypeIPv6 {
		return wire.EthernetLen + wire.IPv6Len
	}
	return wire.EthernetLen + int(b[wire.EthernetLen]&15)*4
}

// Every packet of the real peer parses, and its ICRC is what we compute.
func TestCapturedPackets(t *testing.T) {
	packets := 0
	for name, frames := range captured(t) {
		for i, b := range frames {
			before := string(b)
			p, ok := Open(b, wire.EthernetLen, l4Of(b))
			if !ok || !p.CheckICRC() {
				t.Errorf("%s packet %d: parsed %v, ICRC wrong", name, i+1, ok)
			}
			if string(b) != before {
				t.Fatalf("%s packet %d: CheckICRC changed it", name, i+1)
			}
			b[len(b)-ICRCLen-1]++
			if p.CheckICRC() {
				t.Errorf("%s packet %d: ICRC accepts a changed byte", name, i+1)
			}
			packets++
		}
	}
	if packets < 2000 {
		t.Errorf("only %d packets", packets)
	}
}

// Build, told what is in a captured packet, makes that packet again, bit by bit.
func TestBuildIsTheRealPeers(t *testing.T) {
	for name, frames := range captured(t) {
		for i, b := range frames {
			p, _ := Open(b, wire.EthernetLen, l4Of(b))
			h := NewHeaders(endpointsOf(b, p.BTH.DestQP()))
			got := make([]byte, 4096)
			for j := range got {
				got[j] = 0xa5
			}
			o := outgoingOf(&p)
			if isIPv4(b[wire.EthernetLen:]) {
				o.TOS = b[wire.EthernetLen+ip4TOS]
				o.ID = binary.BigEndian.Uint16(b[wire.EthernetLen+4:])
			}
			n := h.Build(got, &o)
			got = got[:n]
			if string(got) != string(b) {
				t.Errorf("%s packet %d (%v):\n got %x\nwant %x", name, i+1, o.Opcode, got, b)
			}
		}
	}
}

func outgoingOf(p *Packet) Outgoing {
	o := Outgoing{Opcode: p.BTH.Opcode(), AckReq: p.BTH.AckReq(), PSN: p.BTH.PSN(),
		Solicited: p.BTH.Solicited(), Payload: p.Payload}
	if p.RETH != nil {
		o.RDMA = RDMA{p.RETH.VA(), p.RETH.RKey(), p.RETH.Length()}
	}
	if p.AETH != nil {
		o.AETH = Acknowledgement{Syndrome: p.AETH.Syndrome(), MSN: p.AETH.MSN()}
	}
	if p.AtomicAck != nil {
		o.AETH.Original = p.AtomicAck.Original()
	}
	if p.Atomic != nil {
		o.RDMA = RDMA{VA: p.Atomic.VA(), RKey: p.Atomic.RKey()}
		o.Atomic = AtomicOperands{p.Atomic.SwapAdd(), p.Atomic.Compare()}
	}
	if p.Imm != nil {
		o.Imm = p.Imm.Value()
	}
	if p.IETH != nil {
		o.Invalidate = p.IETH.RKey()
	}
	if p.DETH != nil {
		o.UD = Datagram{p.DETH.QKey(), p.DETH.SourceQP()}
	}
	return o
}

// FuzzOpen: no input makes the parser panic, and what it accepts lies inside the input.
func FuzzOpen(f *testing.F) {
	for _, frames := range captured(f) {
		for _, b := range frames {
			f.Add(b, wire.EthernetLen, l4Of(b))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, l3, l4 int) {
		if l4 > 1<<16 || l3 > 1<<16 {
			return
		}
		p, ok := Open(b, l3, l4)
		if !ok {
			return
		}
		if !p.Info.Known() || len(p.Payload)+p.Info.Extended+BTHLen > len(b)-l4 {
			t.Errorf(
				"accepted %v with %d bytes of payload in %d",
				p.Info.Name,
				len(p.Payload),
				len(b),
			)
		}
		// The classifier only hands over IP headers of full length.
		if l4-l3 >= wire.IPv4Len && (isIPv4(b[l3:]) || l4-l3 >= wire.IPv6Len) {
			before := string(b)
			p.CheckICRC()
			if string(b) != before {
				t.Error("CheckICRC changed the packet")
			}
		}
	})
}

// FuzzICRC: whatever the bytes, the fast ICRC is that of the definition and leaves them alone.
func FuzzICRC(f *testing.F) {
	for _, frames := range captured(f) {
		for _, b := range frames {
			f.Add(b[wire.EthernetLen:len(b)-ICRCLen], l4Of(b)-wire.EthernetLen)
		}
	}
	f.Fuzz(func(t *testing.T, packet []byte, udp int) {
		if udp < wire.IPv4Len || udp > 60 || len(packet) < udp+wire.UDPLen+BTHLen {
			return
		}
		before := string(packet)
		if got, want := ICRC(packet, udp), refICRC(packet, udp); got != want {
			t.Errorf("ICRC %08x, want %08x", got, want)
		}
		if string(packet) != before {
			t.Error("ICRC changed the packet")
		}
	})
}
