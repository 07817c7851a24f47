package pipeline

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
)

// arpOf reads an ARP packet; nil if it is none.
func arpOf(b []byte) *wire.ARP {
	if len(b) < wire.EthernetLen || (*wire.Ethernet)(b).Type() != wire.TypeARP {
		return nil
	}
	arp, _ := wire.AsARP(b[wire.EthernetLen:])
	return arp
}

// TestResolutionByARP: the first packet to a server waits while the switch asks on every port of
// the bridge; the answer sends it.
func TestResolutionByARP(t *testing.T) {
	b := newBench(t, torConfig())
	in := ipPacket{Src: "192.0.2.1", Dst: "10.0.1.12", MAC: 104, DSCP: 26}
	b.rx(4, in.bytes())
	out := b.sent()
	if len(out) != 4 {
		t.Fatalf("asked on %d ports, want the bridge's four", len(out))
	}
	for port, f := range out {
		arp := arpOf(f)
		if arp == nil || arp.Operation() != wire.ARPRequest || arp.SenderMAC() != routerMAC ||
			arp.SenderIP() != ip("10.0.1.1").As4() || arp.TargetIP() != ip("10.0.1.12").As4() ||
			(*wire.Ethernet)(f).Dst() != wire.Broadcast || len(f) != int(wire.MinFrame) {
			t.Errorf("port %d: % x", port, f)
		}
	}
	b.rx(2, arpFrom(12, wire.ARPReply, "10.0.1.12", "10.0.1.1"))
	out = b.sent()
	if got := out[2]; len(out) != 1 || got == nil ||
		(*wire.Ethernet)(got).Dst() != wiretest.MACOrNumber(12).MAC() {
		t.Errorf("after the answer: %v", out)
	}
	b.rx(4, in.bytes())
	if out := b.sent(); len(out) != 1 || out[2] == nil {
		t.Errorf("the second packet: %v", out)
	}
}

// TestNobodyAnswers: three requests, a second apart, then the packets are dropped by name.
func TestNobodyAnswers(t *testing.T) {
	b := tor(t, torConfig())
	for range 5 {
		b.rx(4, ipPacket{Src: "192.0.2.1", Dst: "10.0.1.12", MAC: 104, DSCP: 26}.bytes())
	}
	b.dropped(frame.DropNoNeighbour, 2) // three wait
	for range 3 {
		if out := b.sent(); len(out) != 4 {
			t.Errorf("asked on %d ports", len(out))
		}
		b.wait(second)
	}
	if out := b.sent(); len(out) != 0 {
		t.Errorf("asked a fourth time")
	}
	b.dropped(frame.DropNoNeighbour, 5)
	if n := b.pool.InUse(); n != 0 || b.sw.NextWake() != unit.Never {
		t.Errorf("%d frames stay behind, next wake %v", n, b.sw.NextWake())
	}
}

// TestAnswersARP: requests for the switch's own addresses are answered on the port they came from,
// in the router's class; the asker is known then.
func TestAnswersARP(t *testing.T) {
	b := newBench(t, torConfig())
	b.rx(2, arpFrom(12, wire.ARPRequest, "10.0.1.12", "10.0.1.1"))
	out := b.sent()
	arp := arpOf(out[2])
	if len(out) != 1 || arp == nil || arp.Operation() != wire.ARPReply ||
		arp.SenderMAC() != routerMAC || arp.SenderIP() != ip("10.0.1.1").As4() ||
		arp.TargetMAC() != wiretest.MACOrNumber(12).MAC() ||
		arp.TargetIP() != ip("10.0.1.12").As4() {
		t.Fatalf("%v", out)
	}
	b.rx(4, ipPacket{Src: "192.0.2.1", Dst: "10.0.1.12", MAC: 104}.bytes())
	if out := b.sent(); len(out) != 1 || arpOf(out[2]) != nil {
		t.Errorf("the asker is not known: %v", out)
	}
}

// TestOthersARP: a request from one server for another is flooded, and makes no entry (RFC 826:
// only the target does); an answer from the wrong subnet neither.
func TestOthersARP(t *testing.T) {
	b := newBench(t, torConfig())
	b.rx(2, arpFrom(12, wire.ARPRequest, "10.0.1.12", "10.0.1.10"))
	if out := b.sent(); len(out) != 3 || out[4] != nil || out[5] != nil {
		t.Errorf("flooded to %d ports", len(out))
	}
	b.rx(2, arpFrom(12, wire.ARPRequest, "172.16.0.9", "10.0.1.1"))
	b.rx(2, arpFrom(12, wire.ARPRequest, "10.0.1.1", "10.0.1.1")) // it claims our own address
	b.rx(4, arpFrom(12, wire.ARPRequest, "10.1.0.1", "10.1.0.9"))
	b.sent()
	if n := b.sw.router.Neighbours.Len(); n != 0 {
		t.Errorf("%d entries", n)
	}
}

