package nicd

import (
	"fmt"
	"net/netip"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/ib"
)

// The bodies of nicd's control calls. Times are virtual nanoseconds, rates bits per second.
//
//	POST /v1/open    OpenRequest    -> Endpoint   a QP and a region for the peer to write into
//	POST /v1/join    JoinRequest                      connect it with its peer
//	POST /v1/flow    FlowRequest                      make traffic on it
//	POST /v1/receive ReceiveRequest                   stop the receive pipeline, or let it go on
//	GET  /v1/receive                -> ReceiveStatus
//	POST /v1/receive/restore                          pause again, after the watchdog forbade it
//	GET  /v1/pingmesh               -> PingmeshStatus
//	GET  /v1/status                 -> Status
//	GET  /v1/addresses              -> Addresses
//	POST /v1/sample  daemon.SampleRequest             record what the flows do
//	GET  /v1/sample                 -> daemon.Samples

// Endpoint is what a peer must know to connect to a QP and write into its region.
type Endpoint struct {
	QPN  ib.QPN     `json:"qpn"`
	PSN  ib.PSN     `json:"psn"`
	IP   netip.Addr `json:"ip"`
	MAC  wire.MAC   `json:"mac"`
	VA   uint64     `json:"va"`
	RKey uint32     `json:"rkey"`
	// Feedback: it gives congestion feedback, which ldcp and dctcp live on, and answers RTT probes.
	Feedback bool `json:"feedback,omitempty"`
}

// OpenRequest asks for a QP and a region of memory.
type OpenRequest struct {
	Bytes int        `json:"bytes"`
	IP    netip.Addr `json:"ip"` // which of the NIC's addresses; invalid: its first, IPv4 if any
	// Payload is what the region has: real bytes, or virtual ones, which are zeros when they are
	// sent and are forgotten when they are received. What happens is the same. Empty: real.
	Payload Payload `json:"payload,omitempty"`
}

// Payload says whether the bytes of a region are stored.
type Payload string

// The kinds. In virtual time packets keep no more of virtual payload than its length, which is
// several times as fast; on real frames the zeros are there.
const (
	Real    Payload = "real"
	Virtual Payload = "virtual"
)

// UnmarshalText reads the name.
func (p *Payload) UnmarshalText(b []byte) error {
	if *p = Payload(b); *p != "" && *p != Real && *p != Virtual {
		return fmt.Errorf("payload %q: want real or virtual", b)
	}
	return nil
}

// JoinRequest connects a QP that Open made. Without a MAC address the kernel is asked for the way
// to the peer, and the QP follows it when it changes.
type JoinRequest struct {
	QPN  ib.QPN   `json:"qpn"`
	Peer Endpoint `json:"peer"`
}

// FlowRequest makes traffic on a joined QP.
type FlowRequest struct {
	Name         string `json:"name"`
	QPN          ib.QPN `json:"qpn"`
	Verb         string `json:"verb"` // write, send, read, fetch_add or cmp_swap
	MessageBytes int    `json:"message_bytes"`
	SpanBytes    int    `json:"span_bytes"` // of the peer's region, that messages take in turn
	Depth        int    `json:"depth"`      // messages outstanding at most
	Messages     uint64 `json:"messages"`   // 0: no limit
	StartNs      int64  `json:"start_ns"`
	StopNs       int64  `json:"stop_ns"` // 0: no limit
}

// Status is the answer to GET /v1/status.
type Status struct {
	daemon.Status
	State
}

// State is what a NIC counted. The answer to GET /v1/sampled is that of the last sample.
type State struct {
	Counters map[string]uint64 `json:"counters"`  // mlx5's names
	PausedNs int64             `json:"paused_ns"` // sum over the priorities
	Flows    []FlowStatus      `json:"flows"`
}

// FlowStatus is one flow so far.
type FlowStatus struct {
	Name          string             `json:"name"`
	QPN           ib.QPN             `json:"qpn"`
	Messages      uint64             `json:"messages"`
	Failed        uint64             `json:"failed"` // messages that ended with an error
	AckedBytes    uint64             `json:"acked_bytes"`
	Retransmitted uint64             `json:"retransmitted_packets"`
	RateBps       int64              `json:"rate_bps"` // what congestion control allows now
	State         map[string]float64 `json:"state"`    // of the algorithm
}

// Columns of the samples: these; for each flow ColumnRate+NAME, what congestion control allows in
// bits per second; and for each QP ColumnPlaced+QPN, the payload that was placed into its region.
const (
	ColumnPausedNs = "paused_ns" // cumulative
	ColumnCNPsSent = "cnps_sent" // cumulative
	ColumnRate     = "rate:"
	ColumnPlaced   = "placed:" // bytes, cumulative
)
