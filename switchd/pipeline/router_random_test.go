package pipeline

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
	"github.com/rocelab/rocelab/switchd/fib"
)

// routedWalk is random traffic through a router of which everything is scarce.
type routedWalk struct{ walk }

func newRoutedWalk(t *testing.T, rt *rapid.T) *routedWalk {
	c := tightConfig(rt, 6)
	c.Router = torConfig().Router
	// Neighbours wait for seconds, so the watchdogs look less often; still twice within the longest
	// pause, of 839 us.
	for i := range c.Ports {
		w := &c.Ports[i].Watchdog
		w.Poll, w.Detection, w.Restoration = 6*w.Poll, 3*w.Detection, 3*w.Restoration
	}
	c.MACs = fib.Config{Max: 5, Age: 2_000_000_000}
	c.Router.Neighbours = fib.NeighbourConfig{Max: 6, Timeout: 4_000_000_000, Waiting: 2, Held: 4}
	c.Router.Incomplete = rapid.SampledFrom([]fib.Remedy{fib.DropLossless, fib.Flood, fib.ToCPU}).
		Draw(rt, "remedy")
	return &routedWalk{walk{bench: newBenchOf(t, c, 300), ports: 6}}
}

// full reports whether there is no frame for the test itself.
func (w *routedWalk) full() bool { return w.pool.Free() < 2 }

func drawPort(t *rapid.T) dataplane.PortID {
	return dataplane.PortID(rapid.IntRange(0, 5).Draw(t, "port"))
}

func (w *routedWalk) packet(t *rapid.T) {
	if w.full() {
		return
	}
	p := ipPacket{MAC: wiretest.MACOrNumber(rapid.IntRange(8, 14).Draw(t, "mac")),
		TTL:     rapid.SampledFrom([]uint8{1, 2, 64}).Draw(t, "ttl"),
		DSCP:    rapid.SampledFrom([]uint8{0, 26, 48}).Draw(t, "dscp"),
		SrcPort: rapid.Uint16Range(49152, 49200).Draw(t, "source port")}
	p.Src = rapid.SampledFrom([]string{"10.0.1.10", "192.0.2.1", "10.0.1.12"}).Draw(t, "src")
	p.Dst = rapid.SampledFrom([]string{"10.0.1.10", "10.0.1.11", "10.0.1.12", "10.0.1.1",
		"192.0.2.1", "10.1.0.1", "10.0.1.255"}).Draw(t, "dst")
	if rapid.Bool().Draw(t, "v6") {
		p.Src, p.Dst = "2001:db8::1", rapid.SampledFrom([]string{"fd00:1::11", "2001:db8::2",
			"fd00:1::1", "fd01::1"}).Draw(t, "dst6")
	}
	if rapid.Bool().Draw(t, "tagged") {
		p.Tags = []wiretest.Tag{{Type: wire.TypeVLAN, PCP: 3, VID: 9}}
	}
	if rapid.Bool().Draw(t, "ping") {
		p.Proto, p.Payload = wire.ProtoICMP, []byte{wire.ICMPEcho, 0, 0xf7, 0xff, 0, 0, 0, 0}
	}
	w.rx(drawPort(t), p.bytes())
}

func (w *routedWalk) speak(t *rapid.T) {
	if w.full() {
		return
	}
	n := wiretest.MACOrNumber(rapid.IntRange(10, 14).Draw(t, "station"))
	addr := netip.AddrFrom4([4]byte{10, 0, 1, byte(n)}).String()
	op := rapid.SampledFrom([]uint16{wire.ARPRequest, wire.ARPReply}).Draw(t, "op")
	target := rapid.SampledFrom([]string{"10.0.1.1", addr, "10.0.1.10"}).Draw(t, "target")
	w.rx(drawPort(t), arpFrom(n, op, addr, target))
}

func (w *routedWalk) discover(t *rapid.T) {
	if w.full() {
		return
	}
	kind := rapid.SampledFrom([]uint8{wire.ICMPv6Solicit, wire.ICMPv6Advert}).Draw(t, "kind")
	w.rx(drawPort(t), ndFrom(11, kind, "fd00:1::11", "fd00:1::1"))
}

// TestRouterLedgerAlwaysBalances throws everything at a router, in any order, with tables and pools
// that are too small.
func TestRouterLedgerAlwaysBalances(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newRoutedWalk(t, rt)
		rt.Repeat(map[string]func(*rapid.T){
			"packet": w.packet, "packet2": w.packet, "speak": w.speak, "discover": w.discover,
			"send": w.send, "send2": w.send, "pause": func(t *rapid.T) {
				if !w.full() {
					w.pause(t)
				}
			},
			"wait": func(t *rapid.T) {
				w.wait(unit.Time(rapid.IntRange(0, 2500).Draw(t, "ms")) * 1000 * us)
			},
			"link": func(t *rapid.T) {
				w.dev.SetLink(w.now, drawPort(t), rapid.Bool().Draw(t, "up"))
			},
			"": w.invariants,
		})
	})
}