// TestResolutionByND walks RFC 4861 section 7.2: a solicitation to the solicited-node group, and
// an advertisement that answers it.
func TestResolutionByND(t *testing.T) {
	b := newBench(t, torConfig())
	b.rx(4, ipPacket{Src: "2001:db8::1", Dst: "fd00:1::12:3456", MAC: 104}.bytes())
	out := b.sent()
	got := out[2]
	if len(out) != 4 || got == nil {
		t.Fatalf("asked on %d ports", len(out))
	}
	head := (*wire.IPv6)(got[wire.EthernetLen:])
	message := got[wire.EthernetLen+wire.IPv6Len:]
	mac, ok, _ := wire.LinkLayer(message[wire.NDLen:], wire.NDSource)
	if (*wire.Ethernet)(got).Dst() != (wire.MAC{0x33, 0x33, 0xff, 0x12, 0x34, 0x56}) ||
		head.Dst() != ip("ff02::1:ff12:3456").As16() || head.Src() != ip("fd00:1::1").As16() ||
		head.HopLimit() != 255 || message[0] != wire.ICMPv6Solicit ||
		(*wire.ND)(message).Target() != ip("fd00:1::12:3456").As16() || !ok || mac != routerMAC ||
		wire.ICMPv6Checksum(head, message) != 0 {
		t.Fatalf("% x", got)
	}
	b.rx(2, ndFrom(12, wire.ICMPv6Advert, "fd00:1::12:3456", "fd00:1::1"))
	if out := b.sent(); len(out) != 1 || out[2] == nil ||
		(*wire.Ethernet)(out[2]).Dst() != wiretest.MACOrNumber(12).MAC() {
		t.Errorf("after the answer: %v", out)
	}
}

// ndFrom is a solicitation by station n for target, or an advertisement of sender to target.
func ndFrom(n wiretest.MACOrNumber, kind uint8, sender, target string) []byte {
	b := make([]byte, len(ndFrame{}))
	eth := (*wire.Ethernet)(b)
	eth.SetSrc(n.MAC())
	eth.SetType(wire.TypeIPv6)
	head := (*wire.IPv6)(b[wire.EthernetLen:])
	head.Init()
	head.SetPayloadLen(wire.NDLen + wire.LinkLayerLen)
	head.SetNextHeader(wire.ProtoICMPv6)
	head.SetHopLimit(255)
	head.SetSrc(ip(sender).As16())
	message := b[wire.EthernetLen+wire.IPv6Len:]
	nd := (*wire.ND)(message)
	nd.Init(kind)
	if kind == wire.ICMPv6Advert {
		eth.SetDst(routerMAC)
		head.SetDst(ip(target).As16())
		nd.SetTarget(ip(sender).As16())
		nd.SetFlags(wire.NDSolicited | wire.NDOverride)
		wire.PutLinkLayer(message[wire.NDLen:], wire.NDTarget, n.MAC())
	} else {
		low := ip(target).As16()
		eth.SetDst(wire.MAC{0x33, 0x33, 0xff, low[13], low[14], low[15]})
		group := ip("ff02::1:ff00:0").As16()
		copy(group[13:], low[13:])
		head.SetDst(group)
		nd.SetTarget(low)
		wire.PutLinkLayer(message[wire.NDLen:], wire.NDSource, n.MAC())
	}
	(*wire.ICMP)(message).SetChecksum(wire.ICMPv6Checksum(head, message))
	return b
}

