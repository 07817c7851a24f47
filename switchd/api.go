package switchd

import "github.com/rocelab/rocelab/dataplane/daemon"

// The bodies of switchd's control calls. Times are virtual.

// Status is the answer to GET /v1/status.
type Status struct {
	daemon.Status
	SwitchPorts []PortStatus `json:"switch_ports"`
	Pool        PoolStatus   `json:"pool"`
}

// PortStatus is one port's traffic.
type PortStatus struct {
	Name             string            `json:"name"`
	PFCSent          [8]uint64         `json:"pfc_sent"`
	PFCReceived      [8]uint64         `json:"pfc_received"`
	SendPausedNs     [8]int64          `json:"send_paused_ns"`    // time the peer was told to stop
	ReceivePausedNs  [8]int64          `json:"receive_paused_ns"` // time we were told to stop
	ECNMarkedPackets uint64            `json:"ecn_marked_packets"`
	Dropped          map[string]uint64 `json:"dropped"`
	Queues           [8]QueueStatus    `json:"queues"`
}

// QueueStatus is one egress queue; mean and quantile are weighted by time.
type QueueStatus struct {
	Bytes         int64   `json:"bytes"`
	SentBytes     uint64  `json:"sent_bytes"`
	SentLineBytes uint64  `json:"sent_line_bytes"` // with preamble, FCS and gap
	SentPackets   uint64  `json:"sent_packets"`
	MeanBytes     float64 `json:"mean_bytes"`
	P99Bytes      float64 `json:"p99_bytes"`
	MaxBytes      float64 `json:"max_bytes"`
	MarkedPackets uint64  `json:"marked_packets"`
}

// PoolStatus is the shared buffer.
type PoolStatus struct {
	Bytes     int64 `json:"bytes"`
	Watermark int64 `json:"watermark"`
}

// SampleRequest samples one egress queue and the switch's counters: POST /v1/sample.
type SampleRequest struct {
	daemon.SampleRequest
	Port  string `json:"port"`
	Queue int    `json:"queue"`
}

// Columns of the samples.
const (
	ColumnQueueBytes = "queue_bytes"
	ColumnPFCSent    = "pfc_sent"   // cumulative, all ports
	ColumnECNMarked  = "ecn_marked" // cumulative, the sampled queue
)

// CaptureRequest writes frames into a pcapng file: POST /v1/capture. It ends at the given number
// of frames, or with POST /v1/capture/stop.
type CaptureRequest struct {
	Path   string   `json:"path"`
	Ports  []string `json:"ports"` // all frames of these, both directions
	PFC    bool     `json:"pfc"`   // and the PFC frames of every port
	Frames uint64   `json:"frames"`
}

// CaptureResult is the answer to POST /v1/capture/stop.
type CaptureResult struct {
	Dropped uint64 `json:"dropped"` // frames for which the writer had no room
}
