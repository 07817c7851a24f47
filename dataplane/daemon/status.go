package daemon

import (
	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// Status is what every daemon tells about itself at GET /v1/status: its account of frames, and
// how well it kept time.
type Status struct {
	Name      string       `json:"name"`
	VirtualNs int64        `json:"virtual_ns"`
	Ledger    LedgerStatus `json:"ledger"`
	Ports     []PortStatus `json:"ports"`
	Loop      LoopStatus   `json:"loop"`
	// Parameters are the effective settings that a reader of results needs.
	Parameters []Parameter `json:"parameters,omitempty"`
}

// Parameter is a named setting.
type Parameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// LedgerStatus is a ledger with the names of its drops.
type LedgerStatus struct {
	Received  dataplane.Count            `json:"received"`
	Generated dataplane.Count            `json:"generated"`
	Sent      dataplane.Count            `json:"sent"`
	Consumed  dataplane.Count            `json:"consumed"`
	Buffered  dataplane.Count            `json:"buffered"`
	Dropped   map[string]dataplane.Count `json:"dropped"`
	Fault     string                     `json:"fault,omitempty"` // why it does not balance
}

// PortStatus is one port's wire.
type PortStatus struct {
	Name     string `json:"name"`
	Up       bool   `json:"up"`
	Received uint64 `json:"received"`  // by the machine
	Sent     uint64 `json:"sent"`      // to the kernel
	Lost     uint64 `json:"lost"`      // between machine and kernel, for any reason
	OnDevice uint64 `json:"on_device"` // seen by the XDP program since the port was last opened
}

// LoopStatus tells how late the loop was, in virtual nanoseconds.
type LoopStatus struct {
	LostNs    int64    `json:"lost_ns"` // by a clock of the daemon's own, against real time
	Turns     uint64   `json:"turns"`
	Events    uint64   `json:"events"`
	PortsDown uint64   `json:"ports_down"`
	Delivered Lateness `json:"delivered"` // frames handed to the kernel after their arrival
	Arrived   Lateness `json:"arrived"`   // frames taken from the kernel after their arrival
	Slips     Lateness `json:"slips"`     // frames that arrived before something already decided
}

// Lateness sums up a histogram.
type Lateness struct {
	Count uint64 `json:"count"`
	P50Ns int64  `json:"p50_ns"`
	P99Ns int64  `json:"p99_ns"`
	MaxNs int64  `json:"max_ns"`
}

func lateness(h *loop.Hist) Lateness {
	return Lateness{h.Count, h.Quantile(0.5).Nanoseconds(), h.Quantile(0.99).Nanoseconds(),
		h.Max.Nanoseconds()}
}

// Status reads the daemon between two turns of its loop.
func (d *Daemon) Status() (Status, error) {
	st := Status{
		Name:   d.spec.Common.Name,
		Ledger: LedgerStatus{Dropped: map[string]dataplane.Count{}},
	}
	ls, err := d.Loop.Stats()
	if err != nil {
		return st, err
	}
	err = d.Loop.Do(func(now unit.Time) {
		st.VirtualNs = int64(now)
		st.Ledger.fill(d.spec.Device.Ledger())
		for i, p := range d.spec.Ports {
			w := ls.Ports[i]
			st.Ports = append(st.Ports, PortStatus{Name: p.Name, Up: d.Loop.Up(dataplane.PortID(i)),
				Received: w.Received, Sent: w.Sent, Lost: w.Lost(), OnDevice: w.OnDevice})
		}
	})
	st.Loop = LoopStatus{
		LostNs:    ls.Lost.Nanoseconds(),
		Turns:     ls.Turns,
		Events:    ls.Events,
		PortsDown: ls.PortsDown,
		Delivered: lateness(
			&ls.Delivered,
		),
		Arrived: lateness(&ls.Arrived),
		Slips:   lateness(&ls.Slips),
	}
	return st, err
}

// NewLedgerStatus names what a ledger counts.
func NewLedgerStatus(l dataplane.Ledger) (s LedgerStatus) {
	s.Dropped = map[string]dataplane.Count{}
	s.fill(l)
	return s
}

func (s *LedgerStatus) fill(l dataplane.Ledger) {
	s.Received, s.Generated, s.Sent = l.Received, l.Generated, l.Sent
	s.Consumed, s.Buffered = l.Consumed, l.Buffered
	for r, c := range l.Dropped {
		if c.Frames > 0 {
			s.Dropped[frame.Reason(r).String()] = c
		}
	}
	if err := l.Check(); err != nil {
		s.Fault = err.Error()
	}
}

// SampleRequest asks for samples of a machine.
type SampleRequest struct {
	IntervalNs int64 `json:"interval_ns"`
	Count      int   `json:"count"`
}
