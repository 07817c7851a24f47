package wire

import "encoding/binary"

// IPv6Len is the length of the fixed IPv6 header.
const IPv6Len = 40

// IPv6 is a view of the fixed IPv6 header. RFC 8200 section 3.
type IPv6 [IPv6Len]byte

// AsIPv6 views the first bytes of b; false if there are too few.
func AsIPv6(b []byte) (*IPv6, bool) {
	if len(b) < IPv6Len {
		return nil, false
	}
	return (*IPv6)(b), true
}

// Init makes the header version 6 and clears everything else.
func (h *IPv6) Init() { *h = IPv6{0: 0x60} }

// Version is 6 in a valid header.
func (h *IPv6) Version() uint8 { return h[0] >> 4 }

func (h *IPv6) trafficClass() uint8 { return h[0]<<4 | h[1]>>4 }

func (h *IPv6) setTrafficClass(c uint8) {
	h[0] = h[0]&0xf0 | c>>4
	h[1] = h[1]&0x0f | c<<4
}

// DSCP is the differentiated services codepoint, 0 to 63. RFC 2474 section 3.
func (h *IPv6) DSCP() uint8 { return h.trafficClass() >> 2 }

// SetDSCP sets the codepoint to the low six bits of d.
func (h *IPv6) SetDSCP(d uint8) { h.setTrafficClass(h.trafficClass()&0x03 | d<<2) }

// ECN is the congestion codepoint.
func (h *IPv6) ECN() ECN { return ECN(h.trafficClass() & 0x03) }

// SetECN sets the congestion codepoint.
func (h *IPv6) SetECN(e ECN) { h.setTrafficClass(h.trafficClass()&^0x03 | uint8(e)&0x03) }

// FlowLabel is the twenty-bit label.
func (h *IPv6) FlowLabel() uint32 { return binary.BigEndian.Uint32(h[0:4]) & 0xfffff }

// SetFlowLabel sets the label to the low twenty bits of l.
func (h *IPv6) SetFlowLabel(l uint32) {
	first := binary.BigEndian.Uint32(h[0:4])&^0xfffff | l&0xfffff
	binary.BigEndian.PutUint32(h[0:4], first)
}

// PayloadLen is the length of what follows this header in bytes.
func (h *IPv6) PayloadLen() int { return int(binary.BigEndian.Uint16(h[4:6])) }

// SetPayloadLen sets the length of what follows this header, 0 to 65535.
func (h *IPv6) SetPayloadLen(n int) { binary.BigEndian.PutUint16(h[4:6], uint16(n)) }

// NextHeader is the number of the header that follows.
func (h *IPv6) NextHeader() uint8 { return h[6] }

// SetNextHeader sets the number of the header that follows.
func (h *IPv6) SetNextHeader(p uint8) { h[6] = p }

// HopLimit is the hop limit.
func (h *IPv6) HopLimit() uint8 { return h[7] }

// SetHopLimit sets the hop limit.
func (h *IPv6) SetHopLimit(n uint8) { h[7] = n }

// Src is the source address.
func (h *IPv6) Src() [16]byte { return [16]byte(h[8:24]) }

// SetSrc sets the source address.
func (h *IPv6) SetSrc(a [16]byte) { copy(h[8:24], a[:]) }

// Dst is the destination address.
func (h *IPv6) Dst() [16]byte { return [16]byte(h[24:40]) }

// SetDst sets the destination address.
func (h *IPv6) SetDst(a [16]byte) { copy(h[24:40], a[:]) }
