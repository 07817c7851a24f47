package show

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/switchd"
)

// Top is `rocelab top`: what the ports of a switch did between two states, in virtual time.
type Top struct {
	Head
	PeriodNs int64     `json:"period_ns"` // between the states; 0: the clock stands
	Dilation float64   `json:"dilation_ratio"`
	Ports    []TopPort `json:"ports"`
}

// TopPort is one port.
type TopPort struct {
	Port string `json:"port"`
	Up   bool   `json:"up"`
	Rates
	QueuedBytes int64 `json:"queued_bytes"` // all queues, now
	// The largest share of the time for which one priority was paused.
	RxPaused float64 `json:"rx_paused_ratio"` // we were told to stop
	TxPaused float64 `json:"tx_paused_ratio"` // the other end was
	// Per virtual second.
	Marked  float64 `json:"ecn_marked_packets_per_second"`
	Dropped float64 `json:"dropped_packets_per_second"`
	Stormed []int   `json:"stormed_priorities"`
}

// NewTop compares two states of a switch that are so far apart in real time.
func NewTop(before, now *switchd.State, apart time.Duration) *Top {
	b := &Top{Head: head(now), PeriodNs: max(now.VirtualNs-before.VirtualNs, 0),
		Ports: []TopPort{}}
	if b.PeriodNs > 0 {
		b.Dilation = float64(apart.Nanoseconds()) / float64(b.PeriodNs)
	}
	rates := NewRates(before, now)
	old := make(map[string]*switchd.PortState)
	for i := range before.Ports {
		old[before.Ports[i].Name] = &before.Ports[i]
	}
	for i := range now.Ports {
		p := &now.Ports[i]
		row := TopPort{Port: p.Name, Up: p.Up, Rates: rates[p.Name], Stormed: []int{}}
		for n := range p.Queues {
			row.QueuedBytes += p.Queues[n].Bytes
			if p.Watchdog.Priorities[n].Stormed {
				row.Stormed = append(row.Stormed, n)
			}
		}
		if o := old[p.Name]; o != nil && b.PeriodNs > 0 {
			row.compare(o, p, float64(b.PeriodNs))
		}
		b.Ports = append(b.Ports, row)
	}
	return b
}

func (r *TopPort) compare(before, now *switchd.PortState, ns float64) {
	for n := range now.Queues {
		rx := less(now.PFCReceived.PausedNs[n], before.PFCReceived.PausedNs[n])
		tx := less(now.PFCSent.PausedNs[n], before.PFCSent.PausedNs[n])
		r.RxPaused = max(r.RxPaused, float64(rx)/ns)
		r.TxPaused = max(r.TxPaused, float64(tx)/ns)
		marked := less(now.Queues[n].Marked.Frames, before.Queues[n].Marked.Frames)
		r.Marked += float64(marked) * 1e9 / ns
	}
	r.Dropped = float64(less(drops(now), drops(before))) * 1e9 / ns
}

func drops(p *switchd.PortState) (sum uint64) {
	for _, by := range p.DroppedPackets {
		for _, n := range by {
			sum += n
		}
	}
	return sum
}

// Text implements Block.
func (b *Top) Text() string {
	t := right("Port", "State", "RX Gb/s", "TX Gb/s", "TX use", "Queued", "RX paused", "TX paused",
		"ECN/ms", "Drop/ms", "Storm")
	for i := range b.Ports {
		p := &b.Ports[i]
		state := "D"
		if p.Up {
			state = "U"
		}
		t.row(p.Port, state, gigabits(p.RxBytesPerSecond), gigabits(p.TxBytesPerSecond),
			percent(p.TxUtilisation), commas(p.QueuedBytes), percent(p.RxPaused),
			percent(p.TxPaused), fmt.Sprintf("%.1f", p.Marked/1e3),
			fmt.Sprintf("%.1f", p.Dropped/1e3), orDash(list(p.Stormed)))
	}
	return fmt.Sprintf("at %v, dilation %.0f\n", time.Duration(b.VirtualNs).Round(time.Microsecond),
		b.Dilation) + t.String()
}

func gigabits(bytesPerSecond float64) string { return fmt.Sprintf("%.2f", bytesPerSecond*8/1e9) }
