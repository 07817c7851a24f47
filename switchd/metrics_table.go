package switchd

import (
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// The metrics. HELP quotes the name that network engineers know: mlx5's ethtool counters at the
// port, SAI's statistics at queues, groups and pools.

var (
	byPriority = []string{"port", "priority"}
	byQueue    = []string{"port", "queue"}
)

var (
	portDropped = describe("port_dropped_packets_total",
		"Packets dropped, by reason (rx_prioN_discards, rx_discards_phy).",
		[]string{"port", "priority", "reason"})
	queueDropped = describe("queue_dropped_packets_total",
		"Packets dropped on their way into or out of the queue "+
			"(SAI_QUEUE_STAT_DROPPED_PACKETS).", []string{"port", "queue", "reason"})
)

// classOf is a traffic class of a port, which is the PFC priority.
type classOf struct {
	*pipeline.PortSnapshot
	n int
}

var priorityMetrics = []metric[classOf]{
	counter("port_received_packets_total", "Packets received (rx_prioN_packets).", byPriority,
		func(c *classOf) float64 { return float64(c.Received[c.n].Frames) }),
	counter("port_received_bytes_total", "Bytes received (rx_prioN_bytes).", byPriority,
		func(c *classOf) float64 { return float64(c.Received[c.n].Bytes) }),
	counter("port_sent_packets_total", "Packets sent (tx_prioN_packets).", byPriority,
		func(c *classOf) float64 { return float64(c.Sent[c.n].Frames) }),
	counter("port_sent_bytes_total", "Bytes sent (tx_prioN_bytes).", byPriority,
		func(c *classOf) float64 { return float64(c.Sent[c.n].Bytes) }),
	counter("pfc_received_frames_total",
		"PFC frames received for the priority (rx_prioN_pause, SAI_PORT_STAT_PFC_N_RX_PKTS).",
		byPriority, func(c *classOf) float64 { return float64(c.PFCReceived.Frames[c.n]) }),
	counter("pfc_sent_frames_total",
		"PFC frames sent for the priority (tx_prioN_pause, SAI_PORT_STAT_PFC_N_TX_PKTS).",
		byPriority, func(c *classOf) float64 { return float64(c.PFCSent.Frames[c.n]) }),
	counter("pfc_receive_paused_seconds_total",
		"Time for which the other end held the priority back (rx_prioN_pause_duration).",
		byPriority, func(c *classOf) float64 { return c.PFCReceived.Paused[c.n].Seconds() }),
	counter("pfc_send_paused_seconds_total",
		"Time for which the other end was told to hold back (tx_prioN_pause_duration).",
		byPriority, func(c *classOf) float64 { return c.PFCSent.Paused[c.n].Seconds() }),
	counter("pfc_receive_transitions_total",
		"Changes from paused to running (rx_prioN_pause_transition, "+
			"SAI_PORT_STAT_PFC_N_ON2OFF_RX_PKTS).", byPriority,
		func(c *classOf) float64 { return float64(c.PFCReceived.Transitions[c.n]) }),
}

var queueMetrics = []metric[pipeline.QueueSnapshot]{
	counter("queue_sent_packets_total", "Packets sent (SAI_QUEUE_STAT_PACKETS).", byQueue,
		func(q *pipeline.QueueSnapshot) float64 { return float64(q.Sent.Frames) }),
	counter("queue_sent_bytes_total", "Bytes sent (SAI_QUEUE_STAT_BYTES).", byQueue,
		func(q *pipeline.QueueSnapshot) float64 { return float64(q.Sent.Bytes) }),
	counter("queue_ecn_marked_packets_total",
		"Packets marked (SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS).", byQueue,
		func(q *pipeline.QueueSnapshot) float64 { return float64(q.Marked.Frames) }),
	counter("queue_ecn_marked_bytes_total",
		"Bytes marked (SAI_QUEUE_STAT_WRED_ECN_MARKED_BYTES).", byQueue,
		func(q *pipeline.QueueSnapshot) float64 { return float64(q.Marked.Bytes) }),
	gauge("queue_occupancy_bytes", "Bytes stored (SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES).", byQueue,
		func(q *pipeline.QueueSnapshot) float64 { return float64(q.Occupancy) }),
	gauge("queue_occupancy_watermark_bytes",
		"Most bytes stored since the last clear (SAI_QUEUE_STAT_WATERMARK_BYTES).", byQueue,
		func(q *pipeline.QueueSnapshot) float64 { return float64(q.Watermark) }),
	gauge("queue_occupancy_persistent_watermark_bytes",
		"Most bytes stored since the last clear of persistent watermarks.", byQueue,
		func(q *pipeline.QueueSnapshot) float64 { return float64(q.Persistent) }),
	gauge("queue_shared_limit_bytes",
		"Bytes of its egress pool's shared part that the queue may store at this moment; "+
			"0 without egress pools.", byQueue,
		func(q *pipeline.QueueSnapshot) float64 { return float64(q.Limit) }),
}
