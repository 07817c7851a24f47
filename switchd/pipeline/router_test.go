package pipeline

import (
	"net/netip"
	"testing"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
	"github.com/rocelab/rocelab/switchd/fib"
)

const second = 1_000_000 * us

var routerMAC = wire.MAC{2, 0, 0, 0xaa, 0, 1}

func ip(s string) netip.Addr { return netip.MustParseAddr(s) }

// torConfig is a ToR: ports 0 to 3 are the bridge with servers .10 and up, numbered like their MAC
// addresses, 4 and 5 are uplinks to routers whose MAC addresses are 104 and 105.
func torConfig() Config {
	c := testConfig(6)
	prefixes := func(list ...string) (out []netip.Prefix) {
		for _, s := range list {
			out = append(out, netip.MustParsePrefix(s))
		}
		return out
	}
	c.Router = &fib.RouterConfig{MAC: routerMAC, Class: 6, Seed: 1,
		Interfaces: []fib.Interface{
			{Name: "vlan", Port: fib.VLAN, Addresses: prefixes("10.0.1.1/24", "fd00:1::1/64")},
			{Name: "swp4", Port: 4, Addresses: prefixes("10.1.0.0/31", "fd01::/127")},
			{Name: "swp5", Port: 5, Addresses: prefixes("10.1.0.2/31", "fd01::2/127")},
		},
		Routes: []fib.Route{
			{Prefix: netip.MustParsePrefix("0.0.0.0/0"),
				NextHops: []netip.Addr{ip("10.1.0.1"), ip("10.1.0.3")}},
			{Prefix: netip.MustParsePrefix("::/0"),
				NextHops: []netip.Addr{ip("fd01::1"), ip("fd01::3")}},
		},
	}
	return c
}

// ipPacket is a RoCE packet to the router's MAC address, or to Dst if that is set.
type ipPacket struct {
	Src, Dst string
	MAC      wiretest.MACOrNumber // of the sender
	TTL      uint8                // 0 is 64
	DSCP     uint8
	SrcPort  uint16
	Tags     []wiretest.Tag
	Proto    uint8
	Payload  []byte
}

func (p ipPacket) bytes() []byte {
	ttl := p.TTL
	if ttl == 0 {
		ttl = 64
	}
	src, dst := ip(p.Src), ip(p.Dst)
	b := wiretest.Packet{Src: p.MAC, V6: dst.Is6(), DSCP: p.DSCP, ECN: wire.ECT0, Tags: p.Tags,
		SrcPort: p.SrcPort, Proto: p.Proto, Payload: len(p.Payload)}.Bytes()
	copy(b[len(b)-len(p.Payload):], p.Payload)
	(*wire.Ethernet)(b).SetDst(routerMAC)
	network := b[wire.EthernetLen+wire.TagLen*len(p.Tags):]
	if dst.Is4() {
		h := (*wire.IPv4)(network)
		h.SetSrc(src.As4())
		h.SetDst(dst.As4())
		h.SetTTL(ttl)
		h.UpdateChecksum()
		return b
	}
	h := (*wire.IPv6)(network)
	h.SetSrc(src.As16())
	h.SetDst(dst.As16())
	h.SetHopLimit(ttl)
	return b
}

// arpFrom is an ARP packet of station n.
func arpFrom(n wiretest.MACOrNumber, op uint16, sender, target string) []byte {
	b := make([]byte, wire.MinFrame)
	eth := (*wire.Ethernet)(b)
	eth.SetDst(wire.Broadcast)
	if op == wire.ARPReply {
		eth.SetDst(routerMAC)
	}
	eth.SetSrc(n.MAC())
	eth.SetType(wire.TypeARP)
	arp := (*wire.ARP)(b[wire.EthernetLen:])
	arp.Init()
	arp.SetOperation(op)
	arp.SetSenderMAC(n.MAC())
	arp.SetSenderIP(ip(sender).As4())
	arp.SetTargetIP(ip(target).As4())
	return b
}

// announce tells the switch of a station, as hosts do when their link comes up.
func (b *bench) announce(port dataplane.PortID, n wiretest.MACOrNumber, addr string) {
	b.t.Helper()
	b.rx(port, arpFrom(n, wire.ARPRequest, addr, addr))
	for out := range b.sw.ports {
		for b.tx(dataplane.PortID(out)) != nil {
			continue
		}
	}
}

