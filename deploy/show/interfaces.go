package show

import (
	"fmt"
	"strconv"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd"
)

// InterfaceCounters is `show interfaces counters`.
type InterfaceCounters struct {
	Head
	// PeriodNs is the virtual time over which Rates are; 0 if they were not asked for.
	PeriodNs int64          `json:"period_ns"`
	Ports    []InterfaceRow `json:"ports"`
}

// InterfaceRow is one port. MAC control frames are not in OK.
type InterfaceRow struct {
	Port      string          `json:"port"`
	Up        bool            `json:"up"`
	Rx        dataplane.Count `json:"rx_ok"`
	RxErrors  uint64          `json:"rx_error_frames"`
	RxDropped uint64          `json:"rx_dropped_frames"`
	Tx        dataplane.Count `json:"tx_ok"`
	TxDropped uint64          `json:"tx_dropped_frames"`
	Rates     *Rates          `json:"rates,omitempty"`
}

// Rates are in virtual time. Utilisation counts preamble and gap, so that a full line is 1.
type Rates struct {
	RxBytesPerSecond float64 `json:"rx_bytes_per_second"`
	TxBytesPerSecond float64 `json:"tx_bytes_per_second"`
	RxUtilisation    float64 `json:"rx_utilisation_ratio"`
	TxUtilisation    float64 `json:"tx_utilisation_ratio"`
}

// NewInterfaceCounters shows the counters of st, and the rates by port, if there are any, that were
// measured over a period of virtual time.
func NewInterfaceCounters(st *switchd.State, rates map[string]Rates, period time.Duration,
	f *Filter) *InterfaceCounters {
	b := &InterfaceCounters{Head: head(st), PeriodNs: period.Nanoseconds(),
		Ports: []InterfaceRow{}}
	for i := range st.Ports {
		row := interfaceRow(&st.Ports[i])
		if r, ok := rates[row.Port]; ok {
			row.Rates = &r
		}
		if f.NonZero && row.Rx.Frames+row.Tx.Frames+row.RxErrors+row.RxDropped+row.TxDropped == 0 {
			continue
		}
		b.Ports = append(b.Ports, row)
	}
	return b
}

// interfaceRow says on which side of a port what was dropped: what its queues refused was about to
// leave, the rest had come in.
func interfaceRow(p *switchd.PortState) InterfaceRow {
	row := InterfaceRow{Port: p.Name, Up: p.Up, Rx: sum(&p.Received), Tx: sum(&p.Sent)}
	for n := range p.Queues {
		for reason, packets := range p.Queues[n].DroppedPackets {
			if !atIngress(reason) {
				row.TxDropped += packets
			}
		}
	}
	var all uint64
	for _, drops := range p.DroppedPackets {
		for reason, packets := range drops {
			all += packets
			if reason == frame.DropMalformed.String() {
				row.RxErrors += packets
			}
		}
	}
	if out := row.TxDropped + row.RxErrors; all > out {
		row.RxDropped = all - out
	}
	return row
}

func sum(by *[8]dataplane.Count) (total dataplane.Count) {
	for _, c := range by {
		total.Frames += c.Frames
		total.Bytes += c.Bytes
	}
	return total
}

// NewRates are the rates of each port between two states of a switch.
func NewRates(before, now *switchd.State) map[string]Rates {
	seconds := float64(now.VirtualNs-before.VirtualNs) / 1e9
	rates := make(map[string]Rates)
	if seconds <= 0 {
		return rates // the clock stands
	}
	old := make(map[string]*switchd.PortState)
	for i := range before.Ports {
		old[before.Ports[i].Name] = &before.Ports[i]
	}
	for i := range now.Ports {
		p := &now.Ports[i]
		o := old[p.Name]
		if o == nil {
			continue
		}
		rx, rxLine := flow(&o.Received, &p.Received, seconds)
		tx, txLine := flow(&o.Sent, &p.Sent, seconds)
		rates[p.Name] = Rates{rx, tx, rxLine * 8 / float64(p.RateBps),
			txLine * 8 / float64(p.RateBps)}
	}
	return rates
}

