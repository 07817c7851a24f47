package classify

import (
	"strings"
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
)

// dcqcnMap has the DSCPs that RoCE deployments use.
func dcqcnMap() *Map {
	m := &Map{Default: 1}
	m.DSCP[26], m.DSCP[48], m.DSCP[3], m.DSCP[4] = 3, 6, 3, 4
	for i := range m.PCP {
		m.PCP[i] = uint8(7 - i)
	}
	return m
}

type packet = wiretest.Packet

var vlan5 = []wiretest.Tag{{Type: wire.TypeVLAN, PCP: 5, VID: 9}}
var twoTags = []wiretest.Tag{
	{Type: wire.TypeSTag, PCP: 2, VID: 9}, {Type: wire.TypeVLAN, PCP: 5, VID: 9}}

// flowTags are a VLAN tag and a CN-TAG for flow 0x234.
var flowTags = []wiretest.Tag{{Type: wire.TypeVLAN, PCP: 5}, {Type: wire.TypeCNTag, VID: 0x234}}

var threeTags = append(twoTags[:2:2], wiretest.Tag{Type: wire.TypeVLAN})

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		name  string
		frame []byte
		want  frame.Class // without the hash
	}{
		{"roce4", packet{DSCP: 26, ECN: wire.ECT0, Payload: 20}.Bytes(),
			frame.Class{Kind: frame.RoCE4, TC: 3, ECN: wire.ECT0, L3Off: 14, L4Off: 34, DSCP: 26}},
		{"roce6", packet{V6: true, DSCP: 48, ECN: wire.CE, Payload: 20}.Bytes(),
			frame.Class{Kind: frame.RoCE6, TC: 6, ECN: wire.CE, L3Off: 14, L4Off: 54, DSCP: 48}},
		{"options", packet{DSCP: 26, Options: 40, Payload: 4}.Bytes(),
			frame.Class{Kind: frame.RoCE4, TC: 3, L3Off: 14, L4Off: 74, DSCP: 26}},
		{"one tag", packet{Tags: vlan5, DSCP: 26}.Bytes(),
			frame.Class{Kind: frame.RoCE4, TC: 3, L3Off: 18, L4Off: 38, DSCP: 26}},
		{"two tags", packet{Tags: twoTags, V6: true}.Bytes(),
			frame.Class{Kind: frame.RoCE6, L3Off: 22, L4Off: 62}},
		{"three tags", packet{Tags: threeTags}.Bytes(), frame.Class{Kind: frame.Other, TC: 1}},
		{"other UDP", packet{DstPort: 53}.Bytes(),
			frame.Class{Kind: frame.IPv4, L3Off: 14, L4Off: 34}},
		{"TCP", packet{Proto: wire.ProtoTCP, V6: true}.Bytes(),
			frame.Class{Kind: frame.IPv6, L3Off: 14, L4Off: 54}},
		{"ICMP", packet{Proto: wire.ProtoICMP, Payload: 8}.Bytes(),
			frame.Class{Kind: frame.IPv4, L3Off: 14}},
		{"first fragment", packet{More: true, Payload: 64}.Bytes(),
			frame.Class{Kind: frame.IPv4, L3Off: 14}},
		{"last fragment", packet{Offset: 9, Payload: 64}.Bytes(),
			frame.Class{Kind: frame.IPv4, L3Off: 14}},
		{"padding", append(packet{DSCP: 3}.Bytes(), make([]byte, 18)...),
			frame.Class{Kind: frame.RoCE4, TC: 3, L3Off: 14, L4Off: 34, DSCP: 3}},
		{"pfc", wiretest.PFC(1, map[uint8]uint16{3: 9}), frame.Class{Kind: frame.PFC, TC: 1}},
		{"pause", ethernet(wire.TypeMACControl, 0, 1, 0, 9), frame.Class{Kind: frame.Pause, TC: 1}},
		{"other control", ethernet(wire.TypeMACControl, 0, 2, 0, 0),
			frame.Class{Kind: frame.MACControl, TC: 1}},
		{"tagged control", ethernet(wire.TypeVLAN, 0, 0, 0x88, 0x08, 0, 1, 0, 9),
			frame.Class{Kind: frame.Other, TC: 1}},
		{"cnm", ethernet(wire.TypeCNM), frame.Class{Kind: frame.CNM, TC: 1}},
		{"cnm with flow", ethernet(wire.TypeCNTag, 0x12, 0x34, 0x22, 0xe7),
			frame.Class{Kind: frame.CNM, TC: 1}},
		{"cn-tag", packet{DSCP: 26, Tags: flowTags[1:]}.Bytes(),
			frame.Class{Kind: frame.RoCE4, TC: 3, L3Off: 18, L4Off: 38, DSCP: 26}},
		{"vlan and cn-tag", packet{DSCP: 26, Tags: flowTags}.Bytes(),
			frame.Class{Kind: frame.RoCE4, TC: 3, L3Off: 22, L4Off: 42, DSCP: 26}},
		{"two cn-tags", packet{Tags: []wiretest.Tag{flowTags[1], flowTags[1]}}.Bytes(),
			frame.Class{Kind: frame.Other, TC: 1}},
		{"cut cn-tag", ethernet(wire.TypeCNTag, 0x12, 0x34, 0x22), frame.Class{
			Kind: frame.Malformed, TC: 1}},
		{"control behind a cn-tag", ethernet(wire.TypeCNTag, 0, 0, 0x88, 0x08, 0, 1, 0, 9),
			frame.Class{Kind: frame.Other, TC: 1}},
		{"arp", ethernet(wire.TypeARP), frame.Class{Kind: frame.Other, TC: 1}},
	} {
		got := dcqcnMap().Classify(c.frame)
		isIP := c.want.L3Off != 0
		if (got.Hash != 0) != isIP {
			t.Errorf("%s: hash %08x", c.name, got.Hash)
		}
		if got.Hash = 0; got != c.want {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

// ethernet is a frame with this type and body.
func ethernet(t wire.EtherType, body ...byte) []byte {
	b := make([]byte, wire.EthernetLen, wire.EthernetLen+len(body))
	(*wire.Ethernet)(b).SetType(t)
	return append(b, body...)
}

// TestContradictions breaks one length or version of a good frame at a time.
func TestContradictions(t *testing.T) {
	four := packet{Payload: 20}
	six := packet{V6: true, Payload: 20}
	for _, c := range []struct {
		name  string
		from  packet
		wrong func(b []byte)
	}{
		{"ipv4 version", four, func(b []byte) { b[14] = 0x55 }},
		{"header shorter than 20", four, func(b []byte) { b[14] = 0x44 }},
		{"header beyond total length", four, func(b []byte) { b[14] = 0x4f }},
		{"total length beyond the frame", four, func(b []byte) { b[17]++ }},
		{"total length within the header", four, func(b []byte) { b[17] = 19 }},
		{"total length within the UDP header", four, func(b []byte) { b[17] = 27 }},
		{"UDP length beyond the packet", four, func(b []byte) { b[39]++ }},
		{"UDP length under 8", four, func(b []byte) { b[39] = 7 }},
		{"TCP header cut", packet{Proto: wire.ProtoTCP}, func(b []byte) { b[17] = 39 }},
		{"ipv6 version", six, func(b []byte) { b[14] = 0x40 }},
		{"payload beyond the frame", six, func(b []byte) { b[19]++ }},
		{"payload within the UDP header", six, func(b []byte) { b[19] = 7 }},
		{"UDP6 length beyond the packet", six, func(b []byte) { b[59]++ }},
	} {
		b := c.from.Bytes()
		c.wrong(b)
		want := frame.Class{Kind: frame.Malformed, TC: 1}
		if got := dcqcnMap().Classify(b); got != want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestTruncation cuts frames at every length: what is left never shows more than is there.
func TestTruncation(t *testing.T) {
	for _, whole := range [][]byte{
		packet{Payload: 20, Options: 8}.Bytes(), packet{V6: true, Tags: twoTags}.Bytes(),
		packet{Proto: wire.ProtoTCP, Tags: vlan5}.Bytes(),
	} {
		for n := range whole {
			if got := dcqcnMap().Classify(whole[:n]); got.Kind != frame.Malformed {
				t.Errorf("%d of %d bytes: %v", n, len(whole), got.Kind)
			}
		}
	}
	pfc := wiretest.PFC(1, nil)
	for n := range wire.EthernetLen + wire.PFCLen {
		if got := dcqcnMap().Classify(pfc[:n]); got.Kind != frame.Malformed {
			t.Errorf("PFC of %d bytes: %v", n, got.Kind)
		}
	}
}

func TestTrust(t *testing.T) {
	for dscp := range uint8(64) {
		for ecn := range wire.ECN(4) {
			m := dcqcnMap()
			m.DSCP[dscp] = dscp & 7
			for _, v6 := range []bool{false, true} {
				got := m.Classify(packet{V6: v6, DSCP: dscp, ECN: ecn}.Bytes())
				if got.TC != dscp&7 || got.DSCP != dscp || got.ECN != ecn {
					t.Fatalf("DSCP %d ECN %v: %+v", dscp, ecn, got)
				}
			}
		}
	}
	m := dcqcnMap()
	m.Trust = TrustPCP
	if got := m.Classify(packet{DSCP: 26}.Bytes()); got.TC != m.Default {
		t.Errorf("untagged frame under PCP trust: class %d", got.TC)
	}
	for pcp := range uint8(8) {
		tags := []wiretest.Tag{{Type: wire.TypeVLAN, PCP: pcp}}
		double := []wiretest.Tag{{Type: wire.TypeSTag, PCP: pcp}, {Type: wire.TypeVLAN, PCP: ^pcp}}
		for _, tagging := range [][]wiretest.Tag{tags, double} {
			if got := m.Classify(packet{Tags: tagging, DSCP: 26}.Bytes()); got.TC != 7-pcp {
				t.Errorf("PCP %d with %d tags: class %d", pcp, len(tagging), got.TC)
			}
		}
	}
}

func TestHash(t *testing.T) {
	hash := func(p packet) uint32 { return dcqcnMap().Classify(p.Bytes()).Hash }
	base := packet{Src: 1, Dst: 2, Payload: 64}
	same := base
	same.DSCP, same.ECN, same.ID, same.Payload, same.Tags = 26, wire.CE, 77, 9, vlan5
	if hash(base) != hash(same) {
		t.Error("the hash depends on more than the five-tuple")
	}
	seen := map[uint32]string{hash(base): "base"}
	for name, change := range map[string]func(p *packet){
		"source": func(p *packet) { p.Src++ }, "destination": func(p *packet) { p.Dst++ },
		"source port": func(p *packet) { p.SrcPort = 7 }, "port": func(p *packet) { p.DstPort = 7 },
		"protocol": func(p *packet) { p.Proto = wire.ProtoTCP },
		"fragment": func(p *packet) { p.More = true }, "family": func(p *packet) { p.V6 = true },
	} {
		p := base
		change(&p)
		if other, twice := seen[hash(p)]; twice {
			t.Errorf("%s hashes like %s", name, other)
		}
		seen[hash(p)] = name
	}
	first, rest := base, base
	first.More, rest.Offset = true, 100
	if hash(first) != hash(rest) {
		t.Error("fragments of one packet hash apart")
	}
}

// TestHashSpread fills 16 buckets with consecutive source ports, as ECMP does.
func TestHashSpread(t *testing.T) {
	var buckets [16]int
	for port := range uint16(4096) {
		buckets[dcqcnMap().Classify(packet{SrcPort: 49153 + port}.Bytes()).Hash%16]++
	}
	for i, n := range buckets {
		if n < 256*3/4 || n > 256*5/4 {
			t.Errorf("bucket %d has %d of 4096", i, n)
		}
	}
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(m *Map){
		"DSCP 7": func(m *Map) { m.DSCP[7] = 8 }, "PCP 2": func(m *Map) { m.PCP[2] = 9 },
		"default": func(m *Map) { m.Default = 255 },
	} {
		m := dcqcnMap()
		if err := m.Validate(); err != nil {
			t.Fatal(err)
		}
		change(m)
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
