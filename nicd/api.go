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
//	POST /v1/cc      CCRequest                        change congestion control
//	GET  /v1/cc                     -> CCStatus
//	POST /v1/receive ReceiveRequest                   stop the receive pipeline, or let it go on
//	GET  /v1/receive                -> ReceiveStatus
//	POST /v1/receive/restore                          pause again, after the watchdog forbade it
//	GET  /v1/pingmesh               -> PingmeshStatus
//	GET  /v1/status                 -> Status
//	GET  /v1/addresses              -> Addresses
//	GET  /v1/messages?flow=NAME     -> []Message      those that FlowRequest.Log asked for
//	POST /v1/sample  SampleRequest                    record what the flows do
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

// OpenRequest asks for a QP and a region of memory. What the peer SENDs is received into the
// region, so that a flow may come After it.
type OpenRequest struct {
	Bytes int        `json:"bytes"`
	IP    netip.Addr `json:"ip"` // which of the NIC's addresses; invalid: its first, IPv4 if any
	// DSCP of the QP's packets, data and acknowledgements; null: as the NIC's others. It chooses
	// their priority.
	DSCP *uint8 `json:"dscp,omitempty"`
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
	DSCP *uint8   `json:"dscp,omitempty"` // in place of that of OpenRequest
}

// FlowRequest makes traffic on a joined QP. docs/nic.md tells what can be made of it.
type FlowRequest struct {
	Name         string `json:"name"`
	QPN          ib.QPN `json:"qpn"`
	Verb         string `json:"verb"` // write, write_imm, send, read, fetch_add or cmp_swap
	MessageBytes int    `json:"message_bytes"`
	SpanBytes    int    `json:"span_bytes"` // of the peer's region, that messages take in turn
	Depth        int    `json:"depth"`      // messages outstanding at most
	Messages     uint64 `json:"messages"`   // 0: no limit
	StartNs      int64  `json:"start_ns"`
	StopNs       int64  `json:"stop_ns"` // 0: no limit

	// Sizes is a distribution of message sizes, in place of message_bytes.
	Sizes []SizePoint `json:"sizes,omitempty"`
	Seed  uint64      `json:"seed,omitempty"` // of sizes and of poisson times
	// IntervalNs is the mean time between messages that arrive by themselves and queue up behind
	// depth; 0: the next is there when the depth allows it.
	IntervalNs int64 `json:"interval_ns,omitempty"`
	// IdleNs is for how long on average nothing is posted after a completion.
	IdleNs int64 `json:"idle_ns,omitempty"`
	// Arrivals is how these two are distributed: poisson or periodic, which is also "".
	Arrivals string `json:"arrivals,omitempty"`
	// After is a QP that was opened here: message k, from 0, is posted only when k+1-lead messages
	// have been received on it.
	After ib.QPN `json:"after,omitempty"`
	Lead  int    `json:"lead,omitempty"`
	// Log is how many messages, the first ones, GET /v1/messages tells of.
	Log int `json:"log,omitempty"`
}

// SizePoint says that messages are not larger than Bytes with probability P. P ascends from point
// to point and is 1 at the last; sizes in between are interpolated linearly.
type SizePoint struct {
	Bytes int     `json:"bytes"`
	P     float64 `json:"p"`
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
	Name     string `json:"name"`
	QPN      ib.QPN `json:"qpn"`
	Messages uint64 `json:"messages"` // completed
	Failed   uint64 `json:"failed"`   // messages that ended with an error
	Posted   uint64 `json:"posted"`
	// Missed arrived and were never posted: too many waited, or the flow ended.
	Missed        uint64             `json:"missed"`
	FirstNs       int64              `json:"first_ns"` // post of the first message
	LastNs        int64              `json:"last_ns"`  // completion of the latest
	MCT           MCT                `json:"mct"`
	AckedBytes    uint64             `json:"acked_bytes"`
	Retransmitted uint64             `json:"retransmitted_packets"`
	RateBps       int64              `json:"rate_bps"` // what congestion control allows now
	State         map[string]float64 `json:"state"`    // of the algorithm
}

// MCT sums up message completion times, which count from the post of a message, or from its arrival
// if they arrive by themselves. Count, mean and the largest are exact, the others too large by an
// eighth at most.
type MCT struct {
	Count  uint64 `json:"count"`
	MeanNs int64  `json:"mean_ns"`
	P50Ns  int64  `json:"p50_ns"`
	P90Ns  int64  `json:"p90_ns"`
	P99Ns  int64  `json:"p99_ns"`
	P999Ns int64  `json:"p999_ns"`
	MaxNs  int64  `json:"max_ns"`
}

// Message is one that a flow completed.
type Message struct {
	Bytes       int   `json:"bytes"`
	ArrivedNs   int64 `json:"arrived_ns"` // as posted_ns, if messages do not arrive by themselves
	PostedNs    int64 `json:"posted_ns"`
	CompletedNs int64 `json:"completed_ns"`
}

// SampleRequest samples the NIC, its flows and its QPs.
type SampleRequest struct {
	daemon.SampleRequest
	// Flows false leaves out the columns of single flows and QPs; null is true.
	Flows *bool `json:"flows,omitempty"`
}

// Columns of the samples. Those that end with a colon are of each flow, whose name follows, or of
// each QP.
const (
	ColumnPausedNs = "paused_ns" // cumulative
	ColumnCNPsSent = "cnps_sent" // cumulative
	ColumnRate     = "rate:"     // of a flow: what congestion control allows, in bits per second
	ColumnAcked    = "acked:"    // of a flow: payload acknowledged, in bytes, cumulative
	ColumnWindow   = "window:"   // of a flow, in bytes, if its congestion control has one
	ColumnPlaced   = "placed:"   // of a QP by number: payload received, in bytes, cumulative
)
