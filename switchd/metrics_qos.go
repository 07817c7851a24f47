package switchd

import (
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

type queueSnapshot = pipeline.QueueSnapshot

// qosMetrics are those of a queue's marking, shaping, congestion point and telemetry.
var qosMetrics = []metric[queueSnapshot]{
	counter("queue_wred_dropped_packets_total",
		"Packets that WRED dropped (SAI_QUEUE_STAT_WRED_DROPPED_PACKETS).", byQueue,
		func(q *queueSnapshot) float64 { return float64(q.Dropped[frame.DropWRED]) }),
	counter("queue_wred_dropped_bytes_total",
		"Bytes that WRED dropped (SAI_QUEUE_STAT_WRED_DROPPED_BYTES).", byQueue,
		func(q *queueSnapshot) float64 { return float64(q.DroppedBytes[frame.DropWRED]) }),
	counter("queue_guaranteed_packets_total",
		"Packets sent before others because the queue was below its minimum rate.", byQueue,
		func(q *queueSnapshot) float64 { return float64(q.Guaranteed.Frames) }),
	counter("queue_guaranteed_bytes_total",
		"Bytes sent before others because the queue was below its minimum rate.", byQueue,
		func(q *queueSnapshot) float64 { return float64(q.Guaranteed.Bytes) }),
	counter("queue_shaped_packets_total",
		"Packets that came to the head of the queue while it was above its maximum rate.", byQueue,
		func(q *queueSnapshot) float64 { return float64(q.Shaped.Frames) }),
	counter("queue_shaped_bytes_total",
		"Bytes that came to the head of the queue while it was above its maximum rate.", byQueue,
		func(q *queueSnapshot) float64 { return float64(q.Shaped.Bytes) }),
	counter("qcn_samples_total", "Frames that the QCN congestion point sampled.", byQueue,
		func(q *queueSnapshot) float64 { return float64(q.QCN.Samples) }),
	counter("qcn_congested_samples_total", "QCN samples with negative feedback.", byQueue,
		func(q *queueSnapshot) float64 { return float64(q.QCN.Congested) }),
	counter("qcn_cnm_frames_total",
		"Congestion notification messages made (cpTransmittedCnms, IEEE 802.1Q-2022 32.8).",
		byQueue, func(q *queueSnapshot) float64 { return float64(q.QCN.CNMs.Frames) }),
	counter("qcn_cnm_lost_total",
		"Congested samples whose source could not be told: too many waited, its port was down, or "+
			"the frame had been routed.", byQueue,
		func(q *queueSnapshot) float64 { return float64(q.QCN.Lost) }),
	counter("telemetry_stamped_packets_total", "Packets that got a telemetry record.", byQueue,
		func(q *queueSnapshot) float64 { return float64(q.Stamped) }),
	counter("telemetry_unstamped_packets_total",
		"Packets with no room for a telemetry record, or with as many as they may have.", byQueue,
		func(q *queueSnapshot) float64 { return float64(q.NotStamped) }),
}
