package nicd

import (
	"net/netip"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// The bodies of nicd's control calls. Times are virtual.

// MRRequest registers memory: POST /v1/mr.
type MRRequest struct {
	Bytes       int64 `json:"bytes"`
	RemoteWrite bool  `json:"remote_write"`
}

// MR tells where the memory is.
type MR struct {
	Addr uint64 `json:"addr"`
	RKey uint32 `json:"rkey"`
	LKey uint32 `json:"lkey"`
}

// QP is a queue pair as its peer has to know it: the answer to POST /v1/qp.
type QP struct {
	QPN uint32 `json:"qpn"`
	PSN uint32 `json:"psn"` // of the first packet it sends
}

// ConnectRequest brings a queue pair to RTS: POST /v1/connect.
type ConnectRequest struct {
	QPN    uint32     `json:"qpn"`
	Remote QP         `json:"remote"`
	IP     netip.Addr `json:"ip"`
	MAC    wire.MAC   `json:"mac"`
}

// FlowRequest makes traffic on a connected queue pair: POST /v1/flow.
type FlowRequest struct {
	Name         string `json:"name"`
	QPN          uint32 `json:"qpn"`
	Verb         string `json:"verb"` // write or send
	MessageBytes int64  `json:"message_bytes"`
	Depth        int    `json:"depth"`    // messages outstanding at most
	Messages     uint64 `json:"messages"` // 0: no limit
	StartNs      int64  `json:"start_ns"`
	StopNs       int64  `json:"stop_ns"` // 0: never
	Local        MR     `json:"local"`
	Remote       MR     `json:"remote"`
}

// ReceiveRequest keeps receives of the given size posted on a queue pair: POST /v1/receive.
type ReceiveRequest struct {
	QPN   uint32 `json:"qpn"`
	Bytes int64  `json:"bytes"`
	Depth int    `json:"depth"`
	Local MR     `json:"local"`
}

// Status is the answer to GET /v1/status.
type Status struct {
	daemon.Status
	Counters map[string]uint64 `json:"counters"` // mlx5's names
	PausedNs int64             `json:"paused_ns"`
	Flows    []FlowStatus      `json:"flows"`
}

// FlowStatus is one flow so far.
type FlowStatus struct {
	Name          string             `json:"name"`
	QPN           uint32             `json:"qpn"`
	Messages      uint64             `json:"messages"`
	AckedBytes    uint64             `json:"acked_bytes"`
	Retransmitted uint64             `json:"retransmitted_packets"`
	CNPs          uint64             `json:"cnps"`
	RateBps       int64              `json:"rate_bps"` // what congestion control allows now
	State         map[string]float64 `json:"state"`    // of the algorithm
}

// Columns of the samples of POST /v1/sample, GET /v1/sample: for each flow "acked:NAME" (bytes)
// and "rate:NAME" (bits per second), and these.
const (
	ColumnPausedNs = "paused_ns" // cumulative, data priority
	ColumnCNPsSent = "cnps_sent" // cumulative
)
