package ib

import "testing"

func bit(on bool) uint64 {
	if on {
		return 1
	}
	return 0
}

// Each setter of the connection manager's messages writes its own bits and no other, wherever in
// the message they are.
func TestMADSettersLeaveNeighbours(t *testing.T) {
	for _, fields := range [][]field{requestFields(), replyFields(), endFields(), sidrFields()} {
		for i := range fields {
			for _, fill := range []byte{0, 0xff} {
				fields[i].check(t, fill)
			}
		}
	}
}

func requestFields() []field { return append(requestFields1(), requestFields2()...) }

func requestFields1() []field {
	return []field{
		{"REQ LocalID", 32, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetLocalID(uint32(v)) },
			func(b []byte) uint64 { return uint64((*REQ)(b).LocalID()) }},
		{"REQ Service", 64, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetService(ServiceID(v)) },
			func(b []byte) uint64 { return uint64((*REQ)(b).Service()) }},
		{"REQ GUID", 64, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetGUID(v) },
			func(b []byte) uint64 { return (*REQ)(b).GUID() }},
		{"REQ QPN", 24, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetQPN(QPN(v)) },
			func(b []byte) uint64 { return uint64((*REQ)(b).QPN()) }},
		{"REQ Resources", 8, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetResources(uint8(v)) },
			func(b []byte) uint64 { return uint64((*REQ)(b).Resources()) }},
		{"REQ Depth", 8, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetDepth(uint8(v)) },
			func(b []byte) uint64 { return uint64((*REQ)(b).Depth()) }},
		{"REQ RemoteTimeout", 5, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetRemoteTimeout(uint8(v)) },
			func(b []byte) uint64 { return uint64((*REQ)(b).RemoteTimeout()) }},
		{"REQ Transport", 2, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetTransport(Transport(v)) },
			func(b []byte) uint64 { return uint64((*REQ)(b).Transport()) }},
		{"REQ FlowControl", 1, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetFlowControl(v != 0) },
			func(b []byte) uint64 { return bit((*REQ)(b).FlowControl()) }},
		{"REQ PSN", 24, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetPSN(PSN(v)) },
			func(b []byte) uint64 { return uint64((*REQ)(b).PSN()) }},
		{"REQ LocalTimeout", 5, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetLocalTimeout(uint8(v)) },
			func(b []byte) uint64 { return uint64((*REQ)(b).LocalTimeout()) }},
		{"REQ Retry", 3, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetRetry(uint8(v)) },
			func(b []byte) uint64 { return uint64((*REQ)(b).Retry()) }},
		{"REQ PKey", 16, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetPKey(uint16(v)) },
			func(b []byte) uint64 { return uint64((*REQ)(b).PKey()) }},
	}
}

func requestFields2() []field {
	return []field{
		{"REQ MTU", 4, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetMTU(MTUCode(v)) },
			func(b []byte) uint64 { return uint64((*REQ)(b).MTU()) }},
		{"REQ RNRRetry", 3, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetRNRRetry(uint8(v)) },
			func(b []byte) uint64 { return uint64((*REQ)(b).RNRRetry()) }},
		{"REQ MaxRetries", 4, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetMaxRetries(uint8(v)) },
			func(b []byte) uint64 { return uint64((*REQ)(b).MaxRetries()) }},
		{"REQ SRQ", 1, MADLen, func(b []byte, v uint64) { (*REQ)(b).SetSRQ(v != 0) },
			func(b []byte) uint64 { return bit((*REQ)(b).SRQ()) }},
		{"REQ LocalLID", 16, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetLocalLID(uint16(v)) },
			func(b []byte) uint64 { return uint64((*REQ)(b).LocalLID()) }},
		{"REQ RemoteLID", 16, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetRemoteLID(uint16(v)) },
			func(b []byte) uint64 { return uint64((*REQ)(b).RemoteLID()) }},
		{"REQ FlowLabel", 20, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetFlowLabel(uint32(v)) },
			func(b []byte) uint64 { return uint64((*REQ)(b).FlowLabel()) }},
		{"REQ Rate", 6, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetRate(uint8(v)) },
			func(b []byte) uint64 { return uint64((*REQ)(b).Rate()) }},
		{"REQ TrafficClass", 8, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetTrafficClass(uint8(v)) },
			func(b []byte) uint64 { return uint64((*REQ)(b).TrafficClass()) }},
		{"REQ HopLimit", 8, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetHopLimit(uint8(v)) },
			func(b []byte) uint64 { return uint64((*REQ)(b).HopLimit()) }},
		{"REQ SL", 4, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetSL(uint8(v)) },
			func(b []byte) uint64 { return uint64((*REQ)(b).SL()) }},
		{"REQ SubnetLocal", 1, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetSubnetLocal(v != 0) },
			func(b []byte) uint64 { return bit((*REQ)(b).SubnetLocal()) }},
		{"REQ AckTimeout", 5, MADLen,
			func(b []byte, v uint64) { (*REQ)(b).SetAckTimeout(uint8(v)) },
			func(b []byte) uint64 { return uint64((*REQ)(b).AckTimeout()) }},
	}
}

