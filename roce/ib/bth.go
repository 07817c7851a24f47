package ib

import "encoding/binary"

// BTHLen is the size of the base transport header.
const BTHLen = 12

// DefaultPKey is the partition of everybody. IBTA 10.9.1.2.
const DefaultPKey uint16 = 0xffff

// FullMember is the membership bit of a P_Key.
const FullMember uint16 = 1 << 15

// SamePartition reports whether two P_Keys may talk: the same partition, and one of them a full
// member of it. IBTA 10.9.3.
func SamePartition(a, b uint16) bool {
	return (a^b)&^FullMember == 0 && (a|b)&FullMember != 0
}

// BTH is a view of the base transport header. IBTA 9.2.
//
//	byte 0 opcode | 1 SE MigReq PadCnt(2) TVer(4) | 2-3 P_Key
//	     4 FECN BECN reserved(6) | 5-7 destination QP | 8 AckReq reserved(7) | 9-11 PSN
type BTH [BTHLen]byte

const (
	bthSolicited = 1 << 7 // byte 1
	bthMigReq    = 1 << 6
	bthPadShift  = 4
	bthPadMask   = 3 << bthPadShift
	bthTVerMask  = 0x0f
	bthFECN      = 1 << 7 // byte 4
	bthBECN      = 1 << 6
	bthAckReq    = 1 << 7 // byte 8
)

// Opcode is the operation.
func (h *BTH) Opcode() Opcode { return Opcode(h[0]) }

// SetOpcode sets the operation.
func (h *BTH) SetOpcode(o Opcode) { h[0] = byte(o) }

// Solicited is the solicited event bit.
func (h *BTH) Solicited() bool { return h[1]&bthSolicited != 0 }

// SetSolicited sets the solicited event bit.
func (h *BTH) SetSolicited(on bool) { h[1] = withBit(h[1], bthSolicited, on) }

// MigReq is the migration state bit; mlx5 sends one, rxe zero, neither means anything to us.
func (h *BTH) MigReq() bool { return h[1]&bthMigReq != 0 }

// SetMigReq sets the migration state bit.
func (h *BTH) SetMigReq(on bool) { h[1] = withBit(h[1], bthMigReq, on) }

// PadCount is how many bytes were added to make the payload a multiple of four.
func (h *BTH) PadCount() int { return int(h[1] & bthPadMask >> bthPadShift) }

// SetPadCount sets the pad count; n is 0 to 3.
func (h *BTH) SetPadCount(n int) {
	h[1] = h[1]&^bthPadMask | byte(n)<<bthPadShift&bthPadMask
}

// Version is the transport header version, zero as long as IBTA 1.x lives.
func (h *BTH) Version() uint8 { return h[1] & bthTVerMask }

// PKey is the partition key.
func (h *BTH) PKey() uint16 { return binary.BigEndian.Uint16(h[2:4]) }

// SetPKey sets the partition key.
func (h *BTH) SetPKey(k uint16) { binary.BigEndian.PutUint16(h[2:4], k) }

// FECN is the forward congestion bit.
func (h *BTH) FECN() bool { return h[4]&bthFECN != 0 }

// SetFECN sets the forward congestion bit.
func (h *BTH) SetFECN(on bool) { h[4] = withBit(h[4], bthFECN, on) }

// BECN is the backward congestion bit: what makes a CNP. A17.9.3.
func (h *BTH) BECN() bool { return h[4]&bthBECN != 0 }

// SetBECN sets the backward congestion bit.
func (h *BTH) SetBECN(on bool) { h[4] = withBit(h[4], bthBECN, on) }

// DestQP is the receiver's queue pair.
func (h *BTH) DestQP() QPN { return QPN(get24(h[5:8])) }

// SetDestQP sets the receiver's queue pair.
func (h *BTH) SetDestQP(q QPN) { put24(h[5:8], uint32(q)) }

// AckReq asks the responder for an acknowledgement.
func (h *BTH) AckReq() bool { return h[8]&bthAckReq != 0 }

// SetAckReq sets the request for an acknowledgement.
func (h *BTH) SetAckReq(on bool) { h[8] = withBit(h[8], bthAckReq, on) }

// PSN is the packet sequence number.
func (h *BTH) PSN() PSN { return PSN(get24(h[9:12])) }

// SetPSN sets the packet sequence number.
func (h *BTH) SetPSN(p PSN) { put24(h[9:12], uint32(p)) }

func withBit(b, bit byte, on bool) byte {
	if on {
		return b | bit
	}
	return b &^ bit
}

func get24(b []byte) uint32 {
	_ = b[2]
	return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
}

func put24(b []byte, v uint32) {
	_ = b[2]
	b[0], b[1], b[2] = byte(v>>16), byte(v>>8), byte(v)
}
