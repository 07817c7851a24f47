package wire

import (
	"encoding/binary"
	"fmt"
)

// EtherType says what follows an Ethernet header or a tag.
type EtherType uint16

// The types that this fabric knows.
const (
	TypeIPv4       EtherType = 0x0800
	TypeARP        EtherType = 0x0806
	TypeVLAN       EtherType = 0x8100 // C-TAG, IEEE 802.1Q-2022 9.5
	TypeIPv6       EtherType = 0x86dd
	TypeMACControl EtherType = 0x8808 // IEEE 802.3-2022 31
	TypeSTag       EtherType = 0x88a8 // S-TAG, the outer one of two
	TypeCNM        EtherType = 0x22e7 // congestion notification message, IEEE 802.1Q-2022 33
	TypeCNTag      EtherType = 0x22e9 // congestion notification tag
)

func (t EtherType) String() string { return fmt.Sprintf("0x%04x", uint16(t)) }

// EthernetLen is the length of an Ethernet header without tags.
const EthernetLen = 14

// Ethernet is a view of an Ethernet header.
type Ethernet [EthernetLen]byte

// AsEthernet views the first bytes of b; false if there are too few.
func AsEthernet(b []byte) (*Ethernet, bool) {
	if len(b) < EthernetLen {
		return nil, false
	}
	return (*Ethernet)(b), true
}

// Dst is the destination address.
func (h *Ethernet) Dst() MAC { return MAC(h[0:6]) }

// SetDst sets the destination address.
func (h *Ethernet) SetDst(m MAC) { copy(h[0:6], m[:]) }

// Src is the source address.
func (h *Ethernet) Src() MAC { return MAC(h[6:12]) }

// SetSrc sets the source address.
func (h *Ethernet) SetSrc(m MAC) { copy(h[6:12], m[:]) }

// Type is the EtherType, that of the tag if the frame has one.
func (h *Ethernet) Type() EtherType { return EtherType(binary.BigEndian.Uint16(h[12:14])) }

// SetType sets the EtherType.
func (h *Ethernet) SetType(t EtherType) { binary.BigEndian.PutUint16(h[12:14], uint16(t)) }

// TagLen is the length of an 802.1Q tag.
const TagLen = 4

// Tag is a view of the two octets of tag control information and the EtherType after them, the
// four bytes that follow a tag's own EtherType. IEEE 802.1Q-2022 9.6.
type Tag [TagLen]byte

// AsTag views the first bytes of b; false if there are too few.
func AsTag(b []byte) (*Tag, bool) {
	if len(b) < TagLen {
		return nil, false
	}
	return (*Tag)(b), true
}

// PCP is the priority code point, 0 to 7.
func (h *Tag) PCP() uint8 { return h[0] >> 5 }

// SetPCP sets the priority code point to the low three bits of p.
func (h *Tag) SetPCP(p uint8) { h[0] = h[0]&0x1f | p<<5 }

// DEI is the drop eligible indicator.
func (h *Tag) DEI() bool { return h[0]&0x10 != 0 }

// SetDEI sets the drop eligible indicator.
func (h *Tag) SetDEI(on bool) {
	h[0] &^= 0x10
	if on {
		h[0] |= 0x10
	}
}

// VID is the VLAN identifier, 0 to 4095.
func (h *Tag) VID() uint16 { return binary.BigEndian.Uint16(h[0:2]) & 0x0fff }

// SetVID sets the VLAN identifier to the low twelve bits of v.
func (h *Tag) SetVID(v uint16) { h[0], h[1] = h[0]&0xf0|byte(v>>8)&0x0f, byte(v) }

// Type is the EtherType of what follows the tag.
func (h *Tag) Type() EtherType { return EtherType(binary.BigEndian.Uint16(h[2:4])) }

// SetType sets the EtherType of what follows the tag.
func (h *Tag) SetType(t EtherType) { binary.BigEndian.PutUint16(h[2:4], uint16(t)) }
