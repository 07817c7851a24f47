package ib

import (
	"encoding/binary"
)

// SIDRREQ is a view of a service ID resolution request, which finds the queue pair of a datagram
// service. IBTA table 119 by Linux include/rdma/ibta_vol1_c12.h.
type SIDRREQ MAD

// RequestID tells requests apart.
func (m *SIDRREQ) RequestID() uint32 { return binary.BigEndian.Uint32(m[24:28]) }

// SetRequestID sets the request id.
func (m *SIDRREQ) SetRequestID(v uint32) { binary.BigEndian.PutUint32(m[24:28], v) }

// PKey is the partition of the service's queue pair.
func (m *SIDRREQ) PKey() uint16 { return binary.BigEndian.Uint16(m[28:30]) }

// SetPKey sets the partition.
func (m *SIDRREQ) SetPKey(v uint16) { binary.BigEndian.PutUint16(m[28:30], v) }

// Service is what is asked for.
func (m *SIDRREQ) Service() ServiceID { return ServiceID(binary.BigEndian.Uint64(m[32:40])) }

// SetService sets the service.
func (m *SIDRREQ) SetService(v ServiceID) { binary.BigEndian.PutUint64(m[32:40], uint64(v)) }

// Private is the private data.
func (m *SIDRREQ) Private() []byte { return m[40:] }

// SIDRREP is a view of the answer to a SIDR_REQ. IBTA table 120 by Linux
// include/rdma/ibta_vol1_c12.h.
type SIDRREP MAD

// RequestID is that of the request.
func (m *SIDRREP) RequestID() uint32 { return binary.BigEndian.Uint32(m[24:28]) }

// SetRequestID sets the request id.
func (m *SIDRREP) SetRequestID(v uint32) { binary.BigEndian.PutUint32(m[24:28], v) }

// Status is whether the service is there.
func (m *SIDRREP) Status() SIDRStatus { return SIDRStatus(m[28]) }

// SetStatus sets the status.
func (m *SIDRREP) SetStatus(v SIDRStatus) { m[28] = byte(v) }

// InfoLen is how many bytes of Info mean something.
func (m *SIDRREP) InfoLen() uint8 { return m[29] }

// SetInfoLen sets how many bytes of Info mean something.
func (m *SIDRREP) SetInfoLen(v uint8) { m[29] = v }

// QPN is the queue pair of the service.
func (m *SIDRREP) QPN() QPN { return QPN(get24(m[32:35])) }

// SetQPN sets the queue pair.
func (m *SIDRREP) SetQPN(v QPN) { put24(m[32:35], uint32(v)) }

// Service is what was asked for.
func (m *SIDRREP) Service() ServiceID { return ServiceID(binary.BigEndian.Uint64(m[36:44])) }

// SetService sets the service.
func (m *SIDRREP) SetService(v ServiceID) { binary.BigEndian.PutUint64(m[36:44], uint64(v)) }

// QKey is the key that the queue pair takes.
func (m *SIDRREP) QKey() uint32 { return binary.BigEndian.Uint32(m[44:48]) }

// SetQKey sets the Q_Key.
func (m *SIDRREP) SetQKey(v uint32) { binary.BigEndian.PutUint32(m[44:48], v) }

// Info is the additional information.
func (m *SIDRREP) Info() []byte { return m[48:120] }

// Private is the private data.
func (m *SIDRREP) Private() []byte { return m[120:] }
