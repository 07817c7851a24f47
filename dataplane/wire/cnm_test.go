package wire

import (
	"strings"
	"testing"

	"github.com/rocelab/rocelab/tests/require"
)

var cnmSetters = []setter{
	{name: "flow", set: func(b []byte) { (*CNTag)(b).SetFlow(0x0102) },
		want: map[int]byte{0: 1, 1: 2},
		read: func(b []byte) bool { return (*CNTag)(b).Flow() == 0x102 }},
	{name: "cn-tag type", set: func(b []byte) { (*CNTag)(b).SetType(TypeCNM) },
		want: map[int]byte{2: 0x22, 3: 0xe7},
		read: func(b []byte) bool { return (*CNTag)(b).Type() == TypeCNM }},
	{name: "feedback", set: func(b []byte) { (*CNM)(b).SetFeedback(0x15) },
		want: map[int]byte{1: 0xd5},
		read: func(b []byte) bool { return (*CNM)(b).Feedback() == 0x15 }},
	{name: "cpid", set: func(b []byte) { (*CNM)(b).SetCPID(NewCPID(MAC{1, 2, 3, 4, 5, 6}, 7)) },
		want: map[int]byte{2: 1, 3: 2, 4: 3, 5: 4, 6: 5, 7: 6, 8: 0, 9: 7},
		read: func(b []byte) bool { return (*CNM)(b).CPID().String() == "01:02:03:04:05:06/7" }},
	{name: "qoffset", set: func(b []byte) { (*CNM)(b).SetQOffset(-2) },
		want: map[int]byte{11: 0xfe},
		read: func(b []byte) bool { return (*CNM)(b).QOffset() == -2 }},
	{name: "qdelta", set: func(b []byte) { (*CNM)(b).SetQDelta(0x0102) },
		want: map[int]byte{12: 1, 13: 2},
		read: func(b []byte) bool { return (*CNM)(b).QDelta() == 0x102 }},
	{name: "cnm priority", set: func(b []byte) { (*CNM)(b).SetPriority(3) },
		want: map[int]byte{14: 0x7f},
		read: func(b []byte) bool { return (*CNM)(b).Priority() == 3 }},
	{name: "cnm dst", set: func(b []byte) { (*CNM)(b).SetDst(MAC{}) }, want: zeros(16, 6),
		read: func(b []byte) bool { return (*CNM)(b).Dst() == MAC{} }},
	{name: "msdu length", set: func(b []byte) { (*CNM)(b).SetMSDULen(64) },
		want: map[int]byte{22: 0, 23: 64},
		read: func(b []byte) bool { return (*CNM)(b).MSDULen() == 64 }},
}

// cnmFrame is a CNM for flow 0x1234 with a VLAN tag, and the first bytes of an IPv4 packet in it.
func cnmFrame() []byte {
	const at = EthernetLen + TagLen + CNTagLen
	b := make([]byte, at+CNMLen+16)
	eth := (*Ethernet)(b)
	eth.SetDst(MAC{2, 0, 0, 0, 0, 1})
	eth.SetSrc(MAC{2, 0, 0, 0, 0, 0xfe})
	eth.SetType(TypeVLAN)
	tag := (*Tag)(b[EthernetLen:])
	tag.SetPCP(6)
	tag.SetVID(0x123)
	tag.SetType(TypeCNTag)
	cn := (*CNTag)(b[EthernetLen+TagLen:])
	cn.SetFlow(0x1234)
	cn.SetType(TypeCNM)
	m := (*CNM)(b[at:])
	m.Init()
	m.SetFeedback(63)
	m.SetCPID(NewCPID(eth.Src(), 3))
	m.SetQOffset(CNMUnits(-33_000))
	m.SetQDelta(CNMUnits(66_000))
	m.SetPriority(3)
	m.SetDst(MAC{2, 0, 0, 0, 0, 2})
	m.SetMSDULen(16)
	copy(b[at+CNMLen:], []byte{8, 0, 0x45, 0, 0, 0x30})
	return b
}

