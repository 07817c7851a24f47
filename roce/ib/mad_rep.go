package ib

import (
	"encoding/binary"
)

// REP is a view of the answer to a REQ. IBTA table 110 by Linux include/rdma/ibta_vol1_c12.h.
type REP MAD

// LocalID is the communication id of the sender.
func (m *REP) LocalID() uint32 { return binary.BigEndian.Uint32(m[24:28]) }

// SetLocalID sets the communication id of the sender.
func (m *REP) SetLocalID(v uint32) { binary.BigEndian.PutUint32(m[24:28], v) }

// RemoteID is the communication id of the receiver.
func (m *REP) RemoteID() uint32 { return binary.BigEndian.Uint32(m[28:32]) }

// SetRemoteID sets the communication id of the receiver.
func (m *REP) SetRemoteID(v uint32) { binary.BigEndian.PutUint32(m[28:32], v) }

// QPN is the sender's queue pair.
func (m *REP) QPN() QPN { return QPN(get24(m[36:39])) }

// SetQPN sets the sender's queue pair.
func (m *REP) SetQPN(v QPN) { put24(m[36:39], uint32(v)) }

// PSN is where the receiver of the REP starts to send.
func (m *REP) PSN() PSN { return PSN(get24(m[44:47])) }

// SetPSN sets the starting PSN.
func (m *REP) SetPSN(v PSN) { put24(m[44:47], uint32(v)) }

// Resources is how many READs and atomics the sender keeps as responder.
func (m *REP) Resources() uint8 { return m[48] }

// SetResources sets the responder resources.
func (m *REP) SetResources(v uint8) { m[48] = v }

// Depth is how many READs and atomics the sender will have under way: initiator depth.
func (m *REP) Depth() uint8 { return m[49] }

// SetDepth sets the initiator depth.
func (m *REP) SetDepth(v uint8) { m[49] = v }

// AckDelay is the code of the longest time until the sender acknowledges.
func (m *REP) AckDelay() uint8 { return m[50] >> 3 }

// SetAckDelay sets the target ack delay.
func (m *REP) SetAckDelay(v uint8) { m[50] = putBits(m[50], 3, 5, v) }

// Failover is whether an alternate path was accepted: 0 yes, 1 not supported, 2 refused.
func (m *REP) Failover() uint8 { return m[50] >> 1 & 0x3 }

// SetFailover sets the failover status.
func (m *REP) SetFailover(v uint8) { m[50] = putBits(m[50], 1, 2, v) }

// FlowControl says that the sender counts credits as responder.
func (m *REP) FlowControl() bool { return m[50]&0x1 != 0 }

// SetFlowControl sets end-to-end flow control.
func (m *REP) SetFlowControl(on bool) { m[50] = withBit(m[50], 0x1, on) }

// RNRRetry is the RNR retry count for the receiver's requests, 0 to 7.
func (m *REP) RNRRetry() uint8 { return m[51] >> 5 }

// SetRNRRetry sets the RNR retry count.
func (m *REP) SetRNRRetry(v uint8) { m[51] = putBits(m[51], 5, 3, v) }

// SRQ says that the sender receives into a shared queue.
func (m *REP) SRQ() bool { return m[51]&0x10 != 0 }

// SetSRQ sets whether receives are shared.
func (m *REP) SetSRQ(on bool) { m[51] = withBit(m[51], 0x10, on) }

// GUID is that of the sender's channel adapter.
func (m *REP) GUID() uint64 { return binary.BigEndian.Uint64(m[52:60]) }

// SetGUID sets the sender's GUID.
func (m *REP) SetGUID(v uint64) { binary.BigEndian.PutUint64(m[52:60], v) }

// Private is the private data.
func (m *REP) Private() []byte { return m[60:] }

// RTU is a view of "ready to use", which follows a REP. IBTA table 111 by Linux
// include/rdma/ibta_vol1_c12.h.
type RTU MAD

// LocalID is the communication id of the sender.
func (m *RTU) LocalID() uint32 { return binary.BigEndian.Uint32(m[24:28]) }

// SetLocalID sets the communication id of the sender.
func (m *RTU) SetLocalID(v uint32) { binary.BigEndian.PutUint32(m[24:28], v) }

// RemoteID is the communication id of the receiver.
func (m *RTU) RemoteID() uint32 { return binary.BigEndian.Uint32(m[28:32]) }

// SetRemoteID sets the communication id of the receiver.
func (m *RTU) SetRemoteID(v uint32) { binary.BigEndian.PutUint32(m[28:32], v) }

// Private is the private data.
func (m *RTU) Private() []byte { return m[32:] }