// flow is the bytes of frames per second, and those on the line.
func flow(before, now *[8]dataplane.Count, seconds float64) (rate, line float64) {
	a, b := sum(before), sum(now)
	rate = float64(b.Bytes-a.Bytes) / seconds
	return rate, rate + float64(b.Frames-a.Frames)*float64(wire.Overhead)/seconds
}

// Text implements Block. What SONiC has and we do not is N/A; so are rates unless asked for.
func (b *InterfaceCounters) Text() string {
	t := right("IFACE", "STATE", "RX_OK", "RX_BPS", "RX_UTIL", "RX_ERR", "RX_DRP", "RX_OVR",
		"TX_OK", "TX_BPS", "TX_UTIL", "TX_ERR", "TX_DRP", "TX_OVR")
	for i := range b.Ports {
		p := &b.Ports[i]
		state, rx, rxUse, tx, txUse := "D", missing, missing, missing, missing
		if p.Up {
			state = "U"
		}
		if r := p.Rates; r != nil {
			rx, tx = byteRate(r.RxBytesPerSecond), byteRate(r.TxBytesPerSecond)
			rxUse, txUse = percent(r.RxUtilisation), percent(r.TxUtilisation)
		}
		t.row(p.Port, state, commas(p.Rx.Frames), rx, rxUse, commas(p.RxErrors),
			commas(p.RxDropped), missing, commas(p.Tx.Frames), tx, txUse, missing,
			commas(p.TxDropped), missing)
	}
	return b.cached("") + t.String()
}

// byteRate is SONiC's format_brate.
func byteRate(r float64) string {
	switch {
	case r > 10e6:
		return fmt.Sprintf("%.2f MB/s", r/1e6)
	case r > 10e3:
		return fmt.Sprintf("%.2f KB/s", r/1e3)
	}
	return fmt.Sprintf("%.2f B/s", r)
}

func percent(ratio float64) string { return fmt.Sprintf("%.2f%%", ratio*100) }

// InterfaceStatus is `show interfaces status`.
type InterfaceStatus struct {
	Head
	Ports []InterfaceStatusRow `json:"ports"`
}

// InterfaceStatusRow is one port.
type InterfaceStatusRow struct {
	Port       string `json:"port"`
	RateBps    int64  `json:"rate_bps"`
	MTU        int    `json:"mtu"` // 0: there is no device
	Up         bool   `json:"up"`
	Asymmetric bool   `json:"asymmetric_pfc"`
}

// NewInterfaceStatus shows the ports of st.
func NewInterfaceStatus(st *switchd.State) *InterfaceStatus {
	b := &InterfaceStatus{Head: head(st), Ports: []InterfaceStatusRow{}}
	for i := range st.Ports {
		p := &st.Ports[i]
		b.Ports = append(b.Ports, InterfaceStatusRow{p.Name, p.RateBps, p.MTU, p.Up,
			list(p.PFCSend) != list(p.PFCObey)})
	}
	return b
}

// Text implements Block.
func (b *InterfaceStatus) Text() string {
	t := right("Interface", "Lanes", "Speed", "MTU", "FEC", "Alias", "Vlan", "Oper", "Admin",
		"Type", "Asym PFC")
	for i := range b.Ports {
		p := &b.Ports[i]
		oper, mtu := "down", missing
		if p.Up {
			oper = "up"
		}
		if p.MTU != 0 {
			mtu = strconv.Itoa(p.MTU)
		}
		t.row(p.Port, missing, speed(p.RateBps), mtu, missing, missing, missing, oper, "up",
			missing, onOff(p.Asymmetric))
	}
	return t.String()
}

// speed is in SONiC's words: 40G, 100M.
func speed(bps int64) string {
	const g = int64(unit.GbPerSecond)
	if bps%g == 0 {
		return fmt.Sprintf("%dG", bps/g)
	}
	return fmt.Sprintf("%gM", float64(bps)/1e6)
}