// FuzzRouter sends two frames of any bytes into a router. Nothing panics, the account balances,
// and nothing stays behind when all waiting is over.
func FuzzRouter(f *testing.F) {
	packet := ipPacket{Src: "192.0.2.1", Dst: "10.0.1.11", MAC: 104, DSCP: 26}.bytes()
	seeds := append(fuzzSeeds(), packet, packet[:30],
		ipPacket{Src: "2001:db8::1", Dst: "fd00:1::11", MAC: 104}.bytes(),
		ipPacket{Src: "10.0.1.10", Dst: "10.0.1.1", Proto: wire.ProtoICMP,
			Payload: []byte{8, 0, 0xf7, 0xff, 0, 0, 0, 0}}.bytes(),
		ipPacket{Src: "10.0.1.10", Dst: "10.0.1.11",
			Tags: []wiretest.Tag{{Type: wire.TypeSTag}, {Type: wire.TypeVLAN}}}.bytes(),
		arpFrom(11, wire.ARPReply, "10.0.1.11", "10.0.1.1"),
		arpFrom(11, wire.ARPRequest, "10.0.1.11", "10.0.1.1"),
		ndFrom(11, wire.ICMPv6Solicit, "fd00:1::11", "fd00:1::1"),
		ndFrom(11, wire.ICMPv6Advert, "fd00:1::11", "fd00:1::1"))
	for i, seed := range seeds {
		f.Add(seed, arpFrom(11, wire.ARPReply, "10.0.1.11", "10.0.1.1"), uint8(i))
		f.Add(packet, seed, uint8(4*i))
	}
	f.Fuzz(func(t *testing.T, first, second []byte, how uint8) {
		c := torConfig()
		c.Pools[0].Size, c.MACs.Max, c.Router.Neighbours.Max = 1_000_000, 16, 16
		c.Router.Incomplete = fib.Remedy(how >> 6 % 3)
		b := newBenchOf(t, c, 40)
		for i, in := range [][]byte{first, second} {
			if len(in) <= maxFrame {
				b.rx(dataplane.PortID(how>>(3*i)&7%6), in)
				b.check()
			}
		}
		for range 5 { // Nothing waits longer than three seconds, nothing is paused for one.
			for id := range b.sw.ports {
				for b.tx(dataplane.PortID(id)) != nil {
					continue
				}
			}
			b.check()
			b.wait(1_000_000 * us)
		}
		if n := b.pool.InUse() + b.sw.pauses.InUse(); n != 0 {
			t.Errorf("%d frames stay behind", n)
		}
		if l := b.sw.Ledger(); l.Buffered.Frames != 0 || l.Dropped[frame.NoReason].Frames != 0 {
			t.Errorf("%+v", l)
		}
	})
}

// BenchmarkRouting is a frame from Receive to Transmit through the router: from an uplink to a
// server, and from a server to one of two uplinks.
func BenchmarkRouting(b *testing.B) {
	for _, way := range []struct {
		name string
		in   dataplane.PortID
		p    ipPacket
	}{
		{"down", 4, ipPacket{Src: "192.0.2.1", Dst: "10.0.1.11", MAC: 104, DSCP: 26}},
		{"up", 0, ipPacket{Src: "10.0.1.10", Dst: "192.0.2.1", MAC: 10, DSCP: 26}},
	} {
		b.Run(way.name, func(b *testing.B) {
			way.p.Payload = make([]byte, 1040)
			sw := tor(b, torConfig())
			bytes := way.p.bytes()
			class := sw.sw.ports[way.in].classify.Classify(bytes)
			f := sw.pool.Get()
			b.ReportAllocs()
			for b.Loop() {
				f.Set(bytes[:wire.EthernetLen+wire.IPv4Len])
				f.Resize(len(bytes))
				f.Meta.Class = class
				sw.now += 217
				sw.sw.Receive(sw.now, way.in, f)
				f = nil
				for _, out := range []dataplane.PortID{1, 4, 5} {
					if f == nil {
						f = sw.sw.Transmit(sw.now, out)
					}
				}
				if f == nil {
					b.Fatal("the frame is lost")
				}
			}
		})
	}
}

// TestRoutingAllocatesNothing covers packets both ways, pings, ARP and resolution.
func TestRoutingAllocatesNothing(t *testing.T) {
	b := tor(t, torConfig())
	frames := [][]byte{
		ipPacket{Src: "192.0.2.1", Dst: "10.0.1.11", MAC: 104, DSCP: 26}.bytes(),
		ipPacket{Src: "10.0.1.10", Dst: "192.0.2.1", MAC: 10, DSCP: 26}.bytes(),
		ipPacket{Src: "192.0.2.1", Dst: "10.0.1.99", MAC: 104, DSCP: 26}.bytes(),
		ipPacket{Src: "10.0.1.10", Dst: "10.0.1.1", MAC: 10, Proto: wire.ProtoICMP,
			Payload: []byte{8, 0, 0xf7, 0xff, 0, 0, 0, 0}}.bytes(),
		arpFrom(11, wire.ARPRequest, "10.0.1.11", "10.0.1.1"),
		ipPacket{Src: "2001:db8::1", Dst: "fd00:1::99", MAC: 104}.bytes(),
	}
	ports := []dataplane.PortID{4, 0, 4, 0, 1, 4}
	if n := testing.AllocsPerRun(200, func() {
		for i, bytes := range frames {
			f := b.pool.Get()
			f.Set(bytes)
			b.sw.Receive(b.now, ports[i], f)
		}
		for port := range dataplane.PortID(6) {
			for f := b.sw.Transmit(b.now, port); f != nil; f = b.sw.Transmit(b.now, port) {
				f.Release()
			}
		}
		b.wait(second)
		b.rx(1, frames[4]) // everybody stays known
		b.rx(0, arpFrom(10, wire.ARPRequest, "10.0.1.10", "10.0.1.10"))
	}); n > 1 { // arpFrom
		t.Errorf("%v allocations", n)
	}
}