func replyFields() []field {
	return []field{
		{"REP LocalID", 32, MADLen,
			func(b []byte, v uint64) { (*REP)(b).SetLocalID(uint32(v)) },
			func(b []byte) uint64 { return uint64((*REP)(b).LocalID()) }},
		{"REP RemoteID", 32, MADLen,
			func(b []byte, v uint64) { (*REP)(b).SetRemoteID(uint32(v)) },
			func(b []byte) uint64 { return uint64((*REP)(b).RemoteID()) }},
		{"REP QPN", 24, MADLen,
			func(b []byte, v uint64) { (*REP)(b).SetQPN(QPN(v)) },
			func(b []byte) uint64 { return uint64((*REP)(b).QPN()) }},
		{"REP PSN", 24, MADLen,
			func(b []byte, v uint64) { (*REP)(b).SetPSN(PSN(v)) },
			func(b []byte) uint64 { return uint64((*REP)(b).PSN()) }},
		{"REP Resources", 8, MADLen,
			func(b []byte, v uint64) { (*REP)(b).SetResources(uint8(v)) },
			func(b []byte) uint64 { return uint64((*REP)(b).Resources()) }},
		{"REP Depth", 8, MADLen,
			func(b []byte, v uint64) { (*REP)(b).SetDepth(uint8(v)) },
			func(b []byte) uint64 { return uint64((*REP)(b).Depth()) }},
		{"REP AckDelay", 5, MADLen,
			func(b []byte, v uint64) { (*REP)(b).SetAckDelay(uint8(v)) },
			func(b []byte) uint64 { return uint64((*REP)(b).AckDelay()) }},
		{"REP Failover", 2, MADLen,
			func(b []byte, v uint64) { (*REP)(b).SetFailover(uint8(v)) },
			func(b []byte) uint64 { return uint64((*REP)(b).Failover()) }},
		{"REP FlowControl", 1, MADLen,
			func(b []byte, v uint64) { (*REP)(b).SetFlowControl(v != 0) },
			func(b []byte) uint64 { return bit((*REP)(b).FlowControl()) }},
		{"REP RNRRetry", 3, MADLen,
			func(b []byte, v uint64) { (*REP)(b).SetRNRRetry(uint8(v)) },
			func(b []byte) uint64 { return uint64((*REP)(b).RNRRetry()) }},
		{"REP SRQ", 1, MADLen, func(b []byte, v uint64) { (*REP)(b).SetSRQ(v != 0) },
			func(b []byte) uint64 { return bit((*REP)(b).SRQ()) }},
		{"REP GUID", 64, MADLen,
			func(b []byte, v uint64) { (*REP)(b).SetGUID(v) },
			func(b []byte) uint64 { return (*REP)(b).GUID() }},
		{"RTU LocalID", 32, MADLen,
			func(b []byte, v uint64) { (*RTU)(b).SetLocalID(uint32(v)) },
			func(b []byte) uint64 { return uint64((*RTU)(b).LocalID()) }},
		{"RTU RemoteID", 32, MADLen,
			func(b []byte, v uint64) { (*RTU)(b).SetRemoteID(uint32(v)) },
			func(b []byte) uint64 { return uint64((*RTU)(b).RemoteID()) }},
	}
}