// tor is a ToR that knows server 10 behind port 0, server 11 behind port 1, and both uplinks.
func tor(t testing.TB, c Config) *bench {
	t.Helper()
	b := newBench(t, c)
	b.announce(0, 10, "10.0.1.10")
	b.announce(1, 11, "10.0.1.11")
	b.announce(4, 104, "10.1.0.1")
	b.announce(5, 105, "10.1.0.3")
	return b
}

// sent takes one frame from every port and returns those of ports that had one.
func (b *bench) sent() map[dataplane.PortID][]byte {
	b.t.Helper()
	out := map[dataplane.PortID][]byte{}
	for id := range b.sw.ports {
		if f := b.tx(dataplane.PortID(id)); f != nil {
			out[dataplane.PortID(id)] = f
		}
	}
	b.check()
	return out
}

// dropped fails unless n frames were dropped for that reason in all.
func (b *bench) dropped(why frame.Reason, n uint64) {
	b.t.Helper()
	if l := b.sw.Ledger(); l.Dropped[why].Frames != n {
		b.t.Errorf("%d frames dropped for %v, want %d", l.Dropped[why].Frames, why, n)
	}
}

// TestRoutesDown: from an uplink to a server: MAC addresses rewritten, TTL one less, everything
// else as it was, checksum right.
func TestRoutesDown(t *testing.T) {
	b := tor(t, torConfig())
	in := ipPacket{Src: "192.0.2.1", Dst: "10.0.1.11", MAC: 104, DSCP: 26, Payload: []byte("x")}
	b.rx(4, in.bytes())
	out := b.sent()
	got := out[1]
	if len(out) != 1 || got == nil {
		t.Fatalf("%d frames left", len(out))
	}
	eth, head := (*wire.Ethernet)(got), (*wire.IPv4)(got[wire.EthernetLen:])
	if eth.Dst() != wiretest.MACOrNumber(11).MAC() || eth.Src() != routerMAC {
		t.Errorf("from %v to %v", eth.Src(), eth.Dst())
	}
	if head.TTL() != 63 || wire.HeaderChecksum(head[:]) != 0 {
		t.Errorf("TTL %d, checksum %04x", head.TTL(), head.Checksum())
	}
	in.TTL = 63
	if want := in.bytes(); string(want[wire.EthernetLen:]) != string(got[wire.EthernetLen:]) {
		t.Errorf("got  % x\nwant % x", got, want)
	}
	if n := b.sw.ports[1].queues[3].stats.Sent.Frames; n != 1 {
		t.Errorf("queue 3 sent %d: the class was lost on the way", n)
	}
}

// TestRoutesUp: flows with different UDP source ports take both uplinks; one flow takes one.
func TestRoutesUp(t *testing.T) {
	b := tor(t, torConfig())
	taken := map[dataplane.PortID]int{}
	for flow := range uint16(64) {
		var first dataplane.PortID
		for i := range 2 {
			b.rx(0, ipPacket{Src: "10.0.1.10", Dst: "192.0.2.1", MAC: 10,
				SrcPort: 49152 + flow}.bytes())
			for port := range b.sent() {
				if i == 0 {
					first = port
				} else if port != first {
					t.Fatalf("flow %d takes ports %d and %d", flow, first, port)
				}
				taken[port]++
			}
		}
	}
	// 64 flows: five standard deviations from 32 are 20.
	if taken[4]+taken[5] != 128 || taken[4] < 24 || taken[5] < 24 {
		t.Errorf("%v", taken)
	}
}

// TestDeadUplink: with one uplink down all flows take the other, with both down they are dropped.
func TestDeadUplink(t *testing.T) {
	b := tor(t, torConfig())
	send := func() map[dataplane.PortID][]byte {
		for flow := range uint16(16) {
			b.rx(0, ipPacket{Src: "10.0.1.10", Dst: "192.0.2.1", MAC: 10,
				SrcPort: 49152 + flow}.bytes())
		}
		return b.sent()
	}
	b.dev.SetLink(b.now, 4, false)
	if out := send(); len(out) != 1 || out[5] == nil {
		t.Errorf("%d ports sent", len(out))
	}
	b.dev.SetLink(b.now, 5, false)
	send()
	b.dropped(frame.DropLinkDown, 16+15) // and what waited at port 5
	b.dev.SetLink(b.now, 5, true)
	// The neighbour was forgotten with the link, so it is asked for.
	if out := send(); len(out) != 1 || (*wire.Ethernet)(out[5]).Type() != wire.TypeARP {
		t.Errorf("%d ports sent", len(out))
	}
}

