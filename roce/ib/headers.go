package ib

import (
	"cmp"
	"fmt"
	"net/netip"

	"github.com/rocelab/rocelab/dataplane/wire"
)

const (
	maxExtended = RETHLen + ImmDtLen + TransitLen // more than an atomic has
	maxPad      = 3
)

// HopLimit is the time to live of all our packets, as rxe sends it.
const HopLimit = 64

// MaxOverhead is the most bytes a packet of ours has beside its payload, without the FCS.
const MaxOverhead = wire.EthernetLen + wire.TagLen + wire.IPv6Len + wire.UDPLen + BTHLen +
	maxExtended + maxPad + ICRCLen

// Endpoints say between whom the packets of one QP go.
type Endpoints struct {
	SourceMAC, DestMAC [6]byte
	VLAN               VLAN
	Source, Dest       netip.Addr // both IPv4 or both IPv6
	SourcePort         uint16     // see SourcePort
	DestQP             QPN
	PKey               uint16 // 0 is DefaultPKey
}

// VLAN is an optional 802.1Q tag; the zero value is no tag. ID 0 with a priority is a priority tag.
type VLAN struct {
	ID       uint16
	Priority uint8
	Tagged   bool
}

// SourcePort spreads the QPs of a pair of hosts over ECMP paths: it is the same for both
// directions and lies in 49153..65535, since tcpdump takes 49152 for another protocol.
func SourcePort(a, b QPN) uint16 {
	if a > b {
		a, b = b, a
	}
	h := (uint64(a)<<24 | uint64(b)) * 0x9e3779b97f4a7c15
	return uint16(49153 + (h>>32)%(65536-49153))
}

// Headers is the template of the packets from one QP to its peer: Ethernet to BTH, all fields set
// that do not change from packet to packet.
type Headers struct {
	bytes [wire.EthernetLen + wire.TagLen + wire.IPv6Len + wire.UDPLen + BTHLen]byte
	l3    int
	l4    int
	sum   uint32 // IPv4: one's complement sum of the constant header words
}

// NewHeaders computes the template. It panics if source and destination differ in IP version.
func NewHeaders(e Endpoints) (h Headers) {
	if e.Source.Is4() != e.Dest.Is4() || !e.Source.IsValid() {
		panic(fmt.Sprintf("ib: headers from %v to %v", e.Source, e.Dest))
	}
	eth := (*wire.Ethernet)(h.bytes[:])
	eth.SetDst(e.DestMAC)
	eth.SetSrc(e.SourceMAC)
	h.l3 = wire.EthernetLen
	network := wire.TypeIPv6
	if e.Source.Is4() {
		network = wire.TypeIPv4
	}
	if e.VLAN.Tagged {
		tag := (*wire.Tag)(h.bytes[h.l3:])
		tag.SetPCP(e.VLAN.Priority)
		tag.SetVID(e.VLAN.ID)
		tag.SetType(network)
		network = wire.TypeVLAN
		h.l3 += wire.TagLen
	}
	eth.SetType(network)
	if e.Source.Is4() {
		h.ipv4(e)
	} else {
		h.ipv6(e)
	}
	udp := (*wire.UDP)(h.bytes[h.l4:])
	udp.SetSrcPort(e.SourcePort)
	udp.SetDstPort(wire.PortRoCE)
	bth := (*BTH)(h.bytes[h.l4+wire.UDPLen:])
	bth.SetPKey(cmp.Or(e.PKey, DefaultPKey))
	bth.SetDestQP(e.DestQP)
	return h
}

func (h *Headers) ipv4(e Endpoints) {
	h.l4 = h.l3 + wire.IPv4Len
	ip := (*wire.IPv4)(h.bytes[h.l3:])
	ip.Init()
	ip.SetDontFragment(true)
	ip.SetTTL(HopLimit)
	ip.SetProtocol(wire.ProtoUDP)
	ip.SetSrc(e.Source.As4())
	ip.SetDst(e.Dest.As4())
	ip.SetChecksum(0)
	h.sum = uint32(^wire.HeaderChecksum(ip[:]))
}

func (h *Headers) ipv6(e Endpoints) {
	h.l4 = h.l3 + wire.IPv6Len
	ip := (*wire.IPv6)(h.bytes[h.l3:])
	ip.Init()
	ip.SetNextHeader(wire.ProtoUDP)
	ip.SetHopLimit(HopLimit)
	ip.SetSrc(e.Source.As16())
	ip.SetDst(e.Dest.As16())
}

// finish writes the template into dst and the fields that depend on the packet: the part from the
// IP header on is size bytes. The IPv4 checksum is completed from the template's sum, so that its
// cost does not depend on the header's length. RFC 1071 2 (associativity).
func (h *Headers) finish(dst []byte, size int, tos uint8, id uint16) {
	copy(dst, h.bytes[:h.l4+wire.UDPLen+BTHLen])
	if h.l4-h.l3 == wire.IPv4Len {
		ip := (*wire.IPv4)(dst[h.l3:])
		ip[ip4TOS] = tos
		ip.SetTotalLen(size)
		ip.SetID(id)
		sum := h.sum + uint32(tos) + uint32(size) + uint32(id)
		sum = sum>>16 + sum&0xffff
		sum = sum>>16 + sum&0xffff
		ip.SetChecksum(^uint16(sum))
	} else {
		ip := (*wire.IPv6)(dst[h.l3:])
		ip[0], ip[1] = 0x60|tos>>4, tos<<4
		ip.SetPayloadLen(size - wire.IPv6Len)
	}
	(*wire.UDP)(dst[h.l4:]).SetLen(size - (h.l4 - h.l3))
}
