package wire

import "testing"

// setter is one setter with the bits it may move, as mask bytes by offset, and a reader.
type setter struct {
	name string
	set  func(b []byte)
	want map[int]byte // bytes that must have changed from all ones, and to what
	free map[int]bool // bytes that may hold anything: an adjusted checksum
	read func(b []byte) bool
}

// TestSettersLeaveNeighboursAlone sets each field in a header of all ones and looks at every
// other bit.
func TestSettersLeaveNeighboursAlone(t *testing.T) {
	all := [][]setter{ethernetSetters, ipv4Setters, ipv6Setters, udpSetters, controlSetters,
		cnmSetters, telemetrySetters, arpSetters, icmpSetters}
	for _, group := range all {
		for _, s := range group {
			b := make([]byte, 64)
			for i := range b {
				b[i] = 0xff
			}
			s.set(b)
			for i, got := range b {
				want, moved := s.want[i]
				if !moved {
					want = 0xff
				}
				if got != want && !s.free[i] {
					t.Errorf("%s: byte %d is %02x, want %02x", s.name, i, got, want)
				}
			}
			if s.read != nil && !s.read(b) {
				t.Errorf("%s: does not read back", s.name)
			}
		}
	}
}

var ethernetSetters = []setter{
	{name: "dst", set: func(b []byte) { (*Ethernet)(b).SetDst(MAC{1, 2, 3, 4, 5, 6}) },
		want: map[int]byte{0: 1, 1: 2, 2: 3, 3: 4, 4: 5, 5: 6},
		read: func(b []byte) bool { return (*Ethernet)(b).Dst() == MAC{1, 2, 3, 4, 5, 6} }},
	{name: "src", set: func(b []byte) { (*Ethernet)(b).SetSrc(MAC{1, 2, 3, 4, 5, 6}) },
		want: map[int]byte{6: 1, 7: 2, 8: 3, 9: 4, 10: 5, 11: 6},
		read: func(b []byte) bool { return (*Ethernet)(b).Src() == MAC{1, 2, 3, 4, 5, 6} }},
	{name: "type", set: func(b []byte) { (*Ethernet)(b).SetType(TypeMACControl) },
		want: map[int]byte{12: 0x88, 13: 0x08},
		read: func(b []byte) bool { return (*Ethernet)(b).Type() == TypeMACControl }},
	{name: "pcp", set: func(b []byte) { (*Tag)(b).SetPCP(3) }, want: map[int]byte{0: 0x7f},
		read: func(b []byte) bool { return (*Tag)(b).PCP() == 3 }},
	{name: "dei", set: func(b []byte) { (*Tag)(b).SetDEI(false) }, want: map[int]byte{0: 0xef},
		read: func(b []byte) bool { return !(*Tag)(b).DEI() }},
	{name: "vid", set: func(b []byte) { (*Tag)(b).SetVID(0x123) },
		want: map[int]byte{0: 0xf1, 1: 0x23},
		read: func(b []byte) bool { return (*Tag)(b).VID() == 0x123 }},
	{name: "tag type", set: func(b []byte) { (*Tag)(b).SetType(TypeIPv4) },
		want: map[int]byte{2: 8, 3: 0},
		read: func(b []byte) bool { return (*Tag)(b).Type() == TypeIPv4 }},
}

var checksumBytes = map[int]bool{10: true, 11: true}

var ipv4Setters = []setter{
	{name: "dscp", set: func(b []byte) { (*IPv4)(b).SetDSCP(26) },
		want: map[int]byte{1: 0x6b}, free: checksumBytes,
		read: func(b []byte) bool { return (*IPv4)(b).DSCP() == 26 && (*IPv4)(b).ECN() == CE }},
	{name: "ecn", set: func(b []byte) { (*IPv4)(b).SetECN(ECT0) },
		want: map[int]byte{1: 0xfe}, free: checksumBytes,
		read: func(b []byte) bool { return (*IPv4)(b).ECN() == ECT0 && (*IPv4)(b).DSCP() == 63 }},
	{name: "total length", set: func(b []byte) { (*IPv4)(b).SetTotalLen(0x0123) },
		want: map[int]byte{2: 1, 3: 0x23},
		read: func(b []byte) bool { return (*IPv4)(b).TotalLen() == 0x123 }},
	{name: "id", set: func(b []byte) { (*IPv4)(b).SetID(0x0123) },
		want: map[int]byte{4: 1, 5: 0x23},
		read: func(b []byte) bool { return (*IPv4)(b).ID() == 0x123 }},
	{name: "df", set: func(b []byte) { (*IPv4)(b).SetDontFragment(false) },
		want: map[int]byte{6: 0xbf},
		read: func(b []byte) bool { return !(*IPv4)(b).DontFragment() }},
	{name: "ttl", set: func(b []byte) { (*IPv4)(b).SetTTL(7) },
		want: map[int]byte{8: 7}, free: checksumBytes,
		read: func(b []byte) bool { return (*IPv4)(b).TTL() == 7 }},
	{name: "protocol", set: func(b []byte) { (*IPv4)(b).SetProtocol(17) },
		want: map[int]byte{9: 17},
		read: func(b []byte) bool { return (*IPv4)(b).Protocol() == 17 }},
	{name: "checksum", set: func(b []byte) { (*IPv4)(b).SetChecksum(0x0102) },
		want: map[int]byte{10: 1, 11: 2},
		read: func(b []byte) bool { return (*IPv4)(b).Checksum() == 0x0102 }},
	{name: "src", set: func(b []byte) { (*IPv4)(b).SetSrc([4]byte{1, 2, 3, 4}) },
		want: map[int]byte{12: 1, 13: 2, 14: 3, 15: 4},
		read: func(b []byte) bool { return (*IPv4)(b).Src() == [4]byte{1, 2, 3, 4} }},
	{name: "dst", set: func(b []byte) { (*IPv4)(b).SetDst([4]byte{1, 2, 3, 4}) },
		want: map[int]byte{16: 1, 17: 2, 18: 3, 19: 4},
		read: func(b []byte) bool { return (*IPv4)(b).Dst() == [4]byte{1, 2, 3, 4} }},
}

