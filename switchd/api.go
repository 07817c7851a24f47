package switchd

import "github.com/rocelab/rocelab/dataplane/daemon"

// The bodies of switchd's control calls. Times are virtual nanoseconds.
//
//	GET  /v1/status                          -> Status
//	GET  /v1/state                           -> State
//	GET  /v1/waits                           -> Waits: groups in XOFF and what they wait for
//	POST /v1/sample        SampleRequest        record a queue and the switch's counters
//	GET  /v1/sample                          -> daemon.Samples
//	GET  /v1/sampled                         -> Sampled
//	POST /v1/watermarks/clear ClearWatermarksRequest
//
// and those of forwarding in api_forwarding.go.

// Status is the answer to GET /v1/status.
type Status struct {
	daemon.Status
	SwitchPorts []PortStatus `json:"switch_ports"`
	Pools       []PoolStatus `json:"pools"`
}

// Sampled is the answer to GET /v1/sampled: what the switch had counted at the last sample.
type Sampled struct {
	Queue QueueLength  `json:"queue"` // the sampled one, over the time of the samples
	Ports []PortStatus `json:"ports"`
}

// PortStatus is one port's traffic. Arrays are by priority.
type PortStatus struct {
	Name            string         `json:"name"`
	PFCSent         [8]uint64      `json:"pfc_sent"`
	PFCReceived     [8]uint64      `json:"pfc_received"`
	SendPausedNs    [8]int64       `json:"send_paused_ns"`    // time the peer was told to stop
	ReceivePausedNs [8]int64       `json:"receive_paused_ns"` // time we were told to stop
	Queues          [8]QueueStatus `json:"queues"`
}

// QueueStatus is one egress queue.
type QueueStatus struct {
	Bytes         int64       `json:"bytes"`
	SentPackets   uint64      `json:"sent_packets"`
	SentBytes     uint64      `json:"sent_bytes"`
	MarkedPackets uint64      `json:"marked_packets"`
	Length        QueueLength `json:"length"`
}

// QueueLength is a queue's length over time, weighted by time.
type QueueLength struct {
	MeanBytes float64 `json:"mean_bytes"`
	P99Bytes  float64 `json:"p99_bytes"`
	MaxBytes  float64 `json:"max_bytes"`
}

// PoolStatus is a buffer pool.
type PoolStatus struct {
	Name      string `json:"name"`
	Bytes     int64  `json:"bytes"`
	Watermark int64  `json:"watermark"`
	Size      int64  `json:"size"`
}

// SampleRequest samples one egress queue and the switch's counters.
type SampleRequest struct {
	daemon.SampleRequest
	Port  string `json:"port"`
	Queue int    `json:"queue"`
}

// Columns of the samples; all but the first are cumulative.
const (
	ColumnQueueBytes    = "queue_bytes"
	ColumnPFCSent       = "pfc_sent"        // all ports
	ColumnECNMarked     = "ecn_marked"      // the sampled queue
	ColumnSentLineBytes = "sent_line_bytes" // the sampled queue, with preamble, FCS and gap
)
