package wire

import "encoding/binary"

// UDPLen is the length of a UDP header.
const UDPLen = 8

// UDP is a view of a UDP header. RFC 768. RoCEv2 over IPv4 sends a checksum of zero.
type UDP [UDPLen]byte

// AsUDP views the first bytes of b; false if there are too few.
func AsUDP(b []byte) (*UDP, bool) {
	if len(b) < UDPLen {
		return nil, false
	}
	return (*UDP)(b), true
}

// SrcPort is the source port; RoCEv2 senders put the flow's entropy here.
func (h *UDP) SrcPort() uint16 { return binary.BigEndian.Uint16(h[0:2]) }

// SetSrcPort sets the source port.
func (h *UDP) SetSrcPort(p uint16) { binary.BigEndian.PutUint16(h[0:2], p) }

// DstPort is the destination port.
func (h *UDP) DstPort() uint16 { return binary.BigEndian.Uint16(h[2:4]) }

// SetDstPort sets the destination port.
func (h *UDP) SetDstPort(p uint16) { binary.BigEndian.PutUint16(h[2:4], p) }

// Len is the length of header and payload in bytes.
func (h *UDP) Len() int { return int(binary.BigEndian.Uint16(h[4:6])) }

// SetLen sets the length of header and payload, 0 to 65535.
func (h *UDP) SetLen(n int) { binary.BigEndian.PutUint16(h[4:6], uint16(n)) }

// Checksum is the checksum as it stands; zero means none.
func (h *UDP) Checksum() uint16 { return binary.BigEndian.Uint16(h[6:8]) }

// SetChecksum sets the checksum.
func (h *UDP) SetChecksum(c uint16) { binary.BigEndian.PutUint16(h[6:8], c) }
