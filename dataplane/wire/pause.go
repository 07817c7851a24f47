package wire

import "encoding/binary"

// Opcode is the operation of a MAC control frame. IEEE 802.3-2022 31A.
type Opcode uint16

// The operations that this fabric knows.
const (
	OpPause Opcode = 0x0001
	OpPFC   Opcode = 0x0101 // IEEE 802.1Q-2022 36.1.3
)

// Priorities is how many classes PFC tells apart.
const Priorities = 8

// QuantumBits is the unit of pause times, in bit times of the link. IEEE 802.3-2022 31B.2.
const QuantumBits = 512

// MaxQuanta is the longest pause time that fits a frame.
const MaxQuanta = 0xffff

// PFCLen is the length of a PFC frame's body after the Ethernet header, without padding.
const PFCLen = 20

// PFC is a view of the body of a priority-based flow control frame, from the opcode on.
type PFC [PFCLen]byte

// AsPFC views the body that follows the Ethernet header; false if there are too few bytes. The
// opcode is not judged.
func AsPFC(b []byte) (*PFC, bool) {
	if len(b) < PFCLen {
		return nil, false
	}
	return (*PFC)(b), true
}

// Opcode is OpPFC in a PFC frame.
func (h *PFC) Opcode() Opcode { return Opcode(binary.BigEndian.Uint16(h[0:2])) }

// Enabled is the class-enable vector: bit n set means that Quanta(n) is to be obeyed. The upper
// octet is reserved.
func (h *PFC) Enabled() uint8 { return h[3] }

// SetEnabled sets the class-enable vector.
func (h *PFC) SetEnabled(v uint8) { h[3] = v }

// Quanta is the pause time of a priority, modulo 8, in quanta; zero resumes it.
func (h *PFC) Quanta(priority uint8) uint16 {
	at := 4 + 2*(priority&7)
	return uint16(h[at])<<8 | uint16(h[at+1])
}

// SetQuanta sets the pause time of a priority, modulo 8.
func (h *PFC) SetQuanta(priority uint8, quanta uint16) {
	at := 4 + 2*(priority&7)
	h[at], h[at+1] = byte(quanta>>8), byte(quanta)
}

// PauseLen is the length of a PAUSE frame's body after the Ethernet header, without padding.
const PauseLen = 4

// Pause is a view of the body of a PAUSE frame, from the opcode on. IEEE 802.3-2022 31B.
type Pause [PauseLen]byte

// AsPause views the body that follows the Ethernet header; false if there are too few bytes. Any
// MAC control frame can be viewed so to read its opcode.
func AsPause(b []byte) (*Pause, bool) {
	if len(b) < PauseLen {
		return nil, false
	}
	return (*Pause)(b), true
}

// Opcode is OpPause in a PAUSE frame.
func (h *Pause) Opcode() Opcode { return Opcode(binary.BigEndian.Uint16(h[0:2])) }

// Quanta is the pause time in quanta; zero resumes.
func (h *Pause) Quanta() uint16 { return binary.BigEndian.Uint16(h[2:4]) }

// SetQuanta sets the pause time.
func (h *Pause) SetQuanta(q uint16) { binary.BigEndian.PutUint16(h[2:4], q) }

// ControlFrame is the bytes of a MAC control frame, padded to the minimum.
type ControlFrame [MinFrame]byte

// Init makes an empty control frame from src.
func (f *ControlFrame) Init(src MAC, op Opcode) {
	*f = ControlFrame{}
	eth := (*Ethernet)(f[:EthernetLen])
	eth.SetDst(MACControlAddr)
	eth.SetSrc(src)
	eth.SetType(TypeMACControl)
	binary.BigEndian.PutUint16(f[EthernetLen:], uint16(op))
}

// PFC views the body.
func (f *ControlFrame) PFC() *PFC { return (*PFC)(f[EthernetLen:]) }

// Pause views the body.
func (f *ControlFrame) Pause() *Pause { return (*Pause)(f[EthernetLen:]) }
