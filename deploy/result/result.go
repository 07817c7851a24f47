// Package result is what a run leaves behind: the content of result.json.
//
// All times are virtual nanoseconds and all rates virtual bits per second, as the emulated network
// saw them, except where a field says real.
package result

// SchemaVersion is raised when a field changes its meaning or goes away.
const SchemaVersion = 1

// Result is one invocation: one scenario, run once or several times with different settings.
type Result struct {
	SchemaVersion int      `json:"schema_version"`
	Version       string   `json:"version"` // of rocelab
	Started       string   `json:"started"` // RFC 3339, real time
	Machine       Machine  `json:"machine"`
	Scenario      Scenario `json:"scenario"`
	Runs          []Run    `json:"runs"`
}

// Machine is what it ran on.
type Machine struct {
	Kernel string `json:"kernel"`
	CPUs   int    `json:"cpus"`
	Go     string `json:"go"`
}

// Scenario is what was asked for.
type Scenario struct {
	Name         string `json:"name"`
	Description  string `json:"description"`
	Senders      int    `json:"senders"`
	LinkRateBps  int64  `json:"link_rate_bps"`
	LinkDelayNs  int64  `json:"link_delay_ns"`
	MessageBytes int64  `json:"message_bytes"`
	PathMTU      int    `json:"path_mtu"`
	Bottleneck   string `json:"bottleneck"` // port, as "sw0:swp5"
	Queue        int    `json:"queue"`      // egress queue of the traffic at the bottleneck
	Command      string `json:"command"`    // runs it again
}

// Run is one execution of the scenario.
type Run struct {
	Name       string `json:"name"` // "PFC alone", "DCQCN"
	Algorithm  string `json:"algorithm"`
	Parameters []Line `json:"parameters"` // effective values, for the reader
	DurationNs int64  `json:"duration_ns"`
	WarmupNs   int64  `json:"warmup_ns"` // from the start, left out of goodput and fairness

	Flows            []Flow  `json:"flows"`
	TotalGoodputBps  float64 `json:"total_goodput_bps"`
	LinkUtilisation  float64 `json:"link_utilisation"` // of the bottleneck, all overhead included
	JainIndex        float64 `json:"jain_index"`
	Queue            Queue   `json:"queue"`
	PFC              PFC     `json:"pfc"`
	ECNMarkedPackets uint64  `json:"ecn_marked_packets"`
	CNPsSent         uint64  `json:"cnps_sent"`
	CNPsHandled      uint64  `json:"cnps_handled"`
	Drops            []Drop  `json:"drops"`

	Clock       Clock       `json:"clock"`
	Certificate Certificate `json:"certificate"`
	Series      Series      `json:"series"`
	Capture     string      `json:"capture,omitempty"` // file name of the pcapng
}

// Line is a named text.
type Line struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Flow is one queue pair's traffic.
type Flow struct {
	Name          string  `json:"name"` // "h1 > h5"
	QPN           uint32  `json:"qpn"`
	GoodputBps    float64 `json:"goodput_bps"` // payload delivered after warm-up
	AckedBytes    uint64  `json:"acked_bytes"`
	Messages      uint64  `json:"messages"`
	Retransmitted uint64  `json:"retransmitted_packets"`
	CNPs          uint64  `json:"cnps"`
	PausedNs      int64   `json:"paused_ns"` // time its NIC was paused on its priority
}

// Queue is the bottleneck queue over the whole run, weighted by time.
type Queue struct {
	MeanBytes float64 `json:"mean_bytes"`
	P99Bytes  float64 `json:"p99_bytes"`
	MaxBytes  float64 `json:"max_bytes"`
}

// PFC sums over the ports of the switch.
type PFC struct {
	FramesSent     uint64 `json:"frames_sent"`
	FramesReceived uint64 `json:"frames_received"`
	PausedNs       int64  `json:"paused_ns"` // sum over the paused senders' priorities
}

// Drop is a number of frames lost for one reason at one place.
type Drop struct {
	Where  string `json:"where"`
	Reason string `json:"reason"`
	Frames uint64 `json:"frames"`
}

// Clock is how virtual time went by.
type Clock struct {
	Dilation  float64 `json:"dilation"` // real time divided by virtual time, over the run
	RealNs    int64   `json:"real_ns"`
	HeldShare float64 `json:"held_share"` // of real time, waiting for a late loop
}

// Certificate says whether the run can be trusted, and why.
type Certificate struct {
	Valid  bool    `json:"valid"`
	Checks []Check `json:"checks"`
}

// Check is one condition of the certificate.
type Check struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Limit string `json:"limit"`
	OK    bool   `json:"ok"`
}

// Series are samples over time, all of the same length.
type Series struct {
	IntervalNs int64       `json:"interval_ns"`
	TimeNs     []int64     `json:"time_ns"`
	QueueBytes []float64   `json:"queue_bytes"`
	RatesBps   [][]float64 `json:"rates_bps"`   // per flow: payload delivered in each interval
	LimitsBps  [][]float64 `json:"limits_bps"`  // per flow: what congestion control allows
	PFCFrames  []float64   `json:"pfc_frames"`  // per interval, sent by the switch
	CNPs       []float64   `json:"cnps"`        // per interval, sent by the receiver
	ECNMarks   []float64   `json:"ecn_marks"`   // per interval, at the bottleneck
	PausedFrac []float64   `json:"paused_frac"` // share of each interval, mean of the senders
}
