package wire

import (
	"strings"
	"testing"

	"github.com/rocelab/rocelab/tests/require"
	second "github.com/rocelab/rocelab/tests/tshark"
)

// TestTsharkReadsWhatWeBuild is a second opinion on every header that no captured frame has.
func TestTsharkReadsWhatWeBuild(t *testing.T) {
	require.Tool(t, "tshark")
	for _, c := range []struct {
		name   string
		frame  []byte
		fields string
		want   string
	}{
		{"pfc", pfcFrame(),
			"macc.opcode macc.cbfc.enbv.c3 macc.cbfc.enbv.c4 macc.cbfc.pause_time.c3",
			"0x0101 1 0 4660"},
		{"vlan6", taggedIPv6(), "vlan.priority vlan.id ipv6.tclass.dscp ipv6.tclass.ecn " +
			"ipv6.flow ipv6.hlim ipv6.dst udp.dstport", "5 291 26 2 0x012345 64 fe80::2 4791"},
	} {
		got := tshark(t, c.frame, strings.Fields(c.fields))
		if got != c.want {
			t.Errorf("%s: tshark reads %q, want %q", c.name, got, c.want)
		}
	}
}

func pfcFrame() []byte {
	var f ControlFrame
	f.Init(MAC{2, 0, 0, 0, 0, 1}, OpPFC)
	f.PFC().SetEnabled(1 << 3)
	f.PFC().SetQuanta(3, 0x1234)
	return f[:]
}

func taggedIPv6() []byte {
	b := make([]byte, 14+4+40+8+16)
	eth := (*Ethernet)(b)
	eth.SetDst(MAC{2, 0, 0, 0, 0, 2})
	eth.SetSrc(MAC{2, 0, 0, 0, 0, 1})
	eth.SetType(TypeVLAN)
	tag := (*Tag)(b[14:])
	tag.SetPCP(5)
	tag.SetVID(0x123)
	tag.SetType(TypeIPv6)
	ip := (*IPv6)(b[18:])
	ip.Init()
	ip.SetDSCP(26)
	ip.SetECN(ECT0)
	ip.SetFlowLabel(0x12345)
	ip.SetPayloadLen(24)
	ip.SetNextHeader(ProtoUDP)
	ip.SetHopLimit(64)
	ip.SetSrc([16]byte{0: 0xfe, 1: 0x80, 15: 1})
	ip.SetDst([16]byte{0: 0xfe, 1: 0x80, 15: 2})
	udp := (*UDP)(b[58:])
	udp.SetSrcPort(50000)
	udp.SetDstPort(PortRoCE)
	udp.SetLen(24)
	return b
}

// tshark decodes one frame and returns the fields with blanks between them.
func tshark(t *testing.T, frame []byte, fields []string) string {
	t.Helper()
	return second.Fields(t, frame, fields...)
}
