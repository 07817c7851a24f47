package switchplan

import (
	"net/netip"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/ib"
)

// frameSize is what a frame holds at most, as the daemons' frames.
const frameSize = 1792

// station is the tester's end of port n: the host that the switch believes is there.
type station int

func (s station) mac() wire.MAC { return wire.MAC{2, 0x72, 0, 0, 0, byte(s)} }

func (s station) ip(v6 bool) netip.Addr {
	if v6 {
		return netip.AddrFrom16([16]byte{0: 0xfd, 15: byte(s) + 1})
	}
	return netip.AddrFrom4([4]byte{10, 0, 0, byte(s) + 1})
}

// packet is a RoCEv2 SEND from one station to another: real headers, a right ICRC, and the number
// of the frame in its stream as PSN.
type packet struct {
	from, to station
	dscp     uint8
	ecn      wire.ECN
	v6       bool
	tag      ib.VLAN
	payload  int // bytes; 0 is defaultPayload

	// What differs in a packet that is routed: the router's MAC address, and an IP destination and
	// a UDP source port other than those of the station.
	via  wire.MAC
	dst  netip.Addr
	flow uint16

	headers *ib.Headers
}

// defaultPayload is the RoCE MTU of a standard Ethernet link.
const defaultPayload = 1024

func (p *packet) build(dst []byte, n int) int {
	if p.headers == nil {
		e := ib.Endpoints{SourceMAC: p.from.mac(), DestMAC: p.to.mac(), VLAN: p.tag,
			Source: p.from.ip(p.v6), Dest: p.to.ip(p.v6), SourcePort: ib.SourcePort(17, 18),
			DestQP: 17}
		if p.via != (wire.MAC{}) {
			e.DestMAC = p.via
		}
		if p.dst.IsValid() {
			e.Dest = p.dst
		}
		if p.flow != 0 {
			e.SourcePort = p.flow
		}
		h := ib.NewHeaders(e)
		p.headers = &h
	}
	if p.payload == 0 {
		p.payload = defaultPayload
	}
	return p.headers.Build(dst, &ib.Outgoing{Opcode: ib.SendOnly, TOS: p.dscp<<2 | uint8(p.ecn),
		ID: uint16(n), PSN: ib.PSN(n), Payload: make([]byte, p.payload)})
}

// size is the length of the packet's frames.
func (p packet) size() unit.Bytes {
	var scratch [frameSize]byte
	return unit.Bytes(p.build(scratch[:], 0))
}

// number is the place of a received packet in its stream, and whether the packet is whole: known
// headers and a right ICRC.
func (a *arrival) number() (n int, whole bool) {
	if !a.class.Kind.IsRoCE() {
		return 0, false
	}
	p, ok := ib.Open(a.bytes, int(a.class.L3Off), int(a.class.L4Off))
	if !ok {
		return 0, false
	}
	return int(p.BTH.PSN()), p.CheckICRC()
}

// pause is a PFC frame of a station that asks for the given quanta of the given priorities.
func pause(from station, quanta uint16, priorities ...uint8) raw {
	var f wire.ControlFrame
	f.Init(from.mac(), wire.OpPFC)
	var enabled uint8
	for _, p := range priorities {
		enabled |= 1 << p
		f.PFC().SetQuanta(p, quanta)
	}
	f.PFC().SetEnabled(enabled)
	return f[:]
}