var ipv6Setters = []setter{
	{name: "dscp6", set: func(b []byte) { (*IPv6)(b).SetDSCP(0x15) },
		want: map[int]byte{0: 0xf5, 1: 0x7f},
		read: func(b []byte) bool { return (*IPv6)(b).DSCP() == 0x15 && (*IPv6)(b).ECN() == CE }},
	{name: "ecn6", set: func(b []byte) { (*IPv6)(b).SetECN(ECT1) }, want: map[int]byte{1: 0xdf},
		read: func(b []byte) bool { return (*IPv6)(b).ECN() == ECT1 }},
	{name: "flow label", set: func(b []byte) { (*IPv6)(b).SetFlowLabel(0x12345) },
		want: map[int]byte{1: 0xf1, 2: 0x23, 3: 0x45},
		read: func(b []byte) bool { return (*IPv6)(b).FlowLabel() == 0x12345 }},
	{name: "payload", set: func(b []byte) { (*IPv6)(b).SetPayloadLen(0x0123) },
		want: map[int]byte{4: 1, 5: 0x23},
		read: func(b []byte) bool { return (*IPv6)(b).PayloadLen() == 0x123 }},
	{name: "next header", set: func(b []byte) { (*IPv6)(b).SetNextHeader(17) },
		want: map[int]byte{6: 17},
		read: func(b []byte) bool { return (*IPv6)(b).NextHeader() == 17 }},
	{name: "hop limit", set: func(b []byte) { (*IPv6)(b).SetHopLimit(9) }, want: map[int]byte{7: 9},
		read: func(b []byte) bool { return (*IPv6)(b).HopLimit() == 9 }},
	{name: "src6", set: func(b []byte) { (*IPv6)(b).SetSrc([16]byte{}) }, want: zeros(8, 16),
		read: func(b []byte) bool { return (*IPv6)(b).Src() == [16]byte{} }},
	{name: "dst6", set: func(b []byte) { (*IPv6)(b).SetDst([16]byte{}) }, want: zeros(24, 16),
		read: func(b []byte) bool { return (*IPv6)(b).Dst() == [16]byte{} }},
}

var udpSetters = []setter{
	{name: "src port", set: func(b []byte) { (*UDP)(b).SetSrcPort(0x0102) },
		want: map[int]byte{0: 1, 1: 2},
		read: func(b []byte) bool { return (*UDP)(b).SrcPort() == 0x0102 }},
	{name: "dst port", set: func(b []byte) { (*UDP)(b).SetDstPort(0x0102) },
		want: map[int]byte{2: 1, 3: 2},
		read: func(b []byte) bool { return (*UDP)(b).DstPort() == 0x0102 }},
	{name: "udp length", set: func(b []byte) { (*UDP)(b).SetLen(0x0102) },
		want: map[int]byte{4: 1, 5: 2},
		read: func(b []byte) bool { return (*UDP)(b).Len() == 0x0102 }},
	{name: "udp checksum", set: func(b []byte) { (*UDP)(b).SetChecksum(0x0102) },
		want: map[int]byte{6: 1, 7: 2},
		read: func(b []byte) bool { return (*UDP)(b).Checksum() == 0x0102 }},
}

var controlSetters = []setter{
	{name: "enabled", set: func(b []byte) { (*PFC)(b).SetEnabled(0x81) },
		want: map[int]byte{3: 0x81},
		read: func(b []byte) bool { return (*PFC)(b).Enabled() == 0x81 }},
	{name: "quanta 0", set: func(b []byte) { (*PFC)(b).SetQuanta(0, 0x0102) },
		want: map[int]byte{4: 1, 5: 2},
		read: func(b []byte) bool { return (*PFC)(b).Quanta(0) == 0x0102 }},
	{name: "quanta 7", set: func(b []byte) { (*PFC)(b).SetQuanta(7, 0x0102) },
		want: map[int]byte{18: 1, 19: 2},
		read: func(b []byte) bool { return (*PFC)(b).Quanta(7) == 0x0102 }},
	{name: "pause", set: func(b []byte) { (*Pause)(b).SetQuanta(0x0102) },
		want: map[int]byte{2: 1, 3: 2},
		read: func(b []byte) bool { return (*Pause)(b).Quanta() == 0x0102 }},
}

func zeros(from, n int) map[int]byte {
	m := map[int]byte{}
	for i := range n {
		m[from+i] = 0
	}
	return m
}
