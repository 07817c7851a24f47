package ib

import (
	"encoding/binary"
	"net/netip"
)

// REQ is a view of a request for communication. IBTA table 106 by Linux
// include/rdma/ibta_vol1_c12.h.
//
// Not here are what InfiniBand alone has: the Q_Key and EE contexts of reliable datagrams, RDC
// and the extended transport type. We send zeros, as Linux does, and do not look at them.
type REQ MAD

// LocalID is the communication id of the sender.
func (m *REQ) LocalID() uint32 { return binary.BigEndian.Uint32(m[24:28]) }

// SetLocalID sets the communication id of the sender.
func (m *REQ) SetLocalID(v uint32) { binary.BigEndian.PutUint32(m[24:28], v) }

// Service is what the sender wants to be connected to.
func (m *REQ) Service() ServiceID { return ServiceID(binary.BigEndian.Uint64(m[32:40])) }

// SetService sets the service.
func (m *REQ) SetService(v ServiceID) { binary.BigEndian.PutUint64(m[32:40], uint64(v)) }

// GUID is that of the sender's channel adapter.
func (m *REQ) GUID() uint64 { return binary.BigEndian.Uint64(m[40:48]) }

// SetGUID sets the sender's GUID.
func (m *REQ) SetGUID(v uint64) { binary.BigEndian.PutUint64(m[40:48], v) }

// QPN is the sender's queue pair.
func (m *REQ) QPN() QPN { return QPN(get24(m[56:59])) }

// SetQPN sets the sender's queue pair.
func (m *REQ) SetQPN(v QPN) { put24(m[56:59], uint32(v)) }

// Resources is how many READs and atomics the sender keeps as responder.
func (m *REQ) Resources() uint8 { return m[59] }

// SetResources sets the responder resources.
func (m *REQ) SetResources(v uint8) { m[59] = v }

// Depth is how many READs and atomics the sender would have under way: initiator depth.
func (m *REQ) Depth() uint8 { return m[63] }

// SetDepth sets the initiator depth.
func (m *REQ) SetDepth(v uint8) { m[63] = v }

// RemoteTimeout is the code of the time in which the receiver is expected to answer.
func (m *REQ) RemoteTimeout() uint8 { return m[67] >> 3 }

// SetRemoteTimeout sets the remote CM response timeout.
func (m *REQ) SetRemoteTimeout(v uint8) { m[67] = putBits(m[67], 3, 5, v) }

// Transport is the service type: 0 RC, 1 UC, 2 RD.
func (m *REQ) Transport() Transport { return Transport(m[67] >> 1 & 0x3) }

// SetTransport sets the transport service type.
func (m *REQ) SetTransport(v Transport) { m[67] = putBits(m[67], 1, 2, uint8(v)) }

// FlowControl says that the sender counts credits as responder.
func (m *REQ) FlowControl() bool { return m[67]&0x1 != 0 }

// SetFlowControl sets end-to-end flow control.
func (m *REQ) SetFlowControl(on bool) { m[67] = withBit(m[67], 0x1, on) }

// PSN is where the receiver of the REQ starts to send.
func (m *REQ) PSN() PSN { return PSN(get24(m[68:71])) }

// SetPSN sets the starting PSN.
func (m *REQ) SetPSN(v PSN) { put24(m[68:71], uint32(v)) }

// LocalTimeout is the code of the time in which the sender promises to answer.
func (m *REQ) LocalTimeout() uint8 { return m[71] >> 3 }

// SetLocalTimeout sets the local CM response timeout.
func (m *REQ) SetLocalTimeout(v uint8) { m[71] = putBits(m[71], 3, 5, v) }

// Retry is the retry count for the receiver's requests, 0 to 7.
func (m *REQ) Retry() uint8 { return m[71] & 0x7 }

// SetRetry sets the retry count.
func (m *REQ) SetRetry(v uint8) { m[71] = putBits(m[71], 0, 3, v) }

// PKey is the partition of the connection.
func (m *REQ) PKey() uint16 { return binary.BigEndian.Uint16(m[72:74]) }

// SetPKey sets the partition.
func (m *REQ) SetPKey(v uint16) { binary.BigEndian.PutUint16(m[72:74], v) }

// MTU is the path MTU.
func (m *REQ) MTU() MTUCode { return MTUCode(m[74] >> 4) }

// SetMTU sets the path MTU.
func (m *REQ) SetMTU(v MTUCode) { m[74] = putBits(m[74], 4, 4, uint8(v)) }

