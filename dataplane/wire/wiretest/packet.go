// Package wiretest builds frames for tests.
package wiretest

import (
	"encoding/binary"

	"github.com/rocelab/rocelab/dataplane/wire"
)

// Packet describes a frame with an IP packet in it. The zero value of each field is what most
// tests want; Bytes says what it becomes.
type Packet struct {
	Dst, Src MACOrNumber
	Tags     []Tag
	V6       bool
	DSCP     uint8
	ECN      wire.ECN
	ID       uint16
	Options  int  // bytes of IPv4 options, a multiple of four
	More     bool // the MF flag
	Offset   uint16
	Proto    uint8  // 0 is UDP
	SrcPort  uint16 // 0 is 49153
	DstPort  uint16 // 0 is RoCEv2
	Payload  int    // bytes after the UDP or TCP header
}

// MACOrNumber is an address 02:00:00:00:hi:lo by its number, or 0xffff for broadcast.
type MACOrNumber uint16

// MAC returns the address.
func (n MACOrNumber) MAC() wire.MAC {
	if n == 0xffff {
		return wire.Broadcast
	}
	return wire.MAC{2, 0, 0, 0, byte(n >> 8), byte(n)}
}

// Tag is one VLAN tag.
type Tag struct {
	Type wire.EtherType // of the tag itself, TypeVLAN or TypeSTag
	PCP  uint8
	VID  uint16
}

// Bytes builds the frame; IP addresses are 10.0.hi.lo or fd00::hi:lo by the MAC numbers.
func (p Packet) Bytes() []byte {
	proto := p.Proto
	if proto == 0 {
		proto = wire.ProtoUDP
	}
	b := p.link()
	if p.V6 {
		b = p.ipv6(b, proto)
	} else {
		b = p.ipv4(b, proto)
	}
	at := len(b)
	switch proto {
	case wire.ProtoUDP:
		b = append(b, make([]byte, wire.UDPLen)...)
		(*wire.UDP)(b[at:]).SetLen(wire.UDPLen + p.Payload)
		p.ports(b[at:])
	case wire.ProtoTCP:
		b = append(b, make([]byte, tcpLen)...)
		p.ports(b[at:])
	}
	for i := range p.Payload {
		b = append(b, byte(i))
	}
	return b
}

const tcpLen = 20

func (p Packet) link() []byte {
	b := make([]byte, wire.EthernetLen)
	eth := (*wire.Ethernet)(b)
	eth.SetDst(p.Dst.MAC())
	eth.SetSrc(p.Src.MAC())
	eth.SetType(p.network())
	for i, tag := range p.Tags {
		binary.BigEndian.PutUint16(b[len(b)-2:], uint16(tag.Type))
		b = append(b, make([]byte, wire.TagLen)...)
		view := (*wire.Tag)(b[len(b)-wire.TagLen:])
		view.SetPCP(tag.PCP)
		view.SetVID(tag.VID)
		if i == len(p.Tags)-1 {
			view.SetType(p.network())
		}
	}
	return b
}

func (p Packet) network() wire.EtherType {
	if p.V6 {
		return wire.TypeIPv6
	}
	return wire.TypeIPv4
}

// above is the length of the transport header and payload.
func (p Packet) above(proto uint8) int {
	switch proto {
	case wire.ProtoUDP:
		return wire.UDPLen + p.Payload
	case wire.ProtoTCP:
		return tcpLen + p.Payload
	}
	return p.Payload
}

func (p Packet) ipv4(b []byte, proto uint8) []byte {
	at := len(b)
	b = append(b, make([]byte, wire.IPv4Len+p.Options)...)
	ip := (*wire.IPv4)(b[at:])
	ip.Init()
	b[at] += byte(p.Options / 4)
	ip.SetDSCP(p.DSCP)
	ip.SetECN(p.ECN)
	ip.SetTotalLen(wire.IPv4Len + p.Options + p.above(proto))
	ip.SetID(p.ID)
	ip.SetDontFragment(!p.More && p.Offset == 0)
	b[at+6] |= byte(p.Offset >> 8)
	b[at+7] = byte(p.Offset)
	if p.More {
		b[at+6] |= 0x20
	}
	ip.SetTTL(64)
	ip.SetProtocol(proto)
	ip.SetSrc([4]byte{10, 0, byte(p.Src >> 8), byte(p.Src)})
	ip.SetDst([4]byte{10, 0, byte(p.Dst >> 8), byte(p.Dst)})
	ip.SetChecksum(0)
	ip.SetChecksum(wire.HeaderChecksum(b[at:]))
	return b
}

func (p Packet) ipv6(b []byte, proto uint8) []byte {
	at := len(b)
	b = append(b, make([]byte, wire.IPv6Len)...)
	ip := (*wire.IPv6)(b[at:])
	ip.Init()
	ip.SetDSCP(p.DSCP)
	ip.SetECN(p.ECN)
	ip.SetPayloadLen(p.above(proto))
	ip.SetNextHeader(proto)
	ip.SetHopLimit(64)
	ip.SetSrc([16]byte{0: 0xfd, 14: byte(p.Src >> 8), 15: byte(p.Src)})
	ip.SetDst([16]byte{0: 0xfd, 14: byte(p.Dst >> 8), 15: byte(p.Dst)})
	return b
}

// ports sets the ports, which TCP keeps where UDP does.
func (p Packet) ports(b []byte) {
	src, dst := p.SrcPort, p.DstPort
	if src == 0 {
		src = 49153
	}
	if dst == 0 {
		dst = wire.PortRoCE
	}
	(*wire.UDP)(b).SetSrcPort(src)
	(*wire.UDP)(b).SetDstPort(dst)
}

// PFC is a PFC frame from src that sets the given pause times, by priority.
func PFC(src MACOrNumber, quanta map[uint8]uint16) []byte {
	var f wire.ControlFrame
	f.Init(src.MAC(), wire.OpPFC)
	var enabled uint8
	for priority, q := range quanta { // order does not matter
		enabled |= 1 << priority
		f.PFC().SetQuanta(priority, q)
	}
	f.PFC().SetEnabled(enabled)
	return f[:]
}
