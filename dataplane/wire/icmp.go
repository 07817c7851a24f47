package wire

import "encoding/binary"

// ICMPLen is the length of the header that all ICMP and ICMPv6 messages share.
const ICMPLen = 4

// ICMP is a view of type, code and checksum, alike in both. RFC 792, RFC 4443 section 2.1.
type ICMP [ICMPLen]byte

// The messages that a router sends and reads.
const (
	ICMPEchoReply   uint8 = 0 // RFC 792
	ICMPEcho        uint8 = 8
	ICMPv6Echo      uint8 = 128 // RFC 4443 section 4
	ICMPv6EchoReply uint8 = 129
	ICMPv6Solicit   uint8 = 135 // neighbour solicitation, RFC 4861 section 4.3
	ICMPv6Advert    uint8 = 136 // neighbour advertisement, RFC 4861 section 4.4
)

// AsICMP views the first bytes of b; false if there are too few.
func AsICMP(b []byte) (*ICMP, bool) {
	if len(b) < ICMPLen {
		return nil, false
	}
	return (*ICMP)(b), true
}

// Type is the message's type.
func (h *ICMP) Type() uint8 { return h[0] }

// SetType sets the type and adjusts the checksum.
func (h *ICMP) SetType(t uint8) {
	old := binary.BigEndian.Uint16(h[0:2])
	h[0] = t
	sum := adjusted(h.Checksum(), old, binary.BigEndian.Uint16(h[0:2]))
	binary.BigEndian.PutUint16(h[2:4], sum)
}

// Code is the message's code.
func (h *ICMP) Code() uint8 { return h[1] }

// Checksum is the message's checksum as it stands.
func (h *ICMP) Checksum() uint16 { return binary.BigEndian.Uint16(h[2:4]) }

// SetChecksum sets the checksum.
func (h *ICMP) SetChecksum(c uint16) { binary.BigEndian.PutUint16(h[2:4], c) }

// ICMPv6Checksum is the checksum of an ICMPv6 message whose checksum field is zero; over one that
// carries its right checksum it is zero. RFC 4443 section 2.3, RFC 8200 section 8.1.
func ICMPv6Checksum(ip *IPv6, message []byte) uint16 {
	sum := sum16(ip[8:40]) // both addresses
	sum += uint32(len(message))>>16 + uint32(len(message))&0xffff
	sum += ProtoICMPv6
	return ^fold(sum + sum16(message))
}

// ICMPChecksum is the same of an ICMP message, which has no pseudo-header. RFC 792.
func ICMPChecksum(message []byte) uint16 { return ^fold(sum16(message)) }

// sum16 adds up 16-bit words, the last byte of an odd number as if a zero followed. RFC 1071.
func sum16(b []byte) (sum uint32) {
	for ; len(b) >= 2; b = b[2:] {
		sum += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	return sum
}

func fold(sum uint32) uint16 {
	sum = sum&0xffff + sum>>16
	return uint16(sum&0xffff + sum>>16)
}
