package qp

// Counters are the transport's events, summed over the QPs that share them. Names are mlx5's.
type Counters struct {
	// Responder.
	RxWriteRequests          uint64
	RxReadRequests           uint64
	RxAtomicRequests         uint64
	OutOfSequence            uint64
	DuplicateRequest         uint64
	OutOfBuffer              uint64
	RespCQEError             uint64
	RespCQEFlushError        uint64
	RespLocalLengthError     uint64
	RespRemoteAccessErrors   uint64
	RespRemoteInvalidRequest uint64

	RespRemoteOperationalErrors uint64

	// Of RespRemoteInvalidRequest, which counts all requests refused as such: what was wrong.
	// RespLocalLengthError has the messages longer than their receive, or not as long as they
	// said.
	RespOpcodeSequence    uint64 // an opcode that may not follow the one before
	RespUnsupportedOpcode uint64 // SEND with invalidate
	RespPacketLength      uint64 // a payload too long, or short before the last
	RespTooManyReads      uint64 // READs and atomics beyond what was agreed
	RespMisalignedAtomic  uint64

	// Dropped without an answer.
	BadPKey            uint64 // packets of a partition that is not ours
	BadQKey            uint64 // datagrams with another Q_Key
	BadTransport       uint64 // packets of another transport than the QP's
	BadLength          uint64 // datagrams longer than the path MTU
	NotReady           uint64 // packets for a QP that does not receive in its state
	UnexpectedResponse uint64 // responses to nothing that was asked
	UnmatchedDuplicate uint64 // repeated READs and atomics that are not kept, or were others

	// Requester.
	PacketSeqErr                uint64
	ImpliedNakSeqErr            uint64
	LocalAckTimeoutErr          uint64
	RNRNakRetryErr              uint64
	ReqCQEError                 uint64
	ReqCQEFlushError            uint64
	ReqRemoteAccessErrors       uint64
	ReqRemoteInvalidRequest     uint64
	ReqTransportRetriesExceeded uint64
	ReqRNRRetriesExceeded       uint64
}

// Stats is what one QP did.
type Stats struct {
	BytesSent            uint64 // payload, retransmissions included
	BytesAcked           uint64 // payload of acknowledged packets
	BytesReceived        uint64 // payload placed into memory
	PacketsSent          uint64
	PacketsRetransmitted uint64
	BytesRetransmitted   uint64
	Messages             uint64 // completed by acknowledgement
}
