package daemon

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rocelab/rocelab/dataplane/loop"
)

// loopCollector exports what the emulator itself did: anything above zero among the losses means
// that the emulator dropped a frame, not the emulated network.
type loopCollector struct {
	loop  *loop.Loop
	kind  string
	ports []PortConfig
}

// Describe sends nothing: the collector is unchecked, its names carry the daemon's prefix.
func (c *loopCollector) Describe(chan<- *prometheus.Desc) {}

// Collect reads the loop once.
func (c *loopCollector) Collect(out chan<- prometheus.Metric) {
	st, err := c.loop.Stats()
	if err != nil {
		return // the loop has ended, and the endpoint is about to
	}
	counter := func(name, help string, v float64, labels, values []string) {
		desc := prometheus.NewDesc(c.kind+"_"+name, help, labels, nil)
		out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, v, values...)
	}
	counter("virtual_seconds_total", "Time on the lab's clock, in which all other seconds count.",
		time.Duration(st.Now).Seconds(), nil, nil)
	counter("clock_lost_seconds_total", "Time by which a daemon without a lab has fallen behind "+
		"real time, because its machine stood still or is too slow.", st.Lost.Seconds(), nil, nil)
	for i := range st.Ports {
		for _, m := range wireMetrics {
			v := float64(m.value(&st.Ports[i]))
			counter(m.name, m.help, v, []string{"port"}, []string{c.ports[i].Name})
		}
	}
	counter("loop_turns_total", "Turns of the loop.", float64(st.Turns), nil, nil)
	counter("loop_events_total", "Events handled by the loop.", float64(st.Events), nil, nil)
	counter("port_down_events_total", "Times a port lost its device.", float64(st.PortsDown), nil,
		nil)
	c.lateness(out, st.Delivered)
	info := prometheus.NewDesc(c.kind+"_build_info", "Version of the daemon; always 1.",
		[]string{"version", "goversion"}, nil)
	out <- prometheus.MustNewConstMetric(info, prometheus.GaugeValue, 1, Version(),
		runtime.Version())
}

// wireMetrics are the counters of one port's wire.
var wireMetrics = []struct {
	name, help string
	value      func(*loop.WireStats) uint64
}{
	{"xsk_received_frames_total", "Frames taken from the AF_XDP socket.",
		func(w *loop.WireStats) uint64 { return w.Received }},
	{"xsk_sent_frames_total", "Frames given to the AF_XDP socket.",
		func(w *loop.WireStats) uint64 { return w.Sent }},
	{"xsk_rx_dropped_total", "XDP_STATISTICS rx_dropped.",
		func(w *loop.WireStats) uint64 { return w.RingDropped }},
	{"xsk_rx_ring_full_total", "XDP_STATISTICS rx_ring_full.",
		func(w *loop.WireStats) uint64 { return w.RingFull }},
	{"xsk_rx_fill_ring_empty_total", "XDP_STATISTICS rx_fill_ring_empty_descs.",
		func(w *loop.WireStats) uint64 { return w.FillEmpty }},
	{"xsk_tx_invalid_descs_total", "XDP_STATISTICS tx_invalid_descs.",
		func(w *loop.WireStats) uint64 { return w.TxInvalid }},
	{"port_lost_frames_total", "Frames the emulator lost for lack of a frame, for their length, " +
		"because the device was away, or for arriving faster than the line.",
		func(w *loop.WireStats) uint64 { return w.NoFrame + w.TooLong + w.Down + w.Overrun }},
}

// lateness exports how late frames left, in virtual seconds, as a classic histogram.
func (c *loopCollector) lateness(out chan<- prometheus.Metric, h loop.Hist) {
	buckets := make(map[float64]uint64)
	for d := 100 * time.Nanosecond; d <= 10*time.Millisecond; d *= 10 {
		buckets[d.Seconds()] = h.Below(d)
	}
	desc := prometheus.NewDesc(c.kind+"_frame_lateness_seconds",
		"How late frames left for the kernel, in virtual time.", nil, nil)
	out <- prometheus.MustNewConstHistogram(desc, h.Count, h.Sum.Seconds(), buckets)
}