func TestRoutingV6(t *testing.T) {
	b := tor(t, torConfig())
	b.sw.router.Neighbours.Confirm(0, 0, ip("fd00:1::11"), fib.News{
		MAC: wiretest.MACOrNumber(11).MAC(), Create: true})
	b.rx(4, ipPacket{Src: "2001:db8::1", Dst: "fd00:1::11", MAC: 104}.bytes())
	got := b.sent()[1]
	if got == nil || (*wire.Ethernet)(got).Dst() != wiretest.MACOrNumber(11).MAC() ||
		(*wire.IPv6)(got[wire.EthernetLen:]).HopLimit() != 63 {
		t.Errorf("% x", got)
	}
}

// TestRouterDrops: each way of not being routed has its name.
func TestRouterDrops(t *testing.T) {
	bad := ipPacket{Src: "192.0.2.1", Dst: "10.0.1.11", MAC: 104}.bytes()
	bad[wire.EthernetLen+10]++ // header checksum
	elsewhere := ipPacket{Src: "192.0.2.1", Dst: "10.0.1.11", MAC: 104}.bytes()
	(*wire.Ethernet)(elsewhere).SetDst(wiretest.MACOrNumber(77).MAC())
	group := ipPacket{Src: "192.0.2.1", Dst: "10.0.1.11", MAC: 104}.bytes()
	(*wire.Ethernet)(group).SetDst(wire.Broadcast)
	other := arpFrom(10, wire.ARPReply, "10.0.1.10", "10.0.1.1")
	(*wire.Ethernet)(other).SetType(0x88cc)
	from := func(dst string, ttl uint8) []byte {
		return ipPacket{Src: "192.0.2.1", Dst: dst, MAC: 104, TTL: ttl}.bytes()
	}
	for _, c := range []struct {
		name  string
		port  dataplane.PortID
		frame []byte
		want  frame.Reason
	}{
		{"TTL 1", 4, from("10.0.1.11", 1), frame.DropTTL},
		{"hop limit 1", 4, ipPacket{Src: "2001:db8::1", Dst: "fd00:1::11", TTL: 1}.bytes(),
			frame.DropTTL},
		{"multicast", 4, from("224.0.0.5", 9), frame.DropNoRoute},
		{"directed broadcast", 4, from("10.0.1.255", 9), frame.DropNoRoute},
		{"loopback", 0, from("127.0.0.1", 9), frame.DropNoRoute},
		{"link-local", 4, ipPacket{Src: "2001:db8::1", Dst: "fe80::1"}.bytes(), frame.DropNoRoute},
		{"checksum", 4, bad, frame.DropMalformed},
		{"to the switch", 4, from("10.0.1.1", 9), frame.DropIP2Me},
		{"to the switch, v6", 4, ipPacket{Src: "2001:db8::1", Dst: "fd01::"}.bytes(),
			frame.DropIP2Me},
		{"other EtherType", 0, other, frame.DropIP2Me},
		{"another station's, routed port", 4, elsewhere, frame.DropNotForUs},
		{"broadcast, routed port", 4, group, frame.DropNotForUs},
	} {
		b := tor(t, torConfig())
		b.rx(c.port, c.frame)
		if out := b.sent(); len(out) != 0 {
			t.Errorf("%s: sent on %d ports", c.name, len(out))
		}
		if l := b.sw.Ledger(); l.Dropped[c.want].Frames != 1 {
			t.Errorf("%s: not dropped for %v: %v", c.name, c.want, l.Dropped)
		}
	}
	c := torConfig()
	c.Router.Routes = nil
	b := tor(t, c)
	b.rx(0, ipPacket{Src: "10.0.1.10", Dst: "192.0.2.1", MAC: 10}.bytes())
	b.dropped(frame.DropNoRoute, 1)
}