// TestCNMLayout is IEEE 802.1Q-2022 33.2 and 33.4 byte by byte.
func TestCNMLayout(t *testing.T) {
	b := cnmFrame()
	want := "\x02\x00\x00\x00\x00\x01" + "\x02\x00\x00\x00\x00\xfe" + "\x81\x00\xc1\x23" +
		"\x22\xe9\x12\x34" + "\x22\xe7" +
		"\x00\x3f" + // version 0, reserved, feedback 63
		"\x02\x00\x00\x00\x00\xfe\x00\x03" + // CPID
		"\xfd\xfd" + "\x04\x07" + // -515 and 1031 units of 64 bytes
		"\x60\x00" + "\x02\x00\x00\x00\x00\x02" + "\x00\x10" + // priority, destination, length
		"\x08\x00\x45\x00\x00\x30"
	if got := string(b); !strings.HasPrefix(got, want) {
		t.Errorf("% x\nwant % x", got, want)
	}
	at := len(b) - CNMLen - 16
	m, ok := AsCNM(b[at:])
	if !ok || m.Version() != 0 || m.CPID().Queue() != 3 {
		t.Errorf("read back: % x", m)
	}
	if _, ok := AsCNM(b[at : len(b)-1]); ok {
		t.Error("a message without all of its MSDU is read")
	}
	m.SetMSDULen(65)
	if _, ok := AsCNM(append(b[at:], make([]byte, 64)...)); ok {
		t.Error("a message with 65 bytes of MSDU is read")
	}
}

func TestCNMUnits(t *testing.T) {
	for n, want := range map[int64]int16{0: 0, 63: 0, 64: 1, -64: -1, 1 << 40: 32767,
		-1 << 40: -32768} {
		if got := CNMUnits(n); got != want {
			t.Errorf("%d bytes: %d, want %d", n, got, want)
		}
	}
}

// TestTsharkReadsCNM: tshark does not know the message, so it shows the type and says nothing
// about malformed frames. It does not know CN-TAGs either.
func TestTsharkReadsCNM(t *testing.T) {
	require.Tool(t, "tshark")
	tagged := cnmFrame()
	plain := append(append([]byte{}, tagged[:12]...), tagged[EthernetLen+TagLen+2:]...)
	for _, c := range []struct {
		name, want string
		frame      []byte
	}{
		{"tagged", "0x8100 6 291 0x22e9", tagged},
		{"plain", "0x22e7", plain},
	} {
		got := tshark(t, c.frame, []string{"eth.type", "vlan.priority", "vlan.id", "vlan.etype",
			"_ws.expert.message"})
		if got != c.want {
			t.Errorf("%s: tshark reads %q, want %q", c.name, got, c.want)
		}
	}
}

// FuzzCNM: a message that is read has all of its MSDU, and no accessor panics.
func FuzzCNM(f *testing.F) {
	b := cnmFrame()
	f.Add(b[EthernetLen+TagLen+CNTagLen:])
	f.Add(b[EthernetLen+TagLen:])
	f.Fuzz(func(t *testing.T, b []byte) {
		if tag, ok := AsCNTag(b); ok {
			_, _ = tag.Flow(), tag.Type().String()
		}
		m, ok := AsCNM(b)
		if !ok {
			return
		}
		if n := m.MSDULen(); n > CNMMaxMSDU || CNMLen+n > len(b) {
			t.Errorf("%d bytes of MSDU in %d", n, len(b))
		}
		fb, p := m.Feedback(), m.Priority()
		m.SetFeedback(fb)
		m.SetPriority(p)
		if m.Feedback() != fb || fb > 63 || m.Priority() != p || p > 7 {
			t.Errorf("feedback %d, priority %d", fb, p)
		}
		_, _, _, _ = m.QOffset(), m.QDelta(), m.Dst(), m.CPID().String()
	})
}
