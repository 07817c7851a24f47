package wire

// NDLen is the length of a neighbour solicitation or advertisement without options.
const NDLen = 24

// ND is a view of a neighbour solicitation or advertisement up to its options. RFC 4861 sections
// 4.3 and 4.4.
type ND [NDLen]byte

// AsND views the first bytes of b; false if there are too few. The type is not judged.
func AsND(b []byte) (*ND, bool) {
	if len(b) < NDLen {
		return nil, false
	}
	return (*ND)(b), true
}

// Init makes an empty message of that type.
func (h *ND) Init(t uint8) { *h = ND{0: t} }

// The flags of an advertisement.
const (
	NDRouter    uint8 = 0x80 // the sender is a router
	NDSolicited uint8 = 0x40 // it answers a solicitation
	NDOverride  uint8 = 0x20 // it replaces what the receiver knew
)

// Flags are NDRouter, NDSolicited and NDOverride.
func (h *ND) Flags() uint8 { return h[4] & 0xe0 }

// SetFlags sets the flags.
func (h *ND) SetFlags(f uint8) { h[4] = h[4]&0x1f | f&0xe0 }

// Target is the address in question.
func (h *ND) Target() [16]byte { return [16]byte(h[8:24]) }

// SetTarget sets the address in question.
func (h *ND) SetTarget(a [16]byte) { copy(h[8:24], a[:]) }

// LinkLayerLen is the length of a link-layer address option of Ethernet.
const LinkLayerLen = 8

// The options that carry one. RFC 4861 section 4.6.1.
const (
	NDSource uint8 = 1
	NDTarget uint8 = 2
)

// LinkLayer finds the link-layer address option of that type in the options that follow a
// message. It is false if there is none. Options that do not end where the bytes do are an error,
// as is one without length: ok is false, and so is valid. RFC 4861 section 7.1.
func LinkLayer(options []byte, kind uint8) (mac MAC, ok, valid bool) {
	for len(options) > 0 {
		if len(options) < 2 || options[1] == 0 || len(options) < 8*int(options[1]) {
			return MAC{}, false, false
		}
		if options[0] == kind && options[1] == 1 && !ok {
			mac, ok = MAC(options[2:8]), true
		}
		options = options[8*int(options[1]):]
	}
	return mac, ok, true
}

// PutLinkLayer writes the option over the first LinkLayerLen bytes of b.
func PutLinkLayer(b []byte, kind uint8, m MAC) {
	b[0], b[1] = kind, 1
	copy(b[2:8], m[:])
}
