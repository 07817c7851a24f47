package nicd

import (
	"fmt"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/nicd/app"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/nicd/uverbs"
)

// Collector exports a NIC and its traffic. Names are those of hardware where it has them: mlx5's
// counters keep theirs.
type Collector struct {
	// PerQP is how many QPs at most get metrics of their own.
	PerQP int
	// Completions fills in the message completion times; nil if there is no traffic to look at.
	Completions func(*app.Histogram) error

	// Programs counts what programs have; nil if there is no socket for them.
	Programs func() (uverbs.Stats, error)

	programs programDescs

	read     func(*nic.Snapshot) error
	snap     nic.Snapshot
	mct      app.Histogram
	counters []*prometheus.Desc
	d        descs
}

type descs struct {
	received, receivedBytes, sent, sentBytes  *prometheus.Desc
	pauses, pausedSeconds, transitions        *prometheus.Desc
	dropped, rates, completion, qpRate, alpha *prometheus.Desc
	cnps                                      *prometheus.Desc
	pausesSent, pausingSeconds, discarded     *prometheus.Desc
	waiting, waitingMost, stopped             *prometheus.Desc
	pauseDisabled                             *prometheus.Desc
}

// NewCollector exports what read delivers, under the device's name.
func NewCollector(device string, read func(*nic.Snapshot) error) *Collector {
	fixed := prometheus.Labels{"device": device, "port": "1"}
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("nicd_"+name, help, labels, fixed)
	}
	c := &Collector{read: read}
	for _, k := range nic.CounterTable {
		help := fmt.Sprintf("%s mlx5: %s.", k.Help, k.Name)
		if k.Own {
			help = k.Help
		}
		c.counters = append(c.counters, desc(k.Name+"_total", help))
	}
	c.d = descs{
		received:      desc("port_received_packets_total", "rx_prioN_packets.", "priority"),
		receivedBytes: desc("port_received_bytes_total", "rx_prioN_bytes.", "priority"),
		sent:          desc("port_sent_packets_total", "tx_prioN_packets.", "priority"),
		sentBytes:     desc("port_sent_bytes_total", "tx_prioN_bytes.", "priority"),
		pauses: desc("pfc_received_frames_total",
			"PFC frames that named the priority: rx_prioN_pause.", "priority"),
		pausedSeconds: desc("pfc_receive_paused_seconds_total",
			"Time the priority was held back by PFC: rx_prioN_pause_duration.", "priority"),
		transitions: desc("pfc_receive_transitions_total",
			"Ends of pauses: rx_prioN_pause_transition.", "priority"),
		dropped: desc("dropped_packets_total", "Received frames dropped, by reason.", "reason"),
		rates: desc("qp_rate_bytes_per_second",
			"Rates that congestion control allows the QPs now."),
		completion: desc("message_completion_seconds",
			"Time from the post of a message to its completion, virtual."),
		qpRate: desc("dcqcn_rate_bytes_per_second", "Current rate of the QP.", "qpn"),
		alpha:  desc("dcqcn_alpha_ratio", "DCQCN's rate reduction factor of the QP.", "qpn"),
		cnps:   desc("qp_cnps_received_total", "CNPs received for the QP.", "qpn"),
	}
	c.describeReceive(desc)
	c.describePrograms(desc)
	return c
}

// Describe sends nothing: what Collect sends is checked when it is gathered.
func (c *Collector) Describe(chan<- *prometheus.Desc) {}

// Collect reads the NIC once.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	if err := c.read(&c.snap); err != nil {
		return // the loop has ended, and the endpoint is about to
	}
	s := &c.snap
	count := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	for i, k := range nic.CounterTable {
		count(c.counters[i], float64(k.Value(s)))
	}
	for p := range s.Traffic {
		t, pause, prio := &s.Traffic[p], &s.Pause[p], strconv.Itoa(p)
		count(c.d.received, float64(t.Received.Frames), prio)
		count(c.d.receivedBytes, float64(t.Received.Bytes), prio)
		count(c.d.sent, float64(t.Sent.Frames), prio)
		count(c.d.sentBytes, float64(t.Sent.Bytes), prio)
		count(c.d.pauses, float64(pause.RxPause), prio)
		count(c.d.pausedSeconds, pause.RxPauseDuration.Seconds(), prio)
		count(c.d.transitions, float64(pause.RxPauseTransition), prio)
		count(c.d.pausesSent, float64(pause.TxPause), prio)
		count(c.d.pausingSeconds, pause.TxPauseDuration.Seconds(), prio)
		count(c.d.discarded, float64(s.Receive.Discarded[p].Frames), prio)
	}
	for r, n := range s.Ledger.Dropped {
		if frame.Reason(r) != frame.NoReason {
			count(c.d.dropped, float64(n.Frames), frame.Reason(r).String())
		}
	}
	c.receive(out, &s.Receive)
	c.qps(out, s)
	c.states(out, s)
	c.owned(out)
	c.completions(out)
}

// qps exports the distribution of rates, and some QPs by number.
func (c *Collector) qps(out chan<- prometheus.Metric, s *nic.Snapshot) {
	buckets, sum := map[float64]uint64{}, 0.0
	for bound := 1.25e6; bound < 1e11; bound *= 10 { // 10 Mb/s to 400 Gb/s
		for _, step := range []float64{1, 2, 4} {
			buckets[bound*step] = 0
		}
	}
	for i := range s.QPs {
		q := &s.QPs[i]
		rate := float64(q.Rate) / 8
		sum += rate
		for bound := range buckets {
			if rate <= bound {
				buckets[bound]++
			}
		}
		if i >= c.PerQP {
			continue
		}
		qpn := q.QPN.String()
		gauge := func(d *prometheus.Desc, v float64) {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, qpn)
		}
		gauge(c.d.qpRate, rate)
		for _, v := range q.CC[:q.CCValues] {
			if v.Name == "alpha" {
				gauge(c.d.alpha, v.Value)
			}
		}
		out <- prometheus.MustNewConstMetric(c.d.cnps, prometheus.CounterValue, float64(q.CNPs),
			qpn)
	}
	out <- prometheus.MustNewConstHistogram(c.d.rates, uint64(len(s.QPs)), sum, buckets)
}

// completions exports message completion times: powers of four from 1 us to 1 s.
func (c *Collector) completions(out chan<- prometheus.Metric) {
	if c.Completions == nil || c.Completions(&c.mct) != nil {
		return
	}
	h, buckets := &c.mct, map[float64]uint64{}
	for ns := uint64(1 << 10); ns <= 1<<30; ns <<= 2 {
		buckets[float64(ns)/1e9] = h.Below(ns)
	}
	out <- prometheus.MustNewConstHistogram(c.d.completion, h.Count, h.Sum.Seconds(), buckets)
}

// counters are the NIC's counters by mlx5's names, for the status call.
func counters(s *nic.Snapshot) map[string]uint64 {
	named := make(map[string]uint64, len(nic.CounterTable))
	for _, c := range nic.CounterTable {
		named[c.Name] = c.Value(s)
	}
	return named
}