func endFields() []field {
	return []field{
		{"MRA LocalID", 32, MADLen,
			func(b []byte, v uint64) { (*MRA)(b).SetLocalID(uint32(v)) },
			func(b []byte) uint64 { return uint64((*MRA)(b).LocalID()) }},
		{"MRA RemoteID", 32, MADLen,
			func(b []byte, v uint64) { (*MRA)(b).SetRemoteID(uint32(v)) },
			func(b []byte) uint64 { return uint64((*MRA)(b).RemoteID()) }},
		{"MRA Message", 2, MADLen,
			func(b []byte, v uint64) { (*MRA)(b).SetMessage(MessageKind(v)) },
			func(b []byte) uint64 { return uint64((*MRA)(b).Message()) }},
		{"MRA ServiceTimeout", 5, MADLen,
			func(b []byte, v uint64) { (*MRA)(b).SetServiceTimeout(uint8(v)) },
			func(b []byte) uint64 { return uint64((*MRA)(b).ServiceTimeout()) }},
		{"REJ LocalID", 32, MADLen,
			func(b []byte, v uint64) { (*REJ)(b).SetLocalID(uint32(v)) },
			func(b []byte) uint64 { return uint64((*REJ)(b).LocalID()) }},
		{"REJ RemoteID", 32, MADLen,
			func(b []byte, v uint64) { (*REJ)(b).SetRemoteID(uint32(v)) },
			func(b []byte) uint64 { return uint64((*REJ)(b).RemoteID()) }},
		{"REJ Message", 2, MADLen,
			func(b []byte, v uint64) { (*REJ)(b).SetMessage(MessageKind(v)) },
			func(b []byte) uint64 { return uint64((*REJ)(b).Message()) }},
		{"REJ InfoLen", 7, MADLen,
			func(b []byte, v uint64) { (*REJ)(b).SetInfoLen(uint8(v)) },
			func(b []byte) uint64 { return uint64((*REJ)(b).InfoLen()) }},
		{"REJ Reason", 16, MADLen,
			func(b []byte, v uint64) { (*REJ)(b).SetReason(RejectReason(v)) },
			func(b []byte) uint64 { return uint64((*REJ)(b).Reason()) }},
		{"DREQ LocalID", 32, MADLen,
			func(b []byte, v uint64) { (*DREQ)(b).SetLocalID(uint32(v)) },
			func(b []byte) uint64 { return uint64((*DREQ)(b).LocalID()) }},
		{"DREQ RemoteID", 32, MADLen,
			func(b []byte, v uint64) { (*DREQ)(b).SetRemoteID(uint32(v)) },
			func(b []byte) uint64 { return uint64((*DREQ)(b).RemoteID()) }},
		{"DREQ RemoteQPN", 24, MADLen,
			func(b []byte, v uint64) { (*DREQ)(b).SetRemoteQPN(QPN(v)) },
			func(b []byte) uint64 { return uint64((*DREQ)(b).RemoteQPN()) }},
		{"DREP LocalID", 32, MADLen,
			func(b []byte, v uint64) { (*DREP)(b).SetLocalID(uint32(v)) },
			func(b []byte) uint64 { return uint64((*DREP)(b).LocalID()) }},
		{"DREP RemoteID", 32, MADLen,
			func(b []byte, v uint64) { (*DREP)(b).SetRemoteID(uint32(v)) },
			func(b []byte) uint64 { return uint64((*DREP)(b).RemoteID()) }},
	}
}

func sidrFields() []field {
	return []field{
		{"SIDRREQ RequestID", 32, MADLen,
			func(b []byte, v uint64) { (*SIDRREQ)(b).SetRequestID(uint32(v)) },
			func(b []byte) uint64 { return uint64((*SIDRREQ)(b).RequestID()) }},
		{"SIDRREQ PKey", 16, MADLen,
			func(b []byte, v uint64) { (*SIDRREQ)(b).SetPKey(uint16(v)) },
			func(b []byte) uint64 { return uint64((*SIDRREQ)(b).PKey()) }},
		{"SIDRREQ Service", 64, MADLen,
			func(b []byte, v uint64) { (*SIDRREQ)(b).SetService(ServiceID(v)) },
			func(b []byte) uint64 { return uint64((*SIDRREQ)(b).Service()) }},
		{"SIDRREP RequestID", 32, MADLen,
			func(b []byte, v uint64) { (*SIDRREP)(b).SetRequestID(uint32(v)) },
			func(b []byte) uint64 { return uint64((*SIDRREP)(b).RequestID()) }},
		{"SIDRREP Status", 8, MADLen,
			func(b []byte, v uint64) { (*SIDRREP)(b).SetStatus(SIDRStatus(v)) },
			func(b []byte) uint64 { return uint64((*SIDRREP)(b).Status()) }},
		{"SIDRREP InfoLen", 8, MADLen,
			func(b []byte, v uint64) { (*SIDRREP)(b).SetInfoLen(uint8(v)) },
			func(b []byte) uint64 { return uint64((*SIDRREP)(b).InfoLen()) }},
		{"SIDRREP QPN", 24, MADLen,
			func(b []byte, v uint64) { (*SIDRREP)(b).SetQPN(QPN(v)) },
			func(b []byte) uint64 { return uint64((*SIDRREP)(b).QPN()) }},
		{"SIDRREP Service", 64, MADLen,
			func(b []byte, v uint64) { (*SIDRREP)(b).SetService(ServiceID(v)) },
			func(b []byte) uint64 { return uint64((*SIDRREP)(b).Service()) }},
		{"SIDRREP QKey", 32, MADLen,
			func(b []byte, v uint64) { (*SIDRREP)(b).SetQKey(uint32(v)) },
			func(b []byte) uint64 { return uint64((*SIDRREP)(b).QKey()) }},
	}
}
