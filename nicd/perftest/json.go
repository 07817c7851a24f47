package perftest

import (
	"encoding/json"
	"io"
	"net/netip"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// Document is the JSON report. Rates are of the NIC's virtual time, but for those that say
// otherwise, and in base units, whatever the table's are.
type Document struct {
	Schema int    `json:"schema_version"` // 1
	Test   string `json:"test"`
	Title  string `json:"title"`
	Role   string `json:"role"` // client or server

	NIC           string       `json:"nic"`
	LinkRate      unit.Rate    `json:"link_rate"`
	QPs           int          `json:"qps"`
	MTU           int          `json:"mtu_bytes"`
	TxDepth       int          `json:"tx_depth"`
	RxDepth       int          `json:"rx_depth"`
	PostList      int          `json:"post_list"`
	CQMod         int          `json:"cq_moderation"`
	GIDIndex      int          `json:"gid_index"`
	RdmaCM        bool         `json:"rdma_cm_qps"`
	Bidirectional bool         `json:"bidirectional"`
	Checked       bool         `json:"payload_checked"`
	PeerVersion   string       `json:"peer_version"`
	Local         []KeysReport `json:"local"`
	Remote        []KeysReport `json:"remote"`

	Bandwidth []BandwidthReport `json:"bandwidth,omitempty"`
	Latency   []LatencyReport   `json:"latency,omitempty"`
	Error     string            `json:"error,omitempty"` // what ended the test before its end
}

// KeysReport is one of the QPs.
type KeysReport struct {
	QPN      uint32     `json:"qpn"`
	PSN      uint32     `json:"psn"`
	GID      netip.Addr `json:"gid"`
	RKey     uint32     `json:"rkey"`
	VA       uint64     `json:"vaddr"`
	OutReads int        `json:"outstanding_reads"`
}

// BandwidthReport is a row. With traffic both ways Average, Peak and Rate are the sums.
type BandwidthReport struct {
	Size       int     `json:"size_bytes"`
	Iterations uint64  `json:"iterations"`
	Peak       float64 `json:"peak_bytes_per_second"` // 0: not searched
	Average    float64 `json:"average_bytes_per_second"`
	Gbits      float64 `json:"average_gbps"`
	Rate       float64 `json:"messages_per_second"`
	Local      float64 `json:"local_average_bytes_per_second"`
	Remote     float64 `json:"remote_average_bytes_per_second,omitempty"`
	// If the NIC's clock has lost time meanwhile, as it can without a lab: how much, and what our
	// end's average is by the wall clock.
	Lost float64 `json:"clock_lost_seconds,omitempty"`
	Wall float64 `json:"local_wall_clock_average_bytes_per_second,omitempty"`
}

// LatencyReport is a row: what the table prints, and nothing left out of Largest.
type LatencyReport struct {
	Size       int `json:"size_bytes"`
	Iterations int `json:"iterations"`
	latencies
	Rate float64   `json:"messages_per_second,omitempty"` // of a run of a duration
	All  []float64 `json:"all_us,omitempty"`              // asked for by -U
	// As of a BandwidthReport.
	Lost float64 `json:"clock_lost_seconds,omitempty"`
	Wall float64 `json:"wall_clock_t_avg_us,omitempty"`
}

// document collects the report.
type document struct {
	c    *Config
	w    io.Writer
	mine summary
	doc  Document
}

func (d *document) waiting() {}

func (d *document) info(s *session) {
	c := d.c
	role := "server"
	if c.client() {
		role = "client"
	}
	d.doc = Document{Schema: 1, Test: c.Test.String(), Title: c.title(), Role: role,
		NIC: s.attr.Name, LinkRate: s.attr.Rate, QPs: c.QPs, MTU: s.g.mtu, TxDepth: c.TxDepth,
		RxDepth: c.RxDepth, PostList: c.PostList, CQMod: c.CQMod, GIDIndex: s.gid, RdmaCM: c.CM,
		Bidirectional: c.Bidirectional, Checked: c.Check, PeerVersion: s.g.peer}
}

func (d *document) end(side string, k *Keys) {
	r := KeysReport{uint32(k.QPN), uint32(k.PSN), k.GID, k.RKey, k.VA, k.OutReads}
	if side == "local" {
		d.doc.Local = append(d.doc.Local, r)
	} else {
		d.doc.Remote = append(d.doc.Remote, r)
	}
}

func (d *document) header() {}

func (d *document) bandwidth(own summary, peer *summary) error {
	d.mine = own
	total, bytes := own, d.c.unitBytes()
	var remote float64
	if peer != nil {
		total, remote = own.plus(*peer), peer.average*bytes
	}
	row := BandwidthReport{Size: int(own.size),
		Iterations: own.iterations, Peak: total.peak * bytes, Average: total.average * bytes,
		Gbits: total.average * bytes / bytesPerGbit, Rate: total.rate * 1e6,
		Local: own.average * bytes, Remote: remote}
	if lost := own.loss.lost(); lost > 0 {
		row.Lost, row.Wall = lost.Seconds(), row.Local/own.loss.longer()
	}
	d.doc.Bandwidth = append(d.doc.Bandwidth, row)
	return d.c.limit(total)
}

func (d *document) latency(r *roundTrips) error {
	halves := d.c.Test.halves()
	row := LatencyReport{Size: r.size, Iterations: len(r.times)}
	if d.c.Duration > 0 {
		row.Iterations = r.count
		row.Average, row.Rate = r.duration(halves)
	} else {
		row.latencies = latency(r.times, halves)
	}
	if lost := r.loss.lost(); lost > 0 {
		row.Lost, row.Wall = lost.Seconds(), r.wallAverage(halves)
	}
	if d.c.Unsorted {
		for _, t := range r.times {
			row.All = append(row.All, float64(t.Nanoseconds())/float64(halves)/1000)
		}
	}
	d.doc.Latency = append(d.doc.Latency, row)
	return nil
}

func (d *document) last() summary { return d.mine }

func (d *document) done() {}

// write ends the report with what ended the test.
func (d *document) write(err error) error {
	if err != nil {
		d.doc.Error = err.Error()
	}
	e := json.NewEncoder(d.w)
	e.SetIndent("", "  ")
	return e.Encode(&d.doc)
}
