package nicd

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/nic"
)

// describeReceive names the metrics of the receive side.
func (c *Collector) describeReceive(desc func(name, help string,
	labels ...string) *prometheus.Desc) {
	c.d.pausesSent = desc("pfc_sent_frames_total",
		"PFC frames sent that named the priority: tx_prioN_pause.", "priority")
	c.d.pausingSeconds = desc("pfc_send_paused_seconds_total",
		"Time the other end was told to hold the priority back: tx_prioN_pause_duration.",
		"priority")
	c.d.discarded = desc("receive_discarded_packets_total",
		"Packets dropped for lack of room in the receive buffer: rx_prioN_discards.", "priority")
	c.d.waiting = desc("receive_buffer_used_bytes",
		"Bytes that wait for the receive pipeline now.", "buffer")
	c.d.waitingMost = desc("receive_buffer_watermark_bytes",
		"Most bytes that ever waited for the receive pipeline.", "buffer")
	c.d.pauseDisabled = desc("pfc_send_disabled",
		"1 while the pause watchdog lets the NIC pause the priority no more.", "priority")
	c.d.stopped = desc("receive_pipeline_stopped", "1 while the receive pipeline is stopped.")
}

// receive exports the receive side, if it is modelled.
func (c *Collector) receive(out chan<- prometheus.Metric, v *nic.ReceiveView) {
	if !v.Modelled {
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, b := range []struct {
		name       string
		used, most unit.Bytes
	}{{"lossless", v.Lossless, v.LosslessMost}, {"lossy", v.Lossy, v.LossyMost}} {
		gauge(c.d.waiting, float64(b.used), b.name)
		gauge(c.d.waitingMost, float64(b.most), b.name)
	}
	for p := range pfc.Priority(8) {
		gauge(c.d.pauseDisabled, number(v.PauseDisabled.Has(p)), strconv.Itoa(int(p)))
	}
	gauge(c.d.stopped, number(v.Stopped))
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
