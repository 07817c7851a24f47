package show

import (
	"fmt"
	"strconv"
	"time"

	"github.com/rocelab/rocelab/switchd"
)

// PFCCounters is `show pfc counters`: PFC frames with the class enabled, by priority.
type PFCCounters struct {
	Head
	Ports []PFCPort `json:"ports"`
}

// PFCPort is one port's PFC; arrays are by priority.
type PFCPort struct {
	Port          string    `json:"port"`
	RxFrames      [8]uint64 `json:"rx_frames"`
	TxFrames      [8]uint64 `json:"tx_frames"`
	RxPausedUs    [8]int64  `json:"rx_paused_us"` // we were told to stop
	TxPausedUs    [8]int64  `json:"tx_paused_us"` // we told the other end to stop
	RxTransitions [8]uint64 `json:"rx_transitions"`
}

// NewPFCCounters shows the counters of st.
func NewPFCCounters(st *switchd.State) *PFCCounters {
	b := &PFCCounters{Head: head(st), Ports: []PFCPort{}}
	for i := range st.Ports {
		p := &st.Ports[i]
		b.Ports = append(b.Ports, PFCPort{Port: p.Name, RxFrames: p.PFCReceived.Frames,
			TxFrames: p.PFCSent.Frames, RxPausedUs: micros(p.PFCReceived.PausedNs),
			TxPausedUs: micros(p.PFCSent.PausedNs), RxTransitions: p.PFCReceived.Transitions})
	}
	return b
}

func micros(ns [8]int64) (us [8]int64) {
	for i := range ns {
		us[i] = ns[i] / int64(time.Microsecond)
	}
	return us
}

// Text implements Block.
func (b *PFCCounters) Text() string {
	rx, tx := right(titles("Port Rx", "PFC")...), right(titles("Port Tx", "PFC")...)
	for i := range b.Ports {
		p := &b.Ports[i]
		rx.row(eight(p.Port, p.RxFrames, commas[uint64])...)
		tx.row(eight(p.Port, p.TxFrames, commas[uint64])...)
	}
	return b.cached("") + rx.String() + "\n" + b.cached("") + tx.String()
}

// PFCHistory is `show pfc counters --history`.
type PFCHistory struct {
	Head
	Ports []PFCHistoryPort `json:"ports"`
}

// PFCHistoryPort is one port's pauses by the other end; arrays are by priority. Times are virtual.
type PFCHistoryPort struct {
	Port          string    `json:"port"`
	Transitions   [8]uint64 `json:"rx_pause_transitions"`
	TotalUs       [8]int64  `json:"total_rx_pause_us"`
	RecentUs      [8]int64  `json:"recent_rx_pause_us"`
	RecentEndedNs [8]int64  `json:"recent_rx_pause_ended_ns"` // on the lab's clock; 0: none yet
}

// NewPFCHistory shows the pauses of st.
func NewPFCHistory(st *switchd.State) *PFCHistory {
	b := &PFCHistory{Head: head(st), Ports: []PFCHistoryPort{}}
	for i := range st.Ports {
		p := &st.Ports[i].PFCReceived
		b.Ports = append(b.Ports, PFCHistoryPort{Port: st.Ports[i].Name,
			Transitions: p.Transitions, TotalUs: micros(p.PausedNs),
			RecentUs: micros(p.RecentPausedNs), RecentEndedNs: p.RecentAtNs})
	}
	return b
}

// Text implements Block. The timestamp is SONiC's wall clock; here it is the lab's, in seconds.
func (b *PFCHistory) Text() string {
	t := right("Port", "Priority", "RX Pause Transitions", "Total RX Pause Time US",
		"Recent RX Pause Time US", "Recent RX Pause Timestamp")
	for i := range b.Ports {
		p := &b.Ports[i]
		for n := range p.Transitions {
			recent, ended := missing, missing
			if p.RecentEndedNs[n] != 0 {
				recent = commas(p.RecentUs[n])
				ended = fmt.Sprintf("%.6f s", time.Duration(p.RecentEndedNs[n]).Seconds())
			}
			t.row(p.Port, "PFC"+strconv.Itoa(n), commas(p.Transitions[n]), commas(p.TotalUs[n]),
				recent, ended)
		}
		t.row()
	}
	return b.cached("") + t.String()
}

// PFCPriority is `show pfc priority`: for which priorities a port sends pauses.
type PFCPriority struct {
	Head
	Ports []PFCPriorityPort `json:"ports"`
}

// PFCPriorityPort is one port's.
type PFCPriorityPort struct {
	Port     string `json:"port"`
	Lossless []int  `json:"lossless_priorities"`
}

// NewPFCPriority shows the priorities of st.
func NewPFCPriority(st *switchd.State) *PFCPriority {
	b := &PFCPriority{Head: head(st), Ports: []PFCPriorityPort{}}
	for i := range st.Ports {
		b.Ports = append(b.Ports, PFCPriorityPort{st.Ports[i].Name, st.Ports[i].PFCSend})
	}
	return b
}

// Text implements Block.
func (b *PFCPriority) Text() string {
	t := left("Interface", "Lossless priorities")
	for i := range b.Ports {
		text := list(b.Ports[i].Lossless)
		if text == "" {
			text = missing
		}
		t.row(b.Ports[i].Port, text)
	}
	return "\n" + t.String() + "\n"
}

// PFCAsymmetric is `show pfc asymmetric`.
type PFCAsymmetric struct {
	Head
	Ports []PFCAsymmetricPort `json:"ports"`
}

// PFCAsymmetricPort is one port's: it obeys pauses for which it sends none, or the reverse.
type PFCAsymmetricPort struct {
	Port       string `json:"port"`
	Asymmetric bool   `json:"asymmetric"`
	Send       []int  `json:"sent_priorities"`
	Obey       []int  `json:"obeyed_priorities"`
}

// NewPFCAsymmetric shows the settings of st.
func NewPFCAsymmetric(st *switchd.State) *PFCAsymmetric {
	b := &PFCAsymmetric{Head: head(st), Ports: []PFCAsymmetricPort{}}
	for i := range st.Ports {
		p := &st.Ports[i]
		b.Ports = append(b.Ports, PFCAsymmetricPort{p.Name, list(p.PFCSend) != list(p.PFCObey),
			p.PFCSend, p.PFCObey})
	}
	return b
}

// Text implements Block.
func (b *PFCAsymmetric) Text() string {
	t := left("Interface", "Asymmetric")
	for i := range b.Ports {
		t.row(b.Ports[i].Port, onOff(b.Ports[i].Asymmetric))
	}
	return "\n" + t.String() + "\n"
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
