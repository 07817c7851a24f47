package ib

import (
	"encoding/binary"
)

// DREQ is a view of a request to end a connection. IBTA table 112 by Linux
// include/rdma/ibta_vol1_c12.h.
type DREQ MAD

// LocalID is the communication id of the sender.
func (m *DREQ) LocalID() uint32 { return binary.BigEndian.Uint32(m[24:28]) }

// SetLocalID sets the communication id of the sender.
func (m *DREQ) SetLocalID(v uint32) { binary.BigEndian.PutUint32(m[24:28], v) }

// RemoteID is the communication id of the receiver.
func (m *DREQ) RemoteID() uint32 { return binary.BigEndian.Uint32(m[28:32]) }

// SetRemoteID sets the communication id of the receiver.
func (m *DREQ) SetRemoteID(v uint32) { binary.BigEndian.PutUint32(m[28:32], v) }

// RemoteQPN is the queue pair of the receiver, who checks it.
func (m *DREQ) RemoteQPN() QPN { return QPN(get24(m[32:35])) }

// SetRemoteQPN sets the queue pair of the receiver.
func (m *DREQ) SetRemoteQPN(v QPN) { put24(m[32:35], uint32(v)) }

// Private is the private data.
func (m *DREQ) Private() []byte { return m[36:] }

// DREP is a view of the answer to a DREQ. IBTA table 113 by Linux include/rdma/ibta_vol1_c12.h.
type DREP MAD

// LocalID is the communication id of the sender.
func (m *DREP) LocalID() uint32 { return binary.BigEndian.Uint32(m[24:28]) }

// SetLocalID sets the communication id of the sender.
func (m *DREP) SetLocalID(v uint32) { binary.BigEndian.PutUint32(m[24:28], v) }

// RemoteID is the communication id of the receiver.
func (m *DREP) RemoteID() uint32 { return binary.BigEndian.Uint32(m[28:32]) }

// SetRemoteID sets the communication id of the receiver.
func (m *DREP) SetRemoteID(v uint32) { binary.BigEndian.PutUint32(m[28:32], v) }

// Private is the private data.
func (m *DREP) Private() []byte { return m[32:] }
