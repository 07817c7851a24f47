package switchd

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rocelab/rocelab/switchd/pipeline"
)

// The storm watchdog's metrics, of the priorities that it watches. `queue` is the one that the
// priority stops, by which SONiC shows them.
var byWatched = []string{"port", "priority", "queue"}

type watched = pipeline.WatchdogSnapshot

var watchdogMetrics = []metric[watched]{
	counter("pfcwd_storms_detected_total",
		"Pause storms found (PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED).", byWatched,
		func(w *watched) float64 { return float64(w.Detected) }),
	counter("pfcwd_storms_restored_total",
		"Pause storms that ended (PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED).", byWatched,
		func(w *watched) float64 { return float64(w.Restored) }),
	gauge("pfcwd_stormed", "1 during a pause storm (PFC_WD_STATUS).", byWatched,
		func(w *watched) float64 {
			if w.Stormed {
				return 1
			}
			return 0
		}),
	counter("pfcwd_sent_packets_total",
		"Packets sent from the queue in storms (PFC_WD_QUEUE_STATS_TX_PACKETS).", byWatched,
		func(w *watched) float64 { return float64(w.TX.OK) }),
	counter("pfcwd_send_dropped_packets_total",
		"Packets for the queue dropped in storms (PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS).",
		byWatched, func(w *watched) float64 { return float64(w.TX.Dropped) }),
	counter("pfcwd_received_packets_total",
		"Packets of the priority let in from the port in storms (PFC_WD_QUEUE_STATS_RX_PACKETS).",
		byWatched, func(w *watched) float64 { return float64(w.RX.OK) }),
	counter("pfcwd_receive_dropped_packets_total", "Packets of the priority from the port dropped "+
		"in storms (PFC_WD_QUEUE_STATS_RX_DROPPED_PACKETS).", byWatched,
		func(w *watched) float64 { return float64(w.RX.Dropped) }),
}

func collectWatchdog(out chan<- prometheus.Metric, p *pipeline.PortSnapshot) {
	for n := range p.Watchdog {
		w := &p.Watchdog[n]
		if !w.Watched {
			continue
		}
		for j := range watchdogMetrics {
			watchdogMetrics[j].send(out, w, p.Name, strconv.Itoa(n), strconv.Itoa(int(w.Queue)))
		}
	}
}
