package wire

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/rocelab/rocelab/tests/require"
)

var arpSetters = []setter{
	{name: "operation", set: func(b []byte) { (*ARP)(b).SetOperation(ARPReply) },
		want: map[int]byte{6: 0, 7: 2},
		read: func(b []byte) bool { return (*ARP)(b).Operation() == ARPReply }},
	{name: "sender MAC", set: func(b []byte) { (*ARP)(b).SetSenderMAC(MAC{}) },
		want: zeros(8, 6), read: func(b []byte) bool { return (*ARP)(b).SenderMAC() == MAC{} }},
	{name: "sender IP", set: func(b []byte) { (*ARP)(b).SetSenderIP([4]byte{}) },
		want: zeros(14, 4), read: func(b []byte) bool { return (*ARP)(b).SenderIP() == [4]byte{} }},
	{name: "target MAC", set: func(b []byte) { (*ARP)(b).SetTargetMAC(MAC{}) },
		want: zeros(18, 6), read: func(b []byte) bool { return (*ARP)(b).TargetMAC() == MAC{} }},
	{name: "target IP", set: func(b []byte) { (*ARP)(b).SetTargetIP([4]byte{}) },
		want: zeros(24, 4), read: func(b []byte) bool { return (*ARP)(b).TargetIP() == [4]byte{} }},
}

var icmpSetters = []setter{
	{name: "icmp type", set: func(b []byte) { (*ICMP)(b).SetType(0) }, want: map[int]byte{0: 0},
		free: map[int]bool{2: true, 3: true},
		read: func(b []byte) bool { return (*ICMP)(b).Type() == 0 && (*ICMP)(b).Code() == 255 }},
	{name: "icmp checksum", set: func(b []byte) { (*ICMP)(b).SetChecksum(0x0102) },
		want: map[int]byte{2: 1, 3: 2},
		read: func(b []byte) bool { return (*ICMP)(b).Checksum() == 0x0102 }},
	{name: "nd flags", set: func(b []byte) { (*ND)(b).SetFlags(NDSolicited) },
		want: map[int]byte{4: 0x5f},
		read: func(b []byte) bool { return (*ND)(b).Flags() == NDSolicited }},
	{name: "nd target", set: func(b []byte) { (*ND)(b).SetTarget([16]byte{}) },
		want: zeros(8, 16),
		read: func(b []byte) bool { return (*ND)(b).Target() == [16]byte{} }},
	{name: "link-layer option", set: func(b []byte) { PutLinkLayer(b, NDTarget, MAC{}) },
		want: map[int]byte{0: 2, 1: 1, 2: 0, 3: 0, 4: 0, 5: 0, 6: 0, 7: 0}},
}

func TestARPOfARealPeer(t *testing.T) {
	b := golden(t)["arp_request"]
	arp, ok := AsARP(b[EthernetLen:])
	if !ok || arp.Operation() != ARPRequest ||
		arp.SenderMAC().String() != "52:54:00:00:00:02" || arp.TargetMAC() != (MAC{}) ||
		arp.SenderIP() != [4]byte{10, 9, 0, 2} || arp.TargetIP() != [4]byte{10, 9, 0, 1} {
		t.Fatalf("arp: % x", b)
	}
	var built ARP
	built.Init()
	built.SetOperation(ARPRequest)
	built.SetSenderMAC(arp.SenderMAC())
	built.SetSenderIP(arp.SenderIP())
	built.SetTargetIP(arp.TargetIP())
	if built != *arp {
		t.Errorf("built % x\nwant % x", built, *arp)
	}
	if _, ok := AsARP(b[EthernetLen : EthernetLen+ARPLen-1]); ok {
		t.Error("27 bytes are an ARP packet")
	}
	for i := range 6 {
		other := built
		other[i]++
		if _, ok := AsARP(other[:]); ok {
			t.Errorf("byte %d: a packet for other addresses is read", i)
		}
	}
}

// TestAsksFor: an ARP request for the address, of a real peer, and nothing that differs from it
// where it counts.
func TestAsksFor(t *testing.T) {
	request, ip := golden(t)["arp_request"], netip.MustParseAddr("10.9.0.1")
	if !AsksFor(request, ip) || AsksFor(request, ip.Next()) || AsksFor(request, netip.Addr{}) ||
		AsksFor(request, netip.IPv6Unspecified()) || AsksFor(request[:41], ip) || AsksFor(nil, ip) {
		t.Error("a request is for 10.9.0.1 and for nobody else")
	}
	for i := range EthernetLen + ARPLen {
		b := slices.Clone(request)
		b[i] ^= 0x10
		free := i < 12 || i >= 22 && i < 38 // addresses, but for the one that is asked for
		if AsksFor(b, ip) != free {
			t.Errorf("with another byte %d it is a request: %v", i, !free)
		}
	}
}

// TestEchoReply: what changes an echo request into its reply leaves a right checksum behind.
func TestEchoReply(t *testing.T) {
	b := golden(t)["icmp_echo"]
	message := b[EthernetLen+IPv4Len:]
	icmp, ok := AsICMP(message)
	if !ok || icmp.Type() != ICMPEcho || icmp.Code() != 0 || ICMPChecksum(message) != 0 {
		t.Fatalf("% x", message)
	}
	icmp.SetType(ICMPEchoReply)
	if icmp.Type() != ICMPEchoReply || ICMPChecksum(message) != 0 {
		t.Errorf("after SetType: % x", message)
	}
}

