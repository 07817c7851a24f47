package conformance

import (
	"math/rand/v2"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
	"github.com/rocelab/rocelab/roce/ib"
)

// event is a frame that the far end of a port sends, or the port's link going down if there is
// none. Drivers bring the link back.
type event struct {
	at    unit.Time
	port  dataplane.PortID
	frame []byte
}

// The traffic: about one frame in gap on all ports together, some of them in bursts at once, and
// flaps links going down on the way.
const (
	events = 4000
	gap    = time.Microsecond
	flaps  = 2
)

// traffic is random events for a device, in order of time.
func traffic(rng *rand.Rand, ports int, to target) (list []event) {
	g := generator{rng, ports, to}
	down := map[int]bool{}
	for i := range flaps {
		down[(i+1)*events/(flaps+1)] = true
	}
	now := unit.Time(0)
	for i := 0; i < events; {
		port := dataplane.PortID(rng.IntN(ports))
		if down[i] {
			list = append(list, event{at: now, port: port})
		}
		burst := 1
		if rng.IntN(20) == 0 {
			burst = 1 + rng.IntN(60)
		}
		make := g.kinds()[rng.IntN(len(g.kinds()))]
		for range burst {
			i++
			list = append(list, event{now, port, g.mistreat(make())})
		}
		now = now.Add(time.Duration(rng.Int64N(int64(burst) * 2 * int64(gap))))
	}
	return list
}

// generator makes frames of every kind.
type generator struct {
	rng   *rand.Rand
	ports int
	to    target
}

// kinds are what can arrive; data more often than all others.
func (g *generator) kinds() []func() []byte {
	return []func() []byte{g.data, g.data, g.data, g.data, g.roce, g.roce, g.roce, g.notification,
		g.pause, g.pause, g.control, g.noise}
}

// data is a UDP packet from one station to another, to all, or to nobody there is.
func (g *generator) data() []byte {
	station := func() wiretest.MACOrNumber { return wiretest.MACOrNumber(g.rng.IntN(g.ports + 3)) }
	p := wiretest.Packet{Src: station(), Dst: station(), V6: g.rng.IntN(4) == 0,
		DSCP: []uint8{0, 3, 4, 26, 26, 26, 48}[g.rng.IntN(7)], ECN: wire.ECN(g.rng.IntN(4)),
		Payload: g.rng.IntN(1400), DstPort: uint16(wire.PortRoCE + g.rng.IntN(2))}
	switch g.rng.IntN(10) {
	case 0:
		p.Dst = 0xffff
	case 1:
		p.Tags = []wiretest.Tag{{Type: wire.TypeVLAN, PCP: uint8(g.rng.IntN(8)), VID: 5}}
	case 2:
		p.Proto = 6
	}
	return p.Bytes()
}

// opcodes of what a peer sends: requests, acknowledgements, and one that is out of place.
var opcodes = []ib.Opcode{ib.SendFirst, ib.SendMiddle, ib.SendLast, ib.SendOnly, ib.WriteFirst,
	ib.WriteMiddle, ib.WriteLast, ib.WriteOnly, ib.WriteOnlyImm, ib.Acknowledge, ib.Acknowledge,
	ib.FetchAdd, ib.ReadRequest}

// roce is a packet from the peer with a valid ICRC. Numbers, sizes and rights may be wrong.
func (g *generator) roce() []byte {
	o := ib.Outgoing{Opcode: opcodes[g.rng.IntN(len(opcodes))], TOS: 26<<2 | uint8(g.rng.IntN(4)),
		AckReq: g.rng.IntN(2) == 0, PSN: peerPSN + ib.PSN(g.rng.IntN(4)),
		RDMA: ib.RDMA{VA: g.to.va, RKey: g.to.rkey, Length: uint32(g.rng.IntN(3000))},
		Imm:  g.rng.Uint32()}
	info := o.Opcode.Info()
	if info.Has.Payload {
		o.Payload = make([]byte, g.rng.IntN(1025))
	}
	if o.Opcode == ib.Acknowledge {
		o.PSN = g.to.psn.Add(g.rng.IntN(20))
		o.AETH.Syndrome = ib.Syndrome(g.rng.Uint32())
	}
	if g.rng.IntN(10) == 0 {
		o.RDMA.RKey++
	}
	return g.packet(&o)
}

func (g *generator) notification() []byte {
	return g.packet(&ib.Outgoing{Opcode: ib.CongestionNotify, TOS: 48 << 2})
}

func (g *generator) packet(o *ib.Outgoing) []byte {
	h := ib.NewHeaders(ib.Endpoints{SourceMAC: peerNumber.MAC(), DestMAC: hostNumber.MAC(),
		Source: address(peerNumber), Dest: address(hostNumber), SourcePort: 50_000,
		DestQP: g.to.qpn})
	b := make([]byte, h.Size(o))
	h.Build(b, o)
	return b
}

// pause is a PFC frame for some priorities; storms come from bursts.
func (g *generator) pause() []byte {
	quanta := map[uint8]uint16{}
	for p := range uint8(wire.Priorities) {
		if g.rng.IntN(3) == 0 {
			quanta[p] = []uint16{0, 1, 100, 5000, wire.MaxQuanta}[g.rng.IntN(5)]
		}
	}
	return wiretest.PFC(peerNumber, quanta)
}

// control is a MAC control frame that is not PFC, or a congestion notification message.
func (g *generator) control() []byte {
	var c wire.ControlFrame
	c.Init(peerNumber.MAC(), wire.Opcode(g.rng.IntN(3)))
	if g.rng.IntN(2) == 0 {
		(*wire.Ethernet)(c[:]).SetType(wire.TypeCNM)
	}
	return c[:]
}

func (g *generator) noise() []byte {
	b := make([]byte, 1+g.rng.IntN(200))
	for i := range b {
		b[i] = byte(g.rng.Uint32())
	}
	return b
}

// mistreat cuts a frame short, flips bits of it, or adds to it, now and then.
func (g *generator) mistreat(b []byte) []byte {
	switch g.rng.IntN(12) {
	case 0:
		return b[:1+g.rng.IntN(len(b))]
	case 1:
		for range 1 + g.rng.IntN(3) {
			b[g.rng.IntN(min(len(b), 60))] ^= 1 << g.rng.IntN(8)
		}
	case 2:
		return append(b, make([]byte, g.rng.IntN(40))...)
	}
	return b
}
