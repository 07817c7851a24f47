package wire

import "encoding/binary"

// IPv4Len is the length of an IPv4 header without options.
const IPv4Len = 20

// IPv4 is a view of the fixed part of an IPv4 header. RFC 791 section 3.1.
type IPv4 [IPv4Len]byte

// AsIPv4 views the first bytes of b; false if there are too few.
func AsIPv4(b []byte) (*IPv4, bool) {
	if len(b) < IPv4Len {
		return nil, false
	}
	return (*IPv4)(b), true
}

// Init makes the header version 4 without options and clears everything else.
func (h *IPv4) Init() { *h = IPv4{0: 0x45} }

// Version is 4 in a valid header.
func (h *IPv4) Version() uint8 { return h[0] >> 4 }

// HeaderLen is the header's length in bytes with options, 0 to 60; below 20 it is invalid.
func (h *IPv4) HeaderLen() int { return int(h[0]&0x0f) * 4 }

// DSCP is the differentiated services codepoint, 0 to 63. RFC 2474 section 3.
func (h *IPv4) DSCP() uint8 { return h[1] >> 2 }

// SetDSCP sets the codepoint to the low six bits of d and adjusts the header checksum.
func (h *IPv4) SetDSCP(d uint8) { h.setTOS(h[1]&0x03 | d<<2) }

// ECN is the congestion codepoint.
func (h *IPv4) ECN() ECN { return ECN(h[1] & 0x03) }

// SetECN sets the congestion codepoint and adjusts the header checksum.
func (h *IPv4) SetECN(e ECN) { h.setTOS(h[1]&^0x03 | byte(e)&0x03) }

func (h *IPv4) setTOS(tos byte) {
	old := binary.BigEndian.Uint16(h[0:2])
	h[1] = tos
	h.adjustChecksum(old, binary.BigEndian.Uint16(h[0:2]))
}

// TotalLen is the length of header and payload in bytes.
func (h *IPv4) TotalLen() int { return int(binary.BigEndian.Uint16(h[2:4])) }

// SetTotalLen sets the length of header and payload, 0 to 65535.
func (h *IPv4) SetTotalLen(n int) { binary.BigEndian.PutUint16(h[2:4], uint16(n)) }

// ID is the identification.
func (h *IPv4) ID() uint16 { return binary.BigEndian.Uint16(h[4:6]) }

// SetID sets the identification.
func (h *IPv4) SetID(id uint16) { binary.BigEndian.PutUint16(h[4:6], id) }

// DontFragment is the DF flag.
func (h *IPv4) DontFragment() bool { return h[6]&0x40 != 0 }

// SetDontFragment sets the DF flag.
func (h *IPv4) SetDontFragment(on bool) {
	h[6] &^= 0x40
	if on {
		h[6] |= 0x40
	}
}

// MoreFragments is the MF flag.
func (h *IPv4) MoreFragments() bool { return h[6]&0x20 != 0 }

// FragmentOffset is the place of this fragment in its packet, in units of eight bytes.
func (h *IPv4) FragmentOffset() uint16 { return binary.BigEndian.Uint16(h[6:8]) & 0x1fff }

// TTL is the time to live.
func (h *IPv4) TTL() uint8 { return h[8] }

// SetTTL sets the time to live and adjusts the header checksum.
func (h *IPv4) SetTTL(ttl uint8) {
	old := binary.BigEndian.Uint16(h[8:10])
	h[8] = ttl
	h.adjustChecksum(old, binary.BigEndian.Uint16(h[8:10]))
}

// Protocol is the number of the protocol above.
func (h *IPv4) Protocol() uint8 { return h[9] }

// SetProtocol sets the number of the protocol above.
func (h *IPv4) SetProtocol(p uint8) { h[9] = p }

// Checksum is the header checksum as it stands.
func (h *IPv4) Checksum() uint16 { return binary.BigEndian.Uint16(h[10:12]) }

// SetChecksum sets the header checksum.
func (h *IPv4) SetChecksum(c uint16) { binary.BigEndian.PutUint16(h[10:12], c) }

// UpdateChecksum sets the checksum of a header without options.
func (h *IPv4) UpdateChecksum() {
	h.SetChecksum(0)
	h.SetChecksum(HeaderChecksum(h[:]))
}

// Src is the source address.
func (h *IPv4) Src() [4]byte { return [4]byte(h[12:16]) }

// SetSrc sets the source address.
func (h *IPv4) SetSrc(a [4]byte) { copy(h[12:16], a[:]) }

// Dst is the destination address.
func (h *IPv4) Dst() [4]byte { return [4]byte(h[16:20]) }

// SetDst sets the destination address.
func (h *IPv4) SetDst(a [4]byte) { copy(h[16:20], a[:]) }

// adjustChecksum accounts for one 16-bit word of the header going from old to now.
// RFC 1624 equation 3: HC' = ~(~HC + ~m + m').
func (h *IPv4) adjustChecksum(old, now uint16) { h.SetChecksum(adjusted(h.Checksum(), old, now)) }

func adjusted(checksum, old, now uint16) uint16 {
	return ^fold(uint32(^checksum) + uint32(^old) + uint32(now))
}

// HeaderChecksum is the Internet checksum of an IPv4 header with its options, whose checksum
// field is zero. Over a header that carries its right checksum it is zero. RFC 1071.
func HeaderChecksum(header []byte) uint16 {
	var sum uint32
	for ; len(header) >= 2; header = header[2:] {
		sum += uint32(binary.BigEndian.Uint16(header))
	}
	return ^fold(sum)
}
