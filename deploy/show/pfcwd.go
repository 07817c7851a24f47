package show

import (
	"fmt"
	"strings"
	"time"

	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/switchd"
)

// PFCWDStats is `show pfcwd stats`: the queues for which the watchdog has something to tell.
type PFCWDStats struct {
	Head
	Queues []PFCWDQueue `json:"queues"`
}

// PFCWDQueue is what the watchdog of a port knows of the queue that a priority stops.
type PFCWDQueue struct {
	Port     string    `json:"port"`
	Queue    int       `json:"queue"`
	Priority int       `json:"priority"`
	Status   string    `json:"status"` // operational or stormed
	Detected uint64    `json:"storms_detected"`
	Restored uint64    `json:"storms_restored"`
	TX       pfc.Tally `json:"tx"` // packets while stormed
	RX       pfc.Tally `json:"rx"`
	LastTX   pfc.Tally `json:"last_tx"` // in the present or the last storm
	LastRX   pfc.Tally `json:"last_rx"`
}

// NewPFCWDStats shows the watchdogs of st: queues that were stormed at least once, or all with
// `--empty`.
func NewPFCWDStats(st *switchd.State, empty bool) *PFCWDStats {
	b := &PFCWDStats{Head: head(st), Queues: []PFCWDQueue{}}
	for i := range st.Ports {
		for n, w := range st.Ports[i].Watchdog.Priorities {
			if !w.Watched || (w.Detected == 0 && !empty) {
				continue
			}
			q := PFCWDQueue{Port: st.Ports[i].Name, Queue: int(w.Queue), Priority: n,
				Status: "operational", Detected: w.Detected, Restored: w.Restored, TX: w.TX,
				RX: w.RX, LastTX: w.LastTX, LastRX: w.LastRX}
			if w.Stormed {
				q.Status = "stormed"
			}
			b.Queues = append(b.Queues, q)
		}
	}
	return b
}

// Stormed reports whether a queue is in a storm now.
func (b *PFCWDStats) Stormed() bool {
	for i := range b.Queues {
		if b.Queues[i].Status == "stormed" {
			return true
		}
	}
	return false
}

// Text implements Block.
func (b *PFCWDStats) Text() string {
	t := right("QUEUE", "STATUS", "STORM DETECTED/RESTORED", "TX OK/DROP", "RX OK/DROP",
		"TX LAST OK/DROP", "RX LAST OK/DROP")
	for i := range b.Queues {
		q := &b.Queues[i]
		t.row(fmt.Sprintf("%s:%d", q.Port, q.Queue), q.Status,
			fmt.Sprintf("%d/%d", q.Detected, q.Restored), tally(q.TX), tally(q.RX),
			tally(q.LastTX), tally(q.LastRX))
	}
	return t.String()
}

func tally(t pfc.Tally) string { return fmt.Sprintf("%d/%d", t.OK, t.Dropped) }

// PFCWDConfig is `show pfcwd config`.
type PFCWDConfig struct {
	Head
	Ports []PFCWDPort `json:"ports"`
}

// PFCWDPort is the watchdog of a port as it runs. Times are virtual.
type PFCWDPort struct {
	Port          string  `json:"port"`
	Action        string  `json:"action"`
	Rule          string  `json:"rule"`
	PollMs        float64 `json:"poll_interval_ms"`
	DetectionMs   float64 `json:"detection_time_ms"`
	RestorationMs float64 `json:"restoration_time_ms"` // -1: never
}

// NewPFCWDConfig shows the ports of st that have a watchdog.
func NewPFCWDConfig(st *switchd.State) *PFCWDConfig {
	b := &PFCWDConfig{Head: head(st), Ports: []PFCWDPort{}}
	for i := range st.Ports {
		w := &st.Ports[i].Watchdog
		if w.Action == pfc.Off.String() {
			continue
		}
		row := PFCWDPort{st.Ports[i].Name, w.Action, w.Rule, millis(w.PollNs),
			millis(w.DetectionNs), millis(w.RestorationNs)}
		if w.RestorationNs == pfc.NeverRestore.Nanoseconds() {
			row.RestorationMs = -1
		}
		b.Ports = append(b.Ports, row)
	}
	return b
}

func millis(ns int64) float64 { return float64(ns) / float64(time.Millisecond) }

// Text implements Block. Times are in ms; one that is none of SONiC's is written as it is. SONiC's
// HISTORY says whether pauses are summed up, which here they always are.
func (b *PFCWDConfig) Text() string {
	t := right("PORT", "ACTION", "DETECTION TIME", "RESTORATION TIME", "HISTORY")
	var out strings.Builder
	for i := range b.Ports {
		p := &b.Ports[i]
		if i == 0 || p.PollMs != b.Ports[i-1].PollMs {
			fmt.Fprintf(&out, "Changed polling interval to %gms\n", p.PollMs)
		}
		restoration := fmt.Sprintf("%g", p.RestorationMs)
		if p.RestorationMs < 0 {
			restoration = "never"
		}
		t.row(p.Port, p.Action, fmt.Sprintf("%g", p.DetectionMs), restoration, "enable")
	}
	return out.String() + t.String()
}
