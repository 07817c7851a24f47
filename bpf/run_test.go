package bpf

import (
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
	"github.com/rocelab/rocelab/tests/require"
)

// The verdicts of an XDP program. linux/bpf.h, enum xdp_action.
const (
	xdpDrop     = 1
	xdpPass     = 2
	xdpRedirect = 4
)

// minRun is the shortest frame that the kernel's test run takes: an Ethernet header.
const minRun = wire.EthernetLen

type packet = wiretest.Packet

// testMap gives every DSCP and PCP a class that tells them apart as well as eight can.
func testMap(trust classify.Trust) classify.Map {
	m := classify.Map{Trust: trust, Default: 1}
	for i := range m.DSCP {
		m.DSCP[i] = uint8(i*5+i/8) & 7
	}
	for i := range m.PCP {
		m.PCP[i] = uint8(7 - i)
	}
	return m
}

// load loads a program for the length of a test, with a socket on queue 0.
func loaded(t testing.TB, load func(PortConfig) (*Program, error), m classify.Map) *Program {
	t.Helper()
	return loadedAs(t, load, PortConfig{Map: m})
}

func loadedAs(t testing.TB, load func(PortConfig) (*Program, error), cfg PortConfig) *Program {
	t.Helper()
	require.Root(t)
	p, err := load(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	require.Feature(t, "xdp", err == nil, "the kernel has no AF_XDP sockets")
	t.Cleanup(func() { unix.Close(fd) })
	if err := p.XSKMap().Put(uint32(0), uint32(fd)); err != nil {
		t.Fatal(err)
	}
	return p
}

// result is what a program did with one frame.
type result struct {
	verdict uint32
	class   frame.Class
	arrived int64
	stamped bool
	frame   []byte
}

// run gives the program one frame, in the kernel, on receive queue 0.
func run(t testing.TB, p *Program, b []byte) result {
	t.Helper()
	out := make([]byte, MetaLen+len(b)+64)
	opts := ebpf.RunOptions{Data: b, DataOut: out}
	verdict, err := p.prog.Run(&opts)
	if err != nil {
		t.Fatalf("run over % x: %v", b, err)
	}
	r := result{verdict: verdict, frame: opts.DataOut}
	if len(opts.DataOut) == MetaLen+len(b) {
		r.class, r.arrived, r.stamped = DecodeMeta(opts.DataOut)
		r.frame = opts.DataOut[MetaLen:]
	}
	return r
}

// counters reads the counters, which must not fail.
func counters(t testing.TB, p *Program) Counters {
	t.Helper()
	c, err := p.Counters()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// other is a frame with this EtherType and body.
func other(typ wire.EtherType, body ...byte) []byte {
	b := make([]byte, wire.EthernetLen, wire.EthernetLen+len(body))
	(*wire.Ethernet)(b).SetType(typ)
	return append(b, body...)
}

var oneTag = []wiretest.Tag{{Type: wire.TypeVLAN, PCP: 5, VID: 9}}
var twoTags = []wiretest.Tag{
	{Type: wire.TypeSTag, PCP: 2, VID: 9}, {Type: wire.TypeVLAN, PCP: 5, VID: 9}}
var threeTags = append(twoTags[:2:2], wiretest.Tag{Type: wire.TypeVLAN})

// flowTags are two VLAN tags and a CN-TAG.
var flowTags = append(twoTags[:2:2], wiretest.Tag{Type: wire.TypeCNTag, VID: 0x234})

// kinds is one frame of every kind and of every shape of its headers.
var kinds = []struct {
	name  string
	frame []byte
	nic   uint32 // what the NIC does with it
}{
	{"roce4", packet{DSCP: 26, ECN: wire.ECT0, Payload: 20}.Bytes(), xdpRedirect},
	{"roce6", packet{V6: true, DSCP: 48, ECN: wire.CE, Payload: 20}.Bytes(), xdpRedirect},
	{"options", packet{DSCP: 26, Options: 40, Payload: 4}.Bytes(), xdpRedirect},
	{"one tag", packet{Tags: oneTag, DSCP: 26}.Bytes(), xdpRedirect},
	{"two tags", packet{Tags: twoTags, V6: true}.Bytes(), xdpRedirect},
	{"three tags", packet{Tags: threeTags}.Bytes(), xdpPass},
	{"udp", packet{DstPort: 53}.Bytes(), xdpPass},
	{"tcp4", packet{Proto: wire.ProtoTCP}.Bytes(), xdpPass},
	{"tcp6", packet{Proto: wire.ProtoTCP, V6: true}.Bytes(), xdpPass},
	{"icmp", packet{Proto: wire.ProtoICMP, Payload: 8}.Bytes(), xdpPass},
	{"two C-TAGs", packet{Tags: []wiretest.Tag{oneTag[0], oneTag[0]}}.Bytes(), xdpPass},
	{"priority tag", packet{Tags: []wiretest.Tag{{Type: wire.TypeVLAN, PCP: 6}}}.Bytes(),
		xdpRedirect},
	{"ipv6 fragment", packet{V6: true, Proto: 44, Payload: 64}.Bytes(), xdpPass},
	{"ipv6 options", packet{V6: true, Proto: 60, Payload: 64}.Bytes(), xdpPass},
	{"first fragment", packet{More: true, Payload: 64}.Bytes(), xdpPass},
	{"last fragment", packet{Offset: 9, Payload: 64}.Bytes(), xdpPass},
	{"padding", append(packet{DSCP: 3}.Bytes(), make([]byte, 18)...), xdpRedirect},
	{"pfc", wiretest.PFC(1, map[uint8]uint16{3: 9, 4: 0}), xdpRedirect},
	{"pause", other(wire.TypeMACControl, 0, 1, 0, 9), xdpRedirect},
	{"mac control", other(wire.TypeMACControl, 0, 2, 0, 0), xdpPass},
	{"tagged control", other(wire.TypeVLAN, 0, 0, 0x88, 0x08, 0, 1, 0, 9), xdpPass},
	{"cnm", other(wire.TypeCNM, 1, 2, 3), xdpRedirect},
	{"cnm of a flow", other(wire.TypeCNTag, 0x12, 0x34, 0x22, 0xe7, 1, 2, 3), xdpRedirect},
	{"cn-tag", packet{DSCP: 26, Tags: flowTags[2:], Payload: 20}.Bytes(), xdpRedirect},
	{"two tags and a cn-tag", packet{V6: true, DSCP: 26, Tags: flowTags}.Bytes(), xdpRedirect},
	{"arp", other(wire.TypeARP, make([]byte, 28)...), xdpPass},
	{"bare header", other(0x1234), xdpPass},
}