// RNRRetry is the RNR retry count for the receiver's requests, 0 to 7.
func (m *REQ) RNRRetry() uint8 { return m[74] & 0x7 }

// SetRNRRetry sets the RNR retry count.
func (m *REQ) SetRNRRetry(v uint8) { m[74] = putBits(m[74], 0, 3, v) }

// MaxRetries is how often the receiver may repeat its own messages.
func (m *REQ) MaxRetries() uint8 { return m[75] >> 4 }

// SetMaxRetries sets the number of CM retries, 0 to 15.
func (m *REQ) SetMaxRetries(v uint8) { m[75] = putBits(m[75], 4, 4, v) }

// SRQ says that the sender receives into a shared queue.
func (m *REQ) SRQ() bool { return m[75]&0x8 != 0 }

// SetSRQ sets whether receives are shared.
func (m *REQ) SetSRQ(on bool) { m[75] = withBit(m[75], 0x8, on) }

// LocalLID is the sender's on InfiniBand; RoCE has none and says 0xffff.
func (m *REQ) LocalLID() uint16 { return binary.BigEndian.Uint16(m[76:78]) }

// SetLocalLID sets the sender's LID.
func (m *REQ) SetLocalLID(v uint16) { binary.BigEndian.PutUint16(m[76:78], v) }

// RemoteLID is the receiver's on InfiniBand.
func (m *REQ) RemoteLID() uint16 { return binary.BigEndian.Uint16(m[78:80]) }

// SetRemoteLID sets the receiver's LID.
func (m *REQ) SetRemoteLID(v uint16) { binary.BigEndian.PutUint16(m[78:80], v) }

// LocalGID is the sender's address.
func (m *REQ) LocalGID() netip.Addr { return addrOfGID(m[80:96]) }

// SetLocalGID sets the sender's address.
func (m *REQ) SetLocalGID(a netip.Addr) { putGID(m[80:96], a) }

// RemoteGID is the receiver's address.
func (m *REQ) RemoteGID() netip.Addr { return addrOfGID(m[96:112]) }

// SetRemoteGID sets the receiver's address.
func (m *REQ) SetRemoteGID(a netip.Addr) { putGID(m[96:112], a) }

// FlowLabel is that of the sender's packets.
func (m *REQ) FlowLabel() uint32 { return get24(m[112:115]) >> 4 }

// SetFlowLabel sets the flow label, 20 bits.
func (m *REQ) SetFlowLabel(v uint32) { put24(m[112:115], get24(m[112:115])&0xf|v<<4) }

// Rate is the code of the path's packet rate; 0 where nobody knows.
func (m *REQ) Rate() uint8 { return m[115] & 0x3f }

// SetRate sets the code of the packet rate.
func (m *REQ) SetRate(v uint8) { m[115] = putBits(m[115], 0, 6, v) }

// TrafficClass is that of the sender's packets.
func (m *REQ) TrafficClass() uint8 { return m[116] }

// SetTrafficClass sets the traffic class.
func (m *REQ) SetTrafficClass(v uint8) { m[116] = v }

// HopLimit is that of the sender's packets.
func (m *REQ) HopLimit() uint8 { return m[117] }

// SetHopLimit sets the hop limit.
func (m *REQ) SetHopLimit(v uint8) { m[117] = v }

// SL is the service level, the priority on InfiniBand.
func (m *REQ) SL() uint8 { return m[118] >> 4 }

// SetSL sets the service level.
func (m *REQ) SetSL(v uint8) { m[118] = putBits(m[118], 4, 4, v) }

// SubnetLocal says that no router is on the way.
func (m *REQ) SubnetLocal() bool { return m[118]&0x8 != 0 }

// SetSubnetLocal sets whether the path stays in the subnet.
func (m *REQ) SetSubnetLocal(on bool) { m[118] = withBit(m[118], 0x8, on) }

// AckTimeout is the code of the retransmission timeout for the receiver's requests.
func (m *REQ) AckTimeout() uint8 { return m[119] >> 3 }

// SetAckTimeout sets the local ack timeout.
func (m *REQ) SetAckTimeout(v uint8) { m[119] = putBits(m[119], 3, 5, v) }

// Alternate is the alternate path, all zeros if there is none.
func (m *REQ) Alternate() []byte { return m[120:164] }

// Private is the private data.
func (m *REQ) Private() []byte { return m[164:] }