// TestAnswersND walks RFC 4861 section 7.2.4, and section 7.1.1 for what is not answered.
func TestAnswersND(t *testing.T) {
	b := newBench(t, torConfig())
	good := ndFrom(12, wire.ICMPv6Solicit, "fd00:1::12", "fd00:1::1")
	b.rx(2, good)
	out := b.sent()
	got := out[2]
	if len(out) != 1 || got == nil {
		t.Fatalf("%d answers", len(out))
	}
	head := (*wire.IPv6)(got[wire.EthernetLen:])
	message := got[wire.EthernetLen+wire.IPv6Len:]
	nd := (*wire.ND)(message)
	mac, ok, _ := wire.LinkLayer(message[wire.NDLen:], wire.NDTarget)
	if (*wire.Ethernet)(got).Dst() != wiretest.MACOrNumber(12).MAC() ||
		head.Dst() != ip("fd00:1::12").As16() || message[0] != wire.ICMPv6Advert ||
		nd.Target() != ip("fd00:1::1").As16() || !ok || mac != routerMAC ||
		nd.Flags() != wire.NDRouter|wire.NDSolicited|wire.NDOverride ||
		wire.ICMPv6Checksum(head, message) != 0 {
		t.Errorf("% x", got)
	}
	for name, change := range map[string]func(f []byte){
		"hop limit": func(f []byte) { (*wire.IPv6)(f[wire.EthernetLen:]).SetHopLimit(254) },
		"code":      func(f []byte) { f[wire.EthernetLen+wire.IPv6Len+1] = 1 },
		"checksum":  func(f []byte) { f[wire.EthernetLen+wire.IPv6Len+2]++ },
		"option":    func(f []byte) { f[len(f)-wire.LinkLayerLen+1] = 0 },
	} {
		bad := append([]byte(nil), good...)
		change(bad)
		message := bad[wire.EthernetLen+wire.IPv6Len:]
		if name == "code" || name == "option" {
			sum := (*wire.ICMP)(message)
			sum.SetChecksum(0)
			sum.SetChecksum(wire.ICMPv6Checksum((*wire.IPv6)(bad[wire.EthernetLen:]), message))
		}
		b.rx(2, bad)
		if out := b.sent(); out[2] != nil {
			t.Errorf("%s: answered", name)
		}
	}
}

// TestDuplicateAddressDetection walks RFC 4861 section 7.2.4 for an unspecified source: the answer
// goes to all nodes.
func TestDuplicateAddressDetection(t *testing.T) {
	b := newBench(t, torConfig())
	probe := ndFrom(12, wire.ICMPv6Solicit, "::", "fd00:1::1")
	b.rx(2, probe)
	got := b.sent()[2]
	if got == nil || (*wire.Ethernet)(got).Dst() != (wire.MAC{0x33, 0x33, 0, 0, 0, 1}) ||
		(*wire.IPv6)(got[wire.EthernetLen:]).Dst() != ip("ff02::1").As16() {
		t.Errorf("% x", got)
	}
	if n := b.sw.router.Neighbours.Len(); n != 0 {
		t.Errorf("%d entries for nobody", n)
	}
}

// TestPollKeepsTrafficGoing: an entry in use is confirmed by unicast before it is too old, and no
// packet waits.
func TestPollKeepsTrafficGoing(t *testing.T) {
	c := torConfig()
	c.Router.Neighbours.Timeout = 10_000_000_000 // 10 s
	b := tor(t, c)
	polls := 0
	for range 60 {
		b.wait(second)
		b.rx(1, data(11, 10, 100)) // so that the MAC table knows it
		b.tx(0)
		b.rx(4, ipPacket{Src: "192.0.2.1", Dst: "10.0.1.11", MAC: 104}.bytes())
		packets := 0
		for f := b.tx(1); f != nil; f = b.tx(1) {
			if arp := arpOf(f); arp == nil {
				packets++
			} else {
				polls++
				if (*wire.Ethernet)(f).Dst() != wiretest.MACOrNumber(11).MAC() {
					t.Errorf("polled by %v", (*wire.Ethernet)(f).Dst())
				}
				b.rx(1, arpFrom(11, wire.ARPReply, "10.0.1.11", "10.0.1.1"))
			}
		}
		if packets != 1 {
			t.Fatalf("at %v: %d packets", b.now, packets)
		}
	}
	if polls < 5 || polls > 8 {
		t.Errorf("%d polls in 60 s", polls)
	}
}

// TestUplinkGoesDown: what waits for its neighbour is dropped, and the neighbour is forgotten.
func TestUplinkGoesDown(t *testing.T) {
	c := torConfig()
	c.Router.Routes[0].NextHops = c.Router.Routes[0].NextHops[:1]
	b := newBench(t, c)
	b.rx(0, ipPacket{Src: "10.0.1.10", Dst: "192.0.2.1", MAC: 10}.bytes())
	b.dev.SetLink(b.now, 4, false)
	b.dropped(frame.DropLinkDown, 1+1) // the packet and the request
	if b.pool.InUse() != 0 || b.sw.router.Neighbours.Len() != 0 {
		t.Error("something is left")
	}
	for port := range dataplane.PortID(4) { // and the bridge with its last port
		if !b.sw.router.Up(0) {
			t.Errorf("the VLAN interface is down before port %d is", port)
		}
		b.dev.SetLink(b.now, port, false)
	}
	if b.sw.router.Up(0) {
		t.Error("the VLAN interface is up without a port")
	}
	b.dev.SetLink(b.now, 2, true)
	if !b.sw.router.Up(0) {
		t.Error("the VLAN interface stays down")
	}
}