// TestBridgeAndRouterSideBySide: servers of the subnet reach each other by the bridge, and floods
// stay off the routed ports.
func TestBridgeAndRouterSideBySide(t *testing.T) {
	b := tor(t, torConfig())
	b.rx(0, data(10, 11, 100))
	if out := b.sent(); len(out) != 1 || out[1] == nil {
		t.Errorf("bridged to %d ports", len(out))
	}
	b.rx(0, data(10, 77, 100))
	if out := b.sent(); len(out) != 3 || out[4] != nil || out[5] != nil {
		t.Errorf("flooded to %d ports", len(out))
	}
	if b.sw.MACs().Len() != 2 {
		t.Errorf("%d addresses learnt, routed ports' among them", b.sw.MACs().Len())
	}
}

// TestTagsEndAtTheRouter: a tagged packet leaves without tags, and the account still balances.
func TestTagsEndAtTheRouter(t *testing.T) {
	b := tor(t, torConfig())
	b.rx(0, ipPacket{Src: "10.0.1.10", Dst: "10.0.1.11", MAC: 10, DSCP: 26, Payload: []byte("abc"),
		Tags: []wiretest.Tag{{Type: wire.TypeVLAN, PCP: 3, VID: 7}}}.bytes())
	got := b.sent()[1]
	want := ipPacket{Src: "10.0.1.10", Dst: "10.0.1.11", TTL: 63, DSCP: 26,
		Payload: []byte("abc")}.bytes()
	if got == nil || string(got[12:]) != string(want[12:]) {
		t.Errorf("got  % x\nwant % x", got, want)
	}
}

// TestPing: whoever pings the gateway gets an answer, from near and from far, in both families.
func TestPing(t *testing.T) {
	echo := append([]byte{wire.ICMPEcho, 0, 0, 0}, "id and number, and then data"...)
	(*wire.ICMP)(echo).SetChecksum(wire.ICMPChecksum(echo))
	for _, c := range []struct {
		name      string
		port, out dataplane.PortID
		src, dst  string
	}{
		{"near", 0, 0, "10.0.1.10", "10.0.1.1"},
		{"another own address", 0, 0, "10.0.1.10", "10.1.0.0"},
		{"far", 4, 4, "10.1.0.1", "10.0.1.1"},
	} {
		b := tor(t, torConfig())
		b.rx(c.port, ipPacket{Src: c.src, Dst: c.dst, MAC: 10, Proto: wire.ProtoICMP, TTL: 1,
			Payload: echo}.bytes())
		out := b.sent()
		got := out[c.out]
		if len(out) != 1 || got == nil {
			t.Errorf("%s: %d frames", c.name, len(out))
			continue
		}
		head := (*wire.IPv4)(got[wire.EthernetLen:])
		message := got[wire.EthernetLen+wire.IPv4Len:]
		if head.Dst() != ip(c.src).As4() || head.Src() != ip(c.dst).As4() || head.TTL() != 64 ||
			wire.HeaderChecksum(head[:]) != 0 || message[0] != wire.ICMPEchoReply ||
			wire.ICMPChecksum(message) != 0 || string(message[4:]) != string(echo[4:]) {
			t.Errorf("%s: % x", c.name, got)
		}
		if n := b.sw.ports[c.out].queues[6].stats.Sent.Frames; n == 0 {
			t.Errorf("%s: not in the router's class", c.name)
		}
	}
}

func TestPingV6(t *testing.T) {
	b := tor(t, torConfig())
	b.sw.router.Neighbours.Confirm(0, 0, ip("fd00:1::10"), fib.News{
		MAC: wiretest.MACOrNumber(10).MAC(), Create: true})
	request := ipPacket{Src: "fd00:1::10", Dst: "fd00:1::1", MAC: 10, Proto: wire.ProtoICMPv6,
		Payload: []byte{wire.ICMPv6Echo, 0, 0, 0, 1, 2, 3, 4, 'x'}}.bytes()
	head := (*wire.IPv6)(request[wire.EthernetLen:])
	message := request[wire.EthernetLen+wire.IPv6Len:]
	(*wire.ICMP)(message).SetChecksum(wire.ICMPv6Checksum(head, message))
	b.rx(0, request)
	got := b.sent()[0]
	if got == nil {
		t.Fatal("no answer")
	}
	head, message = (*wire.IPv6)(got[wire.EthernetLen:]), got[wire.EthernetLen+wire.IPv6Len:]
	if head.Dst() != ip("fd00:1::10").As16() || message[0] != wire.ICMPv6EchoReply ||
		wire.ICMPv6Checksum(head, message) != 0 {
		t.Errorf("% x", got)
	}
}
