package wire

import (
	"encoding/hex"
	"fmt"
)

// MAC is a 48-bit address.
type MAC [6]byte

// Addresses with a meaning of their own.
var (
	Broadcast = MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	// MACControlAddr is where PAUSE and PFC frames go. IEEE 802.3-2022 31A, 31B.1.
	MACControlAddr = MAC{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01}
)

// ParseMAC reads six hexadecimal bytes with colons or hyphens between them.
func ParseMAC(s string) (m MAC, err error) {
	if len(s) != 17 {
		return m, fmt.Errorf("MAC address %q: want six bytes as 02:00:00:00:00:01", s)
	}
	for i := range m {
		at := 3 * i
		_, err := hex.Decode(m[i:i+1], []byte(s[at:at+2]))
		if err != nil || (i > 0 && s[at-1] != ':' && s[at-1] != '-') {
			return MAC{}, fmt.Errorf("MAC address %q: want six bytes as 02:00:00:00:00:01", s)
		}
	}
	return m, nil
}

// String prints the address in lower case with colons.
func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// IsMulticast reports whether the group bit is set; the broadcast address has it too.
func (m MAC) IsMulticast() bool { return m[0]&1 != 0 }

// MarshalText is String for encoders.
func (m MAC) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText makes a MAC readable from configuration files.
func (m *MAC) UnmarshalText(b []byte) (err error) { *m, err = ParseMAC(string(b)); return err }
