package wire

import (
	"encoding/binary"
	"fmt"
)

// CNTagLen is the length of what follows a CN-TAG's own EtherType.
const CNTagLen = 4

// CNTag is a view of the flow identifier and the EtherType after it, the four bytes that follow a
// CN-TAG's own EtherType. A source puts the tag behind its VLAN tags to know from which of its
// reaction points a frame came. IEEE 802.1Q-2022 33.2.
type CNTag [CNTagLen]byte

// AsCNTag views the first bytes of b; false if there are too few.
func AsCNTag(b []byte) (*CNTag, bool) {
	if len(b) < CNTagLen {
		return nil, false
	}
	return (*CNTag)(b), true
}

// Flow is the flow identifier, which only the source understands.
func (h *CNTag) Flow() uint16 { return binary.BigEndian.Uint16(h[0:2]) }

// SetFlow sets the flow identifier.
func (h *CNTag) SetFlow(f uint16) { binary.BigEndian.PutUint16(h[0:2], f) }

// Type is the EtherType of what follows the tag.
func (h *CNTag) Type() EtherType { return EtherType(binary.BigEndian.Uint16(h[2:4])) }

// SetType sets the EtherType of what follows the tag.
func (h *CNTag) SetType(t EtherType) { binary.BigEndian.PutUint16(h[2:4], uint16(t)) }

// CNMLen is the length of a congestion notification message without the piece of the sampled
// frame that follows it, of which there are at most CNMMaxMSDU bytes.
const (
	CNMLen     = 24
	CNMMaxMSDU = 64
)

// CNMUnit is the unit of a CNM's queue lengths, in bytes.
const CNMUnit = 64

// CNM is a view of a congestion notification message, from the version on. IEEE 802.1Q-2022 33.4.
//
//	bits  4 version | 6 reserved | 6 quantized feedback
//	bytes 8 CPID | 2 Qoff | 2 Qdelta | 2 priority | 6 destination | 2 MSDU length | MSDU
type CNM [CNMLen]byte

// AsCNM views the first bytes of b; false if there are too few for the message and the piece of
// the sampled frame that it says it has, or if it says that it has more than it may.
func AsCNM(b []byte) (*CNM, bool) {
	if len(b) < CNMLen {
		return nil, false
	}
	h := (*CNM)(b)
	if n := h.MSDULen(); n > CNMMaxMSDU || n > len(b)-CNMLen {
		return nil, false
	}
	return h, true
}

// Init makes an empty message of version 0.
func (h *CNM) Init() { *h = CNM{} }

// Version is 0 in every message that the standard knows.
func (h *CNM) Version() uint8 { return h[0] >> 4 }

// Feedback is -Fb quantized to six bits, 0 to 63.
func (h *CNM) Feedback() uint8 { return h[1] & 0x3f }

// SetFeedback sets the quantized feedback to the low six bits of fb.
func (h *CNM) SetFeedback(fb uint8) { h[1] = h[1]&0xc0 | fb&0x3f }

// CPID names the congestion point.
func (h *CNM) CPID() CPID { return CPID(h[2:10]) }

// SetCPID sets the name of the congestion point.
func (h *CNM) SetCPID(id CPID) { copy(h[2:10], id[:]) }

// QOffset is how far the queue was below its equilibrium, Qeq - Q, in units of 64 bytes: [QCN]'s
// -Qoff.
func (h *CNM) QOffset() int16 { return int16(binary.BigEndian.Uint16(h[10:12])) }

// SetQOffset sets it.
func (h *CNM) SetQOffset(units int16) { binary.BigEndian.PutUint16(h[10:12], uint16(units)) }

// QDelta is by how much the queue grew since the last sample, in units of 64 bytes.
func (h *CNM) QDelta() int16 { return int16(binary.BigEndian.Uint16(h[12:14])) }

// SetQDelta sets it.
func (h *CNM) SetQDelta(units int16) { binary.BigEndian.PutUint16(h[12:14], uint16(units)) }

// Priority is the priority of the sampled frame, 0 to 7.
func (h *CNM) Priority() uint8 { return h[14] >> 5 }

// SetPriority sets the priority to the low three bits of p.
func (h *CNM) SetPriority(p uint8) { h[14] = h[14]&0x1f | p<<5 }

// Dst is the destination of the sampled frame.
func (h *CNM) Dst() MAC { return MAC(h[16:22]) }

// SetDst sets the destination of the sampled frame.
func (h *CNM) SetDst(m MAC) { copy(h[16:22], m[:]) }

// MSDULen is how many bytes of the sampled frame follow, from the EtherType behind its tags on.
func (h *CNM) MSDULen() int { return int(binary.BigEndian.Uint16(h[22:24])) }

// SetMSDULen sets how many bytes of the sampled frame follow, 0 to 64.
func (h *CNM) SetMSDULen(n int) { binary.BigEndian.PutUint16(h[22:24], uint16(n)) }

// CNMUnits turns bytes into the unit of QOffset and QDelta, towards zero; what does not fit
// becomes the nearest that does.
func CNMUnits(n int64) int16 { return int16(min(max(n/CNMUnit, -1<<15), 1<<15-1)) }

// CPID is the name of a congestion point: the address of the port and the queue.
type CPID [8]byte

// NewCPID names the congestion point of a queue.
func NewCPID(port MAC, queue uint8) (id CPID) {
	copy(id[:], port[:])
	id[7] = queue
	return id
}

// Port is the address of the port.
func (id CPID) Port() MAC { return MAC(id[:6]) }

// Queue is the number of the queue.
func (id CPID) Queue() uint8 { return id[7] }

func (id CPID) String() string { return fmt.Sprintf("%v/%d", id.Port(), id.Queue()) }
