package ib

import (
	"encoding/binary"
)

// MRA is a view of a message receipt acknowledgement: the answer will take a while. IBTA table 107
// by Linux include/rdma/ibta_vol1_c12.h.
type MRA MAD

// LocalID is the communication id of the sender.
func (m *MRA) LocalID() uint32 { return binary.BigEndian.Uint32(m[24:28]) }

// SetLocalID sets the communication id of the sender.
func (m *MRA) SetLocalID(v uint32) { binary.BigEndian.PutUint32(m[24:28], v) }

// RemoteID is the communication id of the receiver.
func (m *MRA) RemoteID() uint32 { return binary.BigEndian.Uint32(m[28:32]) }

// SetRemoteID sets the communication id of the receiver.
func (m *MRA) SetRemoteID(v uint32) { binary.BigEndian.PutUint32(m[28:32], v) }

// Message is what was received.
func (m *MRA) Message() MessageKind { return MessageKind(m[32] >> 6) }

// SetMessage sets what was received.
func (m *MRA) SetMessage(v MessageKind) { m[32] = putBits(m[32], 6, 2, uint8(v)) }

// ServiceTimeout is the code of the time in which the sender will answer.
func (m *MRA) ServiceTimeout() uint8 { return m[33] >> 3 }

// SetServiceTimeout sets the service timeout.
func (m *MRA) SetServiceTimeout(v uint8) { m[33] = putBits(m[33], 3, 5, v) }

// Private is the private data.
func (m *MRA) Private() []byte { return m[34:] }

// REJ is a view of a rejection. IBTA table 108 by Linux include/rdma/ibta_vol1_c12.h.
type REJ MAD

// LocalID is the communication id of the sender.
func (m *REJ) LocalID() uint32 { return binary.BigEndian.Uint32(m[24:28]) }

// SetLocalID sets the communication id of the sender.
func (m *REJ) SetLocalID(v uint32) { binary.BigEndian.PutUint32(m[24:28], v) }

// RemoteID is the communication id of the receiver.
func (m *REJ) RemoteID() uint32 { return binary.BigEndian.Uint32(m[28:32]) }

// SetRemoteID sets the communication id of the receiver.
func (m *REJ) SetRemoteID(v uint32) { binary.BigEndian.PutUint32(m[28:32], v) }

// Message is what is rejected.
func (m *REJ) Message() MessageKind { return MessageKind(m[32] >> 6) }

// SetMessage sets what is rejected.
func (m *REJ) SetMessage(v MessageKind) { m[32] = putBits(m[32], 6, 2, uint8(v)) }

// InfoLen is how many bytes of Info mean something.
func (m *REJ) InfoLen() uint8 { return m[33] >> 1 }

// SetInfoLen sets how many bytes of Info mean something.
func (m *REJ) SetInfoLen(v uint8) { m[33] = putBits(m[33], 1, 7, v) }

// Reason is why.
func (m *REJ) Reason() RejectReason { return RejectReason(binary.BigEndian.Uint16(m[34:36])) }

// SetReason sets why.
func (m *REJ) SetReason(v RejectReason) { binary.BigEndian.PutUint16(m[34:36], uint16(v)) }

// Info is the additional information, whose form depends on the reason.
func (m *REJ) Info() []byte { return m[36:108] }

// Private is the private data.
func (m *REJ) Private() []byte { return m[108:] }
