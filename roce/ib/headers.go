package ib

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// UDPPort is the destination port of RoCEv2. A17.5.
const UDPPort = 4791

const (
	ethLen, vlanTagLen = 14, 4
	ip4Len, ip6Len     = 20, 40
	typeIPv4           = 0x0800
	typeIPv6           = 0x86dd
	typeVLAN           = 0x8100
	protoUDP           = 17
	ip4DontFragment    = 0x4000
	maxExtended        = AtomicETHLen
	maxPad             = 3
)

// HopLimit is the time to live of all our packets, as rxe sends it.
const HopLimit = 64

// MaxOverhead is the most bytes a packet of ours has beside its payload, without the FCS.
const MaxOverhead = ethLen + vlanTagLen + ip6Len + udpLen + BTHLen + maxExtended + maxPad + ICRCLen

// Endpoints say between whom the packets of one QP go.
type Endpoints struct {
	SourceMAC, DestMAC [6]byte
	VLAN               VLAN
	Source, Dest       netip.Addr // both IPv4 or both IPv6
	SourcePort         uint16     // see SourcePort
	DestQP             QPN
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
	bytes [ethLen + vlanTagLen + ip6Len + udpLen + BTHLen]byte
	l3    int
	l4    int
	sum   uint32 // IPv4: sum of the constant header words, not folded
}

// NewHeaders computes the template. It panics if source and destination differ in IP version.
func NewHeaders(e Endpoints) (h Headers) {
	if e.Source.Is4() != e.Dest.Is4() || !e.Source.IsValid() {
		panic(fmt.Sprintf("ib: headers from %v to %v", e.Source, e.Dest))
	}
	b := h.bytes[:]
	copy(b[0:], e.DestMAC[:])
	copy(b[6:], e.SourceMAC[:])
	h.l3 = ethLen
	if e.VLAN.Tagged {
		binary.BigEndian.PutUint16(b[12:], typeVLAN)
		binary.BigEndian.PutUint16(b[14:], uint16(e.VLAN.Priority)<<13|e.VLAN.ID&0xfff)
		h.l3 += vlanTagLen
	}
	if e.Source.Is4() {
		h.ipv4(e)
	} else {
		h.ipv6(e)
	}
	u := b[h.l4:]
	binary.BigEndian.PutUint16(u[0:], e.SourcePort)
	binary.BigEndian.PutUint16(u[2:], UDPPort)
	bth := (*BTH)(u[udpLen:])
	bth.SetPKey(DefaultPKey)
	bth.SetDestQP(e.DestQP)
	return h
}

func (h *Headers) ipv4(e Endpoints) {
	binary.BigEndian.PutUint16(h.bytes[h.l3-2:], typeIPv4)
	h.l4 = h.l3 + ip4Len
	ip := h.bytes[h.l3:h.l4]
	ip[0] = 0x45
	binary.BigEndian.PutUint16(ip[6:], ip4DontFragment)
	ip[ip4TTL], ip[9] = HopLimit, protoUDP
	src, dst := e.Source.As4(), e.Dest.As4()
	copy(ip[12:], src[:])
	copy(ip[16:], dst[:])
	for i := 0; i < ip4Len; i += 2 {
		h.sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
}

func (h *Headers) ipv6(e Endpoints) {
	binary.BigEndian.PutUint16(h.bytes[h.l3-2:], typeIPv6)
	h.l4 = h.l3 + ip6Len
	ip := h.bytes[h.l3:h.l4]
	ip[0] = 0x60
	ip[6], ip[ip6HopLimit] = protoUDP, HopLimit
	src, dst := e.Source.As16(), e.Dest.As16()
	copy(ip[8:], src[:])
	copy(ip[24:], dst[:])
}

// finish writes the template into dst and the fields that depend on the packet's size: the part
// from the IP header on is size bytes.
func (h *Headers) finish(dst []byte, size int, tos uint8, id uint16) {
	copy(dst, h.bytes[:h.l4+udpLen+BTHLen])
	ip := dst[h.l3:]
	if h.l4-h.l3 == ip4Len {
		ip[ip4TOS] = tos
		binary.BigEndian.PutUint16(ip[2:], uint16(size))
		binary.BigEndian.PutUint16(ip[4:], id)
		sum := h.sum + uint32(tos) + uint32(size) + uint32(id)
		sum = sum>>16 + sum&0xffff
		sum = sum>>16 + sum&0xffff
		binary.BigEndian.PutUint16(ip[ip4Checksum:], ^uint16(sum))
	} else {
		ip[0], ip[1] = 0x60|tos>>4, tos<<4
		binary.BigEndian.PutUint16(ip[4:], uint16(size-ip6Len))
	}
	binary.BigEndian.PutUint16(dst[h.l4+4:], uint16(size-(h.l4-h.l3)))
}
