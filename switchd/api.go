package switchd

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/daemon"
)

// The bodies of switchd's control calls. Times are virtual nanoseconds.
//
//	GET  /v1/status                          -> Status
//	GET  /v1/state                           -> State
//	GET  /v1/waits                           -> Waits: groups in XOFF and what they wait for
//	POST /v1/sample        SampleRequest        record queues and the switch's counters
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
	Queue  QueueLength   `json:"queue"`  // that of SampleRequest.Port, if there is one
	Queues []QueueLength `json:"queues"` // those of SampleRequest.Queues, in its order
	Ports  []PortStatus  `json:"ports"`
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

// QueueLength is a queue's length over time, weighted by time: in Sampled, over the time of the
// samples. The mean and the largest are exact, the others to 1 KB up to 1 MB, and to 1.6 % above.
type QueueLength struct {
	MeanBytes float64 `json:"mean_bytes"`
	P99Bytes  float64 `json:"p99_bytes"`
	MaxBytes  float64 `json:"max_bytes"`

	// In Sampled only.
	P50Bytes float64 `json:"p50_bytes,omitempty"`
	P90Bytes float64 `json:"p90_bytes,omitempty"`
	P95Bytes float64 `json:"p95_bytes,omitempty"`
	// Quantiles were not exceeded for 0, 5, 10 to 100 % of the time.
	Quantiles []float64 `json:"quantiles,omitempty"`
}

// PoolStatus is a buffer pool.
type PoolStatus struct {
	Name      string `json:"name"`
	Bytes     int64  `json:"bytes"`
	Watermark int64  `json:"watermark"`
	Size      int64  `json:"size"`
}

// SampleRequest samples egress queues and the switch's counters.
type SampleRequest struct {
	daemon.SampleRequest
	// One queue, whose columns have no suffix. Without a port there is none, if there are others.
	Port  string `json:"port"`
	Queue int    `json:"queue"`

	Queues []QueueRef `json:"queues"`
}

// QueueRef names an egress queue.
type QueueRef struct {
	Port  string `json:"port"`
	Queue int    `json:"queue"`
}

// Column is the name of a queue's column, as "queue_bytes:swp1:3".
func (r QueueRef) Column(of string) string { return fmt.Sprintf("%s:%s:%d", of, r.Port, r.Queue) }

// Columns of the samples; all but ColumnQueueBytes are cumulative. Those of SampleRequest.Queues
// have the queue behind them: QueueRef.Column.
const (
	ColumnPFCSent     = "pfc_sent"     // frames, all ports
	ColumnPFCReceived = "pfc_received" // frames, all ports
	// ColumnDropped is of the whole switch, for whatever reason; with a queue behind it, frames
	// that were meant for that queue.
	ColumnDropped = "dropped"

	ColumnQueueBytes    = "queue_bytes"
	ColumnECNMarked     = "ecn_marked"
	ColumnSentLineBytes = "sent_line_bytes" // with preamble, FCS and gap
)
