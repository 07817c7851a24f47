package deadlock

// Port names a port of a lab.
type Port struct {
	Device string `json:"device"`
	Name   string `json:"port"`
}

func (p Port) String() string { return p.Device + ":" + p.Name }

// Wait is one switch's word that a priority group in XOFF waits for an egress queue. All times
// are virtual.
type Wait struct {
	In      string `json:"in"`       // ingress port: it pauses its peer
	Group   int    `json:"group"`    // its priority group
	Pauses  []int  `json:"pauses"`   // priorities of the peer that it pauses
	SinceNs int64  `json:"since_ns"` // since when

	Out        string `json:"out"`          // egress port that holds frames of the group
	Queue      int    `json:"queue"`        // its queue
	Frames     int    `json:"frames"`       // how many
	Bytes      int64  `json:"bytes"`        // of what length
	PausedBy   []int  `json:"paused_by"`    // priorities that stop the queue; none: it can send
	OutSinceNs int64  `json:"out_since_ns"` // since when, if it is stopped
}
