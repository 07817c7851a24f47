package switchplan

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/fib"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// The router of the cases: ports 0 and 1 are the bridge of servers, 2 and 3 are uplinks.
var routerMAC = wire.MAC{2, 0x72, 0xaa, 0, 0, 1}

func addresses(list ...string) (out []netip.Prefix) {
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// uplinkIP is the neighbour's address behind an uplink.
func uplinkIP(port int) netip.Addr { return netip.AddrFrom4([4]byte{10, 1, 0, byte(2*port - 3)}) }

func routing(c *pipeline.Config) {
	c.Router = &fib.RouterConfig{MAC: routerMAC, Class: 1, Seed: 1,
		Interfaces: []fib.Interface{
			{Name: "Vlan1", Port: fib.VLAN, Addresses: addresses("10.0.0.254/24")},
			{Name: portName(2), Port: 2, Addresses: addresses("10.1.0.0/31")},
			{Name: portName(3), Port: 3, Addresses: addresses("10.1.0.2/31")},
		},
		Routes: []fib.Route{
			{Prefix: netip.MustParsePrefix("0.0.0.0/0"),
				NextHops: []netip.Addr{uplinkIP(2), uplinkIP(3)}},
			{Prefix: netip.MustParsePrefix("10.9.0.0/16"), NextHops: []netip.Addr{uplinkIP(2)}},
			{Prefix: netip.MustParsePrefix("10.9.1.0/24"), NextHops: []netip.Addr{uplinkIP(3)}},
		},
	}
}

// announce is the ARP request with which a host tells of its address when its link comes up.
// RFC 5227 section 3.
func announce(s station, addr netip.Addr) raw {
	b := make(raw, wire.MinFrame)
	eth := (*wire.Ethernet)(b)
	eth.SetDst(wire.Broadcast)
	eth.SetSrc(s.mac())
	eth.SetType(wire.TypeARP)
	arp := (*wire.ARP)(b[wire.EthernetLen:])
	arp.Init()
	arp.SetOperation(wire.ARPRequest)
	arp.SetSenderMAC(s.mac())
	arp.SetSenderIP(addr.As4())
	arp.SetTargetIP(addr.As4())
	return b
}

// introduce lets all stations announce themselves.
func introduce(b *bench) {
	for i := range maxPorts {
		addr := station(i).ip(false)
		if i >= 2 {
			addr = uplinkIP(i)
		}
		b.send(stream{port: portID(i), at: b.now().Add(start + time.Duration(i)*pace), count: 1,
			frame: announce(station(i), addr)})
	}
	b.run(b.now().Add(2 * start))
}

// packets is what came to a port that is IP, without what the stations announced.
func (b *bench) packets(port int) (list []arrival) {
	data, _ := b.arrivals(port)
	for _, a := range data {
		if a.class.Kind != frame.Other {
			list = append(list, a)
		}
	}
	return list
}

// asRouted is a packet of ours as it leaves the router to a station.
func asRouted(p packet, n int, to wire.MAC) []byte {
	var buf [frameSize]byte
	out := buf[:p.build(buf[:], n)]
	eth := (*wire.Ethernet)(out)
	eth.SetSrc(routerMAC)
	eth.SetDst(to)
	ip := (*wire.IPv4)(out[wire.EthernetLen:])
	ip.SetTTL(ip.TTL() - 1)
	return bytes.Clone(out)
}

// test_fib.py test_basic_fib: packets leave as the longest prefix says, with the router's source,
// the neighbour's destination, one hop less to live, and otherwise unchanged.
func TestBasicFib(t *testing.T) {
	conform(t, card{plan: &forwarding, name: "test_basic_fib",
		checks: "longest prefix; MAC addresses, TTL and checksum rewritten, all else as it was",
		config: routing}, func(b *bench) {
		introduce(b)
		const count = 4
		for _, c := range []struct {
			from, to int
			dst      string
		}{
			{2, 0, "10.0.0.1"}, {3, 1, "10.0.0.2"}, // connected
			{0, 2, "10.9.2.1"}, {1, 3, "10.9.1.1"}, // /16, and /24 in it
		} {
			p := packet{from: station(c.from), via: routerMAC, dst: netip.MustParseAddr(c.dst),
				dscp: dscpLossless}
			before := len(b.packets(c.to))
			s := stream{port: portID(c.from), at: b.now().Add(start), every: pace, count: count,
				frame: &p}
			b.send(s)
			b.run(s.end())
			b.rest()
			got := b.packets(c.to)[before:]
			b.equal("to "+c.dst, len(got), count)
			for i := range got {
				if want := asRouted(p, i, station(c.to).mac()); !bytes.Equal(got[i].bytes, want) {
					b.Errorf("packet %d to %s\n% x, want\n% x", i, c.dst, got[i].bytes[:40],
						want[:40])
				}
			}
		}
		b.noDrops()
	})
}

// test_fib.py test_hash: flows spread over the next hops by their UDP source port, each flow keeps
// its path, and no path has much more than its share.
func TestHash(t *testing.T) {
	conform(t, card{plan: &forwarding, name: "test_hash",
		checks: "128 flows over two next hops: each on one path, neither path below a third",
		config: routing}, func(b *bench) {
		introduce(b)
		const flows, each = 128, 3
		for i := range flows {
			b.send(stream{port: 0, at: b.now().Add(start + time.Duration(i)*pace),
				every: flows * pace, count: each, frame: &packet{from: 0, via: routerMAC,
					dst: netip.MustParseAddr("198.51.100.1"), flow: uint16(49200 + i),
					dscp: dscpLossy, payload: 64}})
		}
		b.run(b.now().Add(start + (each+1)*flows*pace))
		b.rest()
		paths := make(map[uint16]map[int]int)
		var load [2]int
		for port := 2; port < 4; port++ {
			for _, a := range b.packets(port) {
				udp := (*wire.UDP)(a.bytes[a.class.L4Off:])
				if paths[udp.SrcPort()] == nil {
					paths[udp.SrcPort()] = make(map[int]int)
					load[port-2]++
				}
				paths[udp.SrcPort()][port]++
			}
		}
		whole := 0
		for _, p := range paths {
			if len(p) == 1 && (p[2] == each || p[3] == each) {
				whole++
			}
		}
		b.equal("flows on one path", whole, flows)
		if min(load[0], load[1]) < flows/3 {
			b.Errorf("flows by path: %v", load)
		}
	})
}

// A packet that has no hop left to live goes nowhere. RFC 1812 section 5.3.1.
func TestTTL(t *testing.T) {
	conform(t, card{plan: &forwarding, name: "TTL", config: routing,
		checks: "TTL 1 is dropped, TTL 2 leaves with TTL 1"}, func(b *bench) {
		introduce(b)
		for _, ttl := range []uint8{1, 2} {
			p := packet{from: 2, via: routerMAC, dst: station(0).ip(false), dscp: dscpLossy}
			var buf [frameSize]byte
			f := buf[:p.build(buf[:], 0)]
			(*wire.IPv4)(f[wire.EthernetLen:]).SetTTL(ttl)
			b.send(stream{port: 2, at: b.now().Add(start), count: 1, frame: raw(bytes.Clone(f))})
			b.run(b.now().Add(2 * start))
		}
		got := b.packets(0)
		b.equal("forwarded", len(got), 1)
		b.equal("TTL", (*wire.IPv4)(got[0].bytes[wire.EthernetLen:]).TTL(), 1)
		b.equal("dropped for TTL", b.snapshot().Ledger.Dropped[frame.DropTTL].Frames, 1)
	})
}

// silence is after how long the MAC table forgets a station that says nothing; ARP remembers it.
const silence = 300 * time.Microsecond

// [RDMA at scale] section 4.2, incomplete ARP entries: a server has died, ARP has its MAC address,
// the MAC table has no port for it. What becomes of lossless packets to it, by remedy.
func TestIncompleteArp(t *testing.T) {
	for _, c := range []struct {
		remedy  fib.Remedy
		checks  string
		dropped int
		flooded int // ports that a packet leaves by
	}{
		{fib.Flood, "what the paper found: flooded in the lossless class, other uplink too", 0,
			3},
		{fib.DropLossless, "the paper's choice: lossless packets are dropped", 1, 0},
		{fib.ToCPU, "held at the CPU, which asks for the address", 0, 0},
	} {
		conform(t, card{plan: &forwarding, name: fmt.Sprintf("incomplete ARP entry (%v)", c.remedy),
			checks: c.checks, config: func(cfg *pipeline.Config) {
				routing(cfg)
				cfg.Router.Incomplete = c.remedy
				cfg.MACs.Age = silence
			}}, func(b *bench) { incomplete(b, c.remedy, c.dropped, c.flooded) })
	}
}

func incomplete(b *bench, remedy fib.Remedy, dropped, flooded int) {
	const uplink, dead = 2, 1
	introduce(b)
	b.run(b.now().Add(2 * silence))
	b.rest()
	seen := [maxPorts]int{}
	for port := range maxPorts {
		seen[port] = len(b.packets(port))
	}
	b.send(stream{port: uplink, at: b.now().Add(start), count: 1, frame: &packet{from: uplink,
		via: routerMAC, dst: station(dead).ip(false), dscp: dscpLossless}})
	b.run(b.now().Add(3 * start))
	ports, lossless := 0, uint64(0)
	snap := b.snapshot()
	for port := range maxPorts {
		if len(b.packets(port)) > seen[port] {
			ports++
			lossless += snap.Ports[port].Queues[losslessTC].Sent.Frames
		}
	}
	b.equal("ports that it left by", ports, flooded)
	b.equal("in the lossless queue", lossless, flooded)
	b.equal("dropped as incomplete", snap.Ledger.Dropped[frame.DropIncomplete].Frames, dropped)
	// The server comes back to life and says so.
	b.send(stream{port: dead, at: b.now().Add(start), count: 1,
		frame: announce(dead, station(dead).ip(false))})
	b.run(b.now().Add(3 * start))
	want := 0
	if remedy != fib.DropLossless {
		want = 1
	}
	b.equal("at the server in the end", len(b.packets(dead))-seen[dead], want)
	var left unit.Bytes
	for _, g := range b.snapshot().Ports[uplink].Groups {
		left += g.Reserved + g.Shared + g.Headroom
	}
	b.equal("left in the buffer", left, unit.Bytes(0))
}
