package wire

import (
	"testing"
)

// TestViewsNeedTheirLength cuts each header one byte short.
func TestViewsNeedTheirLength(t *testing.T) {
	views := []struct {
		name string
		size int
		view func(b []byte) bool
	}{
		{"ethernet", EthernetLen, func(b []byte) bool { _, ok := AsEthernet(b); return ok }},
		{"tag", TagLen, func(b []byte) bool { _, ok := AsTag(b); return ok }},
		{"ipv4", IPv4Len, func(b []byte) bool { _, ok := AsIPv4(b); return ok }},
		{"ipv6", IPv6Len, func(b []byte) bool { _, ok := AsIPv6(b); return ok }},
		{"udp", UDPLen, func(b []byte) bool { _, ok := AsUDP(b); return ok }},
		{"icmp", ICMPLen, func(b []byte) bool { _, ok := AsICMP(b); return ok }},
		{"nd", NDLen, func(b []byte) bool { _, ok := AsND(b); return ok }},
		{"pfc", PFCLen, func(b []byte) bool { _, ok := AsPFC(b); return ok }},
		{"pause", PauseLen, func(b []byte) bool { _, ok := AsPause(b); return ok }},
	}
	for _, v := range views {
		b := make([]byte, v.size)
		if !v.view(b) || v.view(b[:v.size-1]) || v.view(nil) {
			t.Errorf("%s: the view does not want exactly %d bytes", v.name, v.size)
		}
	}
}

func TestInit(t *testing.T) {
	four, six := new(IPv4), new(IPv6)
	four.SetID(9)
	six.SetHopLimit(9)
	four.Init()
	six.Init()
	if four.Version() != 4 || four.HeaderLen() != IPv4Len || four.ID() != 0 ||
		six.Version() != 6 || six.HopLimit() != 0 {
		t.Errorf("init: % x, % x", *four, *six)
	}
}

func TestMAC(t *testing.T) {
	m, err := ParseMAC("02:AB:00:0c:00:ff")
	if err != nil || m != (MAC{2, 0xab, 0, 0xc, 0, 0xff}) || m.String() != "02:ab:00:0c:00:ff" {
		t.Fatalf("parse: %v %v", m, err)
	}
	var back MAC
	text, _ := m.MarshalText()
	if err := back.UnmarshalText(text); err != nil || back != m {
		t.Errorf("round trip: %v %v", back, err)
	}
	if dashed, err := ParseMAC("02-ab-00-0c-00-ff"); err != nil || dashed != m {
		t.Errorf("hyphens: %v %v", dashed, err)
	}
	for _, bad := range []string{"", "02:ab:00:0c:00", "02:ab:00:0c:00:fg", "02:ab:00:0c:00:ff:00",
		"02.ab.00.0c.00.ff"} {
		if got, err := ParseMAC(bad); err == nil || got != (MAC{}) {
			t.Errorf("%q was accepted as %v", bad, got)
		}
	}
	if m.IsMulticast() || !Broadcast.IsMulticast() || !MACControlAddr.IsMulticast() {
		t.Error("the group bit is misread")
	}
}

// FuzzViews reads every field of every header out of arbitrary bytes; only a panic fails.
func FuzzViews(f *testing.F) {
	for _, b := range golden(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		rest := b
		if h, ok := AsEthernet(b); ok {
			_, _, _ = h.Dst(), h.Src(), h.Type().String()
			rest = b[EthernetLen:]
		}
		if h, ok := AsIPv4(rest); ok {
			ttl := h.TTL()
			was := HeaderChecksum(h[:])
			h.SetTTL(ttl + 1)
			h.SetTTL(ttl)
			now := HeaderChecksum(h[:])
			if (was == 0) && now != 0 {
				t.Errorf("a right checksum became wrong: % x", h[:])
			}
		}
		if h, ok := AsIPv6(rest); ok && h.DSCP()<<2|uint8(h.ECN()) != h.trafficClass() {
			t.Errorf("traffic class: % x", h[:])
		}
		if h, ok := AsPFC(rest); ok {
			for p := range uint8(Priorities) {
				_ = h.Quanta(p)
			}
		}
		_, _ = ParseMAC(string(b))
	})
}

func BenchmarkParse(b *testing.B) {
	frame := golden(b)["rc_ack"]
	var sum int
	b.ReportAllocs()
	for b.Loop() {
		eth, _ := AsEthernet(frame)
		ip, _ := AsIPv4(frame[EthernetLen:])
		udp, _ := AsUDP(frame[EthernetLen+IPv4Len:])
		sum += int(eth.Type()) + ip.TotalLen() + int(ip.ECN()) + int(udp.DstPort())
	}
	if sum == 0 {
		b.Fatal("nothing was read")
	}
}
