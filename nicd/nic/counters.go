package nic

// Counter is one of the NIC's counters by its mlx5 name, which users and their dashboards know.
type Counter struct {
	Name  string
	Help  string
	Value func(*Snapshot) uint64
}

// CounterTable lists every counter; the order is fixed.
var CounterTable = []Counter{
	{"np_ecn_marked_roce_packets", "RoCEv2 packets received with ECN congestion experienced.",
		func(s *Snapshot) uint64 { return s.Counters.NPECNMarkedRoCEPackets }},
	{"np_cnp_sent", "CNPs sent by the notification point.",
		func(s *Snapshot) uint64 { return s.Counters.NPCNPSent }},
	{"rp_cnp_handled", "CNPs received that slowed a QP down.",
		func(s *Snapshot) uint64 { return s.Counters.RPCNPHandled }},
	{"rp_cnp_ignored", "CNPs received for which congestion control has no use.",
		func(s *Snapshot) uint64 { return s.Counters.RPCNPIgnored }},
	{"rx_icrc_encapsulated", "RoCEv2 packets received with a wrong ICRC.",
		func(s *Snapshot) uint64 { return s.Counters.RxICRCEncapsulated }},
	{"out_of_sequence", "Request packets received beyond the expected PSN.",
		func(s *Snapshot) uint64 { return s.Transport.OutOfSequence }},
	{"duplicate_request", "Request packets received that were executed before.",
		func(s *Snapshot) uint64 { return s.Transport.DuplicateRequest }},
	{"out_of_buffer", "Requests that found no receive posted.",
		func(s *Snapshot) uint64 { return s.Transport.OutOfBuffer }},
	{"rx_write_requests", "WRITE requests received.",
		func(s *Snapshot) uint64 { return s.Transport.RxWriteRequests }},
	{"rx_read_requests", "READ requests received.",
		func(s *Snapshot) uint64 { return s.Transport.RxReadRequests }},
	{"rx_atomic_requests", "Atomic requests received.",
		func(s *Snapshot) uint64 { return s.Transport.RxAtomicRequests }},
	{"implied_nak_seq_err", "Answers to READs or atomics overtaken by later ones, retries left.",
		func(s *Snapshot) uint64 { return s.Transport.ImpliedNakSeqErr }},
	{"bad_pkey", "RoCEv2 packets received for a QP of another partition.",
		func(s *Snapshot) uint64 { return s.Transport.BadPKey }},
	{"packet_seq_err", "NAK sequence errors received, retries left.",
		func(s *Snapshot) uint64 { return s.Transport.PacketSeqErr }},
	{"local_ack_timeout_err", "Retransmission timers that ran out, retries left.",
		func(s *Snapshot) uint64 { return s.Transport.LocalAckTimeoutErr }},
	{"rnr_nak_retry_err", "RNR NAKs received, retries left.",
		func(s *Snapshot) uint64 { return s.Transport.RNRNakRetryErr }},
	{"req_cqe_error", "Requests completed with an error.",
		func(s *Snapshot) uint64 { return s.Transport.ReqCQEError }},
	{"req_cqe_flush_error", "Requests flushed.",
		func(s *Snapshot) uint64 { return s.Transport.ReqCQEFlushError }},
	{"req_remote_access_errors", "Requests that the peer refused for lack of rights.",
		func(s *Snapshot) uint64 { return s.Transport.ReqRemoteAccessErrors }},
	{"req_remote_invalid_request", "Requests that the peer refused as invalid.",
		func(s *Snapshot) uint64 { return s.Transport.ReqRemoteInvalidRequest }},
	{"req_transport_retries_exceeded", "Requests given up after the last retransmission.",
		func(s *Snapshot) uint64 { return s.Transport.ReqTransportRetriesExceeded }},
	{"req_rnr_retries_exceeded", "Requests given up because the peer was never ready.",
		func(s *Snapshot) uint64 { return s.Transport.ReqRNRRetriesExceeded }},
	{"resp_cqe_error", "Receives completed with an error.",
		func(s *Snapshot) uint64 { return s.Transport.RespCQEError }},
	{"resp_cqe_flush_error", "Receives flushed.",
		func(s *Snapshot) uint64 { return s.Transport.RespCQEFlushError }},
	{"resp_local_length_error", "Messages longer than their receive.",
		func(s *Snapshot) uint64 { return s.Transport.RespLocalLengthError }},
	{"resp_remote_access_errors", "Requests refused for lack of rights.",
		func(s *Snapshot) uint64 { return s.Transport.RespRemoteAccessErrors }},
}