// solicitation is a neighbour solicitation for fe80::2 from fe80::1.
func solicitation() []byte {
	b := make([]byte, EthernetLen+IPv6Len+NDLen+LinkLayerLen)
	eth := (*Ethernet)(b)
	eth.SetDst(MAC{0x33, 0x33, 0xff, 0, 0, 2})
	eth.SetSrc(MAC{2, 0, 0, 0, 0, 1})
	eth.SetType(TypeIPv6)
	ip := (*IPv6)(b[EthernetLen:])
	ip.Init()
	ip.SetPayloadLen(NDLen + LinkLayerLen)
	ip.SetNextHeader(ProtoICMPv6)
	ip.SetHopLimit(255)
	ip.SetSrc([16]byte{0xfe, 0x80, 15: 1})
	ip.SetDst([16]byte{0xff, 2, 11: 1, 12: 0xff, 15: 2})
	message := b[EthernetLen+IPv6Len:]
	nd := (*ND)(message)
	nd.Init(ICMPv6Solicit)
	nd.SetTarget([16]byte{0xfe, 0x80, 15: 2})
	PutLinkLayer(message[NDLen:], NDSource, MAC{2, 0, 0, 0, 0, 1})
	(*ICMP)(message).SetChecksum(ICMPv6Checksum(ip, message))
	return b
}

// TestTsharkReadsSolicitations is a second opinion, the checksum included.
func TestTsharkReadsSolicitations(t *testing.T) {
	require.Tool(t, "tshark")
	got := tshark(t, solicitation(), []string{"icmpv6.type", "icmpv6.nd.ns.target_address",
		"icmpv6.opt.src_linkaddr", "icmpv6.checksum.status"})
	if want := "135 fe80::2 02:00:00:00:00:01 1"; got != want {
		t.Errorf("tshark reads %q, want %q", got, want)
	}
}

func TestICMPv6Checksum(t *testing.T) {
	b := solicitation()
	ip, message := (*IPv6)(b[EthernetLen:]), b[EthernetLen+IPv6Len:]
	if ICMPv6Checksum(ip, message) != 0 {
		t.Error("the checksum over the whole message is not zero")
	}
	message[NDLen+7]++
	if ICMPv6Checksum(ip, message) == 0 {
		t.Error("a changed message has the same checksum")
	}
	if ICMPChecksum([]byte{1}) != ^uint16(0x0100) {
		t.Error("an odd byte does not count as the upper one")
	}
}

func TestLinkLayer(t *testing.T) {
	source := []byte{1, 1, 2, 0, 0, 0, 0, 1}
	target := []byte{2, 1, 2, 0, 0, 0, 0, 2}
	long := make([]byte, 16)
	long[0], long[1] = 2, 2 // an option of this type, but not Ethernet's length
	for _, c := range []struct {
		name      string
		options   []byte
		want      MAC
		ok, valid bool
	}{
		{"none", nil, MAC{}, false, true},
		{"other", source, MAC{}, false, true},
		{"first", target, MAC{2, 0, 0, 0, 0, 2}, true, true},
		{"second", append(source[:8:8], target...), MAC{2, 0, 0, 0, 0, 2}, true, true},
		{"long", long, MAC{}, false, true},
		{"cut", target[:7], MAC{}, false, false},
		{"one byte", target[:1], MAC{}, false, false},
		{"no length", []byte{2, 0, 0, 0, 0, 0, 0, 0}, MAC{}, false, false},
		{"then cut", append(target[:8:8], 1), MAC{}, false, false},
	} {
		got, ok, valid := LinkLayer(c.options, NDTarget)
		if got != c.want || ok != c.ok || valid != c.valid {
			t.Errorf("%s: %v %v %v", c.name, got, ok, valid)
		}
	}
}

// FuzzLinkLayer: no panic, and an address is found only in options that are valid.
func FuzzLinkLayer(f *testing.F) {
	f.Add(solicitation()[EthernetLen+IPv6Len+NDLen:])
	f.Add([]byte{2, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if mac, ok, valid := LinkLayer(b, NDSource); (ok && !valid) || (!ok && mac != MAC{}) {
			t.Errorf("% x: %v %v %v", b, mac, ok, valid)
		}
	})
}

// RFC 826, "Packet format", written out: who has 10.0.0.2, tell 10.0.0.1.
func TestARPFrame(t *testing.T) {
	got := ARPFrame(ARPRequest, Broadcast, Station{MAC{2, 0, 0, 0, 0, 1}, [4]byte{10, 0, 0, 1}},
		Station{MAC{2, 0, 0, 0, 0, 2}, [4]byte{10, 0, 0, 2}})
	want := [MinFrame]byte{
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0x08, 0x06, // Ethernet
		0, 1, 0x08, 0x00, 6, 4, 0, 1, // types, lengths, request
		2, 0, 0, 0, 0, 1, 10, 0, 0, 1, // sender
		2, 0, 0, 0, 0, 2, 10, 0, 0, 2, // target
	}
	if got != want {
		t.Errorf("%x, want %x", got, want)
	}
}
