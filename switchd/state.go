package switchd

import (
	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// State is everything that can be seen of a switch at one time: the answer to GET /v1/state, and
// what `rocelab show` prints. Counters start at 0 with the daemon and are never reset. Arrays are
// by priority, queue or priority group. Durations are virtual.
type State struct {
	Name       string      `json:"name"`
	VirtualNs  int64       `json:"virtual_ns"`
	Ports      []PortState `json:"ports"`
	Pools      []PoolState `json:"pools"` // ingress pools, then egress pools
	MACEntries int         `json:"mac_entries"`
}

// PortState is a port.
type PortState struct {
	Name    string `json:"name"`
	Up      bool   `json:"up"`
	RateBps int64  `json:"rate_bps"` // bits per second
	MTU     int    `json:"mtu"`      // of the device, in bytes; 0 without one
	PFCSend []int  `json:"pfc_send"` // priorities for which pauses are sent
	PFCObey []int  `json:"pfc_obey"` // priorities whose pauses are obeyed

	Received        [8]dataplane.Count  `json:"received"` // without MAC control frames
	Sent            [8]dataplane.Count  `json:"sent"`
	ControlReceived dataplane.Count     `json:"control_received"`
	ControlSent     dataplane.Count     `json:"control_sent"`
	DroppedPackets  []map[string]uint64 `json:"dropped_packets"` // by class and reason

	Paused      []int            `json:"paused"`  // priorities that the other end stops now
	Pausing     []int            `json:"pausing"` // priorities of it that we stop now
	PFCReceived PFCReceivedState `json:"pfc_received"`
	PFCSent     PFCSentState     `json:"pfc_sent"`
	Watchdog    WatchdogState    `json:"pfcwd"`

	Queues [8]QueueState `json:"queues"`
	Groups [8]GroupState `json:"priority_groups"`
}

// PFCReceivedState counts what the other end told us.
type PFCReceivedState struct {
	Frames      [8]uint64 `json:"frames"`
	PausedNs    [8]int64  `json:"paused_ns"`
	Transitions [8]uint64 `json:"transitions"` // from paused to running
	// The latest pause that has ended: how long it was, and its end on the lab's clock. 0 is none.
	RecentPausedNs [8]int64 `json:"recent_paused_ns"`
	RecentAtNs     [8]int64 `json:"recent_at_ns"`
}

// PFCSentState counts what we told the other end.
type PFCSentState struct {
	Frames   [8]uint64 `json:"frames"`
	PausedNs [8]int64  `json:"paused_ns"`
}

// WatchdogState is the storm watchdog of a port.
type WatchdogState struct {
	Action        string          `json:"action"` // off, drop, forward or alert
	Rule          string          `json:"rule"`
	PollNs        int64           `json:"poll_ns"`
	DetectionNs   int64           `json:"detection_ns"`
	RestorationNs int64           `json:"restoration_ns"`
	Priorities    [8]WatchedState `json:"priorities"`
}

// WatchedState is what the watchdog knows of a priority.
type WatchedState struct {
	Watched  bool   `json:"watched"`
	Stormed  bool   `json:"stormed"`
	Queue    uint8  `json:"queue"` // that the priority stops
	Detected uint64 `json:"detected"`
	Restored uint64 `json:"restored"`
	// Of the latest storm that was found, and of the latest that was over; 0: there was none.
	DetectedAtNs int64     `json:"detected_at_ns"`
	RestoredAtNs int64     `json:"restored_at_ns"`
	TX           pfc.Tally `json:"tx"` // packets while stormed
	RX           pfc.Tally `json:"rx"`
	LastTX       pfc.Tally `json:"last_tx"` // in the present storm, or the last
	LastRX       pfc.Tally `json:"last_rx"`
}

// UseState is an occupancy with its watermarks, in bytes.
type UseState struct {
	Bytes               int64 `json:"bytes"`
	Watermark           int64 `json:"watermark_bytes"`
	PersistentWatermark int64 `json:"persistent_watermark_bytes"`
}

// QueueState is an egress queue.
type QueueState struct {
	UseState
	LimitBytes     int64             `json:"limit_bytes"` // of the egress pool; 0 without one
	Sent           dataplane.Count   `json:"sent"`
	Marked         dataplane.Count   `json:"ecn_marked"`
	DroppedPackets map[string]uint64 `json:"dropped_packets"` // by reason
	DroppedBytes   map[string]uint64 `json:"dropped_bytes"`
}

// GroupState is an ingress priority group.
type GroupState struct {
	XOFF               bool            `json:"xoff"`
	ReservedBytes      int64           `json:"reserved_bytes"`
	Shared             UseState        `json:"shared"`
	Headroom           UseState        `json:"headroom"`
	SharedLimitBytes   int64           `json:"shared_limit_bytes"` // at this moment
	HeadroomLimitBytes int64           `json:"headroom_limit_bytes"`
	Admitted           dataplane.Count `json:"admitted"`
	DroppedPackets     uint64          `json:"dropped_packets"`
}

// PoolState is a buffer pool.
type PoolState struct {
	Name      string `json:"name"`
	Direction string `json:"direction"` // ingress or egress
	SizeBytes int64  `json:"size_bytes"`
	UseState
	SharedBytes       int64    `json:"shared_bytes"` // of the size
	HeadroomSizeBytes int64    `json:"headroom_size_bytes"`
	Headroom          UseState `json:"headroom"`
}

// NewState is what a snapshot tells. Names and rates of ports are the configuration's.
func NewState(name string, ports []daemon.PortConfig, snap *pipeline.Snapshot) State {
	st := State{Name: name, VirtualNs: int64(snap.At), MACEntries: snap.MACs,
		Ports: make([]PortState, len(snap.Ports)), Pools: make([]PoolState, len(snap.Pools))}
	for i := range st.Ports {
		st.Ports[i] = portState(&snap.Ports[i])
		st.Ports[i].RateBps, st.Ports[i].MTU = int64(ports[i].Rate), ports[i].MTU
	}
	for i := range st.Pools {
		p := &snap.Pools[i]
		st.Pools[i] = PoolState{Name: p.Name, Direction: poolDirections[p.Direction],
			SizeBytes: int64(p.Size), UseState: useState(p.Use), SharedBytes: int64(p.Shared),
			HeadroomSizeBytes: int64(p.HeadroomSize), Headroom: useState(p.Headroom)}
	}
	return st
}

func useState(u mmu.Use) UseState {
	return UseState{int64(u.Occupancy), int64(u.Watermark), int64(u.Persistent)}
}

func portState(p *pipeline.PortSnapshot) PortState {
	st := PortState{Name: p.Name, Up: p.Up, PFCSend: listed(p.PFCSend),
		PFCObey: listed(p.PFCObey), Received: p.Received, Sent: p.Sent,
		ControlReceived: p.ControlReceived, ControlSent: p.ControlSent,
		Paused: listed(p.Paused), Pausing: listed(p.Pausing), Watchdog: watchdogState(p)}
	for tc := range p.Dropped {
		st.DroppedPackets = append(st.DroppedPackets, byReason(&p.Dropped[tc]))
	}
	in, out := &st.PFCReceived, &st.PFCSent
	in.Frames, in.Transitions = p.PFCReceived.Frames, p.PFCReceived.Transitions
	out.Frames = p.PFCSent.Frames
	for n := range in.PausedNs {
		in.PausedNs[n] = p.PFCReceived.Paused[n].Nanoseconds()
		in.RecentPausedNs[n] = p.PFCReceived.Recent[n].Nanoseconds()
		in.RecentAtNs[n] = int64(p.PFCReceived.RecentAt[n])
		out.PausedNs[n] = p.PFCSent.Paused[n].Nanoseconds()
	}
	for i := range p.Queues {
		q := &p.Queues[i]
		st.Queues[i] = QueueState{UseState: useState(q.Use), LimitBytes: int64(q.Limit),
			Sent: q.Sent, Marked: q.Marked, DroppedPackets: byReason(&q.Dropped),
			DroppedBytes: byReason(&q.DroppedBytes)}
	}
	for i := range p.Groups {
		st.Groups[i] = groupState(&p.Groups[i])
	}
	return st
}

func groupState(g *pipeline.GroupSnapshot) GroupState {
	bytes := func(n, watermark, persistent unit.Bytes) UseState {
		return UseState{int64(n), int64(watermark), int64(persistent)}
	}
	return GroupState{XOFF: g.XOFF, ReservedBytes: int64(g.Reserved),
		Shared:           bytes(g.Shared, g.SharedWatermark, g.SharedPersistent),
		Headroom:         bytes(g.Headroom, g.HeadroomWatermark, g.HeadroomPersistent),
		SharedLimitBytes: int64(g.Limit), HeadroomLimitBytes: int64(g.HeadroomLimit),
		Admitted: g.Admitted, DroppedPackets: g.Dropped}
}

func watchdogState(p *pipeline.PortSnapshot) WatchdogState {
	c := &p.WatchdogConfig
	st := WatchdogState{Action: c.Action.String(), Rule: c.Rule.String(),
		PollNs: c.Poll.Nanoseconds(), DetectionNs: c.Detection.Nanoseconds(),
		RestorationNs: c.Restoration.Nanoseconds()}
	for n := range p.Watchdog {
		w := &p.Watchdog[n]
		st.Priorities[n] = WatchedState{Watched: w.Watched, Stormed: w.Stormed,
			Queue: uint8(w.Queue), Detected: w.Detected, Restored: w.Restored,
			DetectedAtNs: int64(w.DetectedAt), RestoredAtNs: int64(w.RestoredAt),
			TX: w.TX, RX: w.RX, LastTX: w.LastTX, LastRX: w.LastRX}
	}
	return st
}

// listed is the priorities of a set; an empty one is an empty list.
func listed(s pfc.Set) []int {
	list := []int{}
	for p := range s.All() {
		list = append(list, int(p))
	}
	return list
}

// byReason names what was dropped; reasons that have not occurred are left out.
func byReason(d *pipeline.Drops) map[string]uint64 {
	m := make(map[string]uint64)
	for reason, n := range d {
		if n > 0 {
			m[frame.Reason(reason).String()] = n
		}
	}
	return m
}

func (s *observer) state(struct{}) (State, error) {
	var snap pipeline.Snapshot
	if err := s.run.Do(func(now unit.Time) { s.sw.Snapshot(now, &snap) }); err != nil {
		return State{}, err
	}
	return NewState(s.cfg.Name, s.cfg.Ports, &snap), nil
}
