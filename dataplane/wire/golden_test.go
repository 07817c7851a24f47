package wire

import (
	"bufio"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// golden reads testdata/frames.txt.
func golden(t testing.TB) map[string][]byte {
	t.Helper()
	f, err := os.Open("testdata/frames.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	frames := map[string][]byte{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, text, ok := strings.Cut(lines.Text(), " ")
		if !ok || name == "#" {
			continue
		}
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		frames[name] = b
	}
	return frames
}

func TestRoCEFrameOfARealPeer(t *testing.T) {
	b := golden(t)["rc_ack"]
	eth, ok := AsEthernet(b)
	if !ok || eth.Type() != TypeIPv4 || eth.Dst().String() != "52:54:00:00:00:02" ||
		eth.Src().String() != "52:54:00:00:00:01" {
		t.Fatalf("ethernet: %v %v %v", eth.Dst(), eth.Src(), eth.Type())
	}
	ip, ok := AsIPv4(b[EthernetLen:])
	if !ok || ip.Version() != 4 || ip.HeaderLen() != 20 || ip.TotalLen() != 48 ||
		ip.ID() != 0x3bb5 || !ip.DontFragment() || ip.MoreFragments() ||
		ip.FragmentOffset() != 0 || ip.TTL() != 64 ||
		ip.Protocol() != ProtoUDP || ip.Src() != [4]byte{10, 9, 0, 1} ||
		ip.Dst() != [4]byte{10, 9, 0, 2} {
		t.Fatalf("ipv4: % x", *ip)
	}
	udp, ok := AsUDP(b[EthernetLen+IPv4Len:])
	if !ok || udp.SrcPort() != 49441 || udp.DstPort() != PortRoCE || udp.Len() != 28 ||
		udp.Checksum() != 0 {
		t.Fatalf("udp: % x", *udp)
	}
}

func TestHeaderChecksumOfARealPeer(t *testing.T) {
	for name, b := range golden(t) {
		if name == "arp_request" {
			continue
		}
		ip, _ := AsIPv4(b[EthernetLen:])
		want := ip.Checksum()
		if HeaderChecksum(ip[:]) != 0 {
			t.Errorf("%s: checksum over the whole header is not zero", name)
		}
		ip.SetChecksum(0x1234)
		if ip.UpdateChecksum(); ip.Checksum() != want {
			t.Errorf("%s: checksum %04x, the peer sent %04x", name, ip.Checksum(), want)
		}
	}
}

// TestIncrementalChecksum compares RFC 1624 with computing anew, for every value of the fields
// that change on the way.
func TestIncrementalChecksum(t *testing.T) {
	b := golden(t)["rc_send_only"]
	ip, _ := AsIPv4(b[EthernetLen:])
	fresh := func(what string, v int) {
		t.Helper()
		if HeaderChecksum(ip[:]) != 0 {
			t.Fatalf("%s %d: checksum %04x is wrong", what, v, ip.Checksum())
		}
	}
	for v := range 256 {
		ip.SetTTL(uint8(v))
		fresh("ttl", v)
		ip.SetDSCP(uint8(v) >> 2)
		fresh("dscp", v)
		ip.SetECN(ECN(v & 3))
		fresh("ecn", v)
		if ip.TTL() != uint8(v) || ip.DSCP() != uint8(v)>>2 || ip.ECN() != ECN(v&3) {
			t.Fatalf("%d: read back ttl %d dscp %d ecn %v", v, ip.TTL(), ip.DSCP(), ip.ECN())
		}
	}
}

func TestControlFrame(t *testing.T) {
	var f ControlFrame
	f.Init(MAC{2, 0, 0, 0, 0, 9}, OpPFC)
	f.PFC().SetEnabled(0x08)
	f.PFC().SetQuanta(3, MaxQuanta)
	want := "0180c2000001" + "020000000009" + "8808" + "0101" + "0008" +
		"000000000000ffff0000000000000000"
	want += strings.Repeat("00", 60-len(want)/2)
	if got := hex.EncodeToString(f[:]); got != want {
		t.Errorf("PFC frame\n got %s\nwant %s", got, want)
	}
	f.Init(MAC{2, 0, 0, 0, 0, 9}, OpPause)
	f.Pause().SetQuanta(0x1234)
	want = "0180c2000001" + "020000000009" + "8808" + "0001" + "1234"
	want += strings.Repeat("00", 60-len(want)/2)
	if got := hex.EncodeToString(f[:]); got != want {
		t.Errorf("PAUSE frame\n got %s\nwant %s", got, want)
	}
}

func TestOnLine(t *testing.T) {
	if OnLine(1500) != 1524 || OnLine(10) != 84 || Overhead != 24 {
		t.Errorf("on line: %d %d %d", OnLine(1500), OnLine(10), Overhead)
	}
}
