package switchd

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// fill is a snapshot of one port with a number of its own in every place.
func fill(s *pipeline.Snapshot) error {
	p := pipeline.PortSnapshot{Name: "swp1", Up: true}
	p.Received[3] = dataplane.Count{Frames: 1, Bytes: 2}
	p.Sent[3] = dataplane.Count{Frames: 3, Bytes: 4}
	p.Dropped[3][frame.DropBuffer] = 5
	p.PFCReceived.Frames[3], p.PFCReceived.Transitions[3] = 6, 7
	p.PFCReceived.Paused[3] = 8 * time.Microsecond
	p.PFCSent.Frames[3], p.PFCSent.Paused[3] = 9, 10*time.Microsecond
	q := &p.Queues[3]
	q.Sent = dataplane.Count{Frames: 11, Bytes: 12}
	q.Marked = dataplane.Count{Frames: 13, Bytes: 14}
	q.Dropped[frame.DropWRED] = 15
	q.Use, q.Limit = mmu.Use{Occupancy: 16, Watermark: 17, Persistent: 40}, 41
	p.Groups[3] = pipeline.GroupSnapshot{GroupUse: mmu.GroupUse{Dropped: 18, Shared: 19, Limit: 20,
		Headroom: 21, HeadroomLimit: 22, SharedWatermark: 23, HeadroomWatermark: 24,
		Admitted: dataplane.Count{Frames: 42, Bytes: 43}, Reserved: 44, SharedPersistent: 45,
		HeadroomPersistent: 46}}
	w := &p.Watchdog[3]
	w.Watched, w.Stormed, w.Detected, w.Restored, w.Queue = true, true, 60, 61, 2
	w.TX, w.RX = pfc.Tally{OK: 62, Dropped: 63}, pfc.Tally{OK: 64, Dropped: 65}
	s.Ports = []pipeline.PortSnapshot{p}
	s.Pools = []pipeline.PoolSnapshot{
		{Name: "in", Size: 25, Use: mmu.Use{Occupancy: 26, Watermark: 27, Persistent: 47},
			Shared: 48, HeadroomSize: 49,
			Headroom: mmu.Use{Occupancy: 50, Watermark: 51, Persistent: 52}},
		{Name: "out", Direction: pipeline.Egress, Size: 53, Use: mmu.Use{Occupancy: 54}},
	}
	s.MACs, s.FIB.Full = 28, 29
	return nil
}

// TestMetrics: every metric has the number of its own source.
func TestMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewCollector(fill))
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(answer,
		httptest.NewRequest("GET", "/metrics", nil))
	text := answer.Body.String()
	for _, want := range []string{
		`switchd_port_received_packets_total{port="swp1",priority="3"} 1`,
		`switchd_port_received_bytes_total{port="swp1",priority="3"} 2`,
		`switchd_port_sent_packets_total{port="swp1",priority="3"} 3`,
		`switchd_port_sent_bytes_total{port="swp1",priority="3"} 4`,
		`switchd_port_dropped_packets_total{port="swp1",priority="3",reason="buffer"} 5`,
		`switchd_port_dropped_packets_total{port="swp1",priority="3",reason="headroom"} 0`,
		`switchd_pfc_received_frames_total{port="swp1",priority="3"} 6`,
		`switchd_pfc_receive_transitions_total{port="swp1",priority="3"} 7`,
		`switchd_pfc_receive_paused_seconds_total{port="swp1",priority="3"} 8e-06`,
		`switchd_pfc_sent_frames_total{port="swp1",priority="3"} 9`,
		`switchd_pfc_send_paused_seconds_total{port="swp1",priority="3"} 1e-05`,
		`switchd_queue_sent_packets_total{port="swp1",queue="3"} 11`,
		`switchd_queue_sent_bytes_total{port="swp1",queue="3"} 12`,
		`switchd_queue_ecn_marked_packets_total{port="swp1",queue="3"} 13`,
		`switchd_queue_ecn_marked_bytes_total{port="swp1",queue="3"} 14`,
		`switchd_queue_dropped_packets_total{port="swp1",queue="3",reason="wred"} 15`,
		`switchd_queue_occupancy_bytes{port="swp1",queue="3"} 16`,
		`switchd_queue_occupancy_watermark_bytes{port="swp1",queue="3"} 17`,
		`switchd_priority_group_dropped_packets_total{port="swp1",priority_group="3"} 18`,
		`switchd_priority_group_shared_occupancy_bytes{port="swp1",priority_group="3"} 19`,
		`switchd_priority_group_shared_limit_bytes{port="swp1",priority_group="3"} 20`,
		`switchd_priority_group_headroom_occupancy_bytes{port="swp1",priority_group="3"} 21`,
		`switchd_priority_group_headroom_limit_bytes{port="swp1",priority_group="3"} 22`,
		`switchd_priority_group_shared_watermark_bytes{port="swp1",priority_group="3"} 23`,
		`switchd_priority_group_headroom_watermark_bytes{port="swp1",priority_group="3"} 24`,
		`switchd_buffer_pool_size_bytes{direction="ingress",pool="in"} 25`,
		`switchd_buffer_pool_occupancy_bytes{direction="ingress",pool="in"} 26`,
		`switchd_buffer_pool_watermark_bytes{direction="ingress",pool="in"} 27`,
		`switchd_queue_occupancy_persistent_watermark_bytes{port="swp1",queue="3"} 40`,
		`switchd_queue_shared_limit_bytes{port="swp1",queue="3"} 41`,
		`switchd_priority_group_admitted_packets_total{port="swp1",priority_group="3"} 42`,
		`switchd_priority_group_admitted_bytes_total{port="swp1",priority_group="3"} 43`,
		`switchd_priority_group_reserved_occupancy_bytes{port="swp1",priority_group="3"} 44`,
		`switchd_priority_group_shared_persistent_watermark_bytes` +
			`{port="swp1",priority_group="3"} 45`,
		`switchd_priority_group_headroom_persistent_watermark_bytes` +
			`{port="swp1",priority_group="3"} 46`,
		`switchd_buffer_pool_persistent_watermark_bytes{direction="ingress",pool="in"} 47`,
		`switchd_buffer_pool_shared_bytes{direction="ingress",pool="in"} 48`,
		`switchd_headroom_pool_size_bytes{pool="in"} 49`,
		`switchd_headroom_pool_occupancy_bytes{pool="in"} 50`,
		`switchd_headroom_pool_watermark_bytes{pool="in"} 51`,
		`switchd_headroom_pool_persistent_watermark_bytes{pool="in"} 52`,
		`switchd_buffer_pool_size_bytes{direction="egress",pool="out"} 53`,
		`switchd_buffer_pool_occupancy_bytes{direction="egress",pool="out"} 54`,
		`switchd_pfcwd_storms_detected_total{port="swp1",priority="3",queue="2"} 60`,
		`switchd_pfcwd_storms_restored_total{port="swp1",priority="3",queue="2"} 61`,
		`switchd_pfcwd_stormed{port="swp1",priority="3",queue="2"} 1`,
		`switchd_pfcwd_sent_packets_total{port="swp1",priority="3",queue="2"} 62`,
		`switchd_pfcwd_send_dropped_packets_total{port="swp1",priority="3",queue="2"} 63`,
		`switchd_pfcwd_received_packets_total{port="swp1",priority="3",queue="2"} 64`,
		`switchd_pfcwd_receive_dropped_packets_total{port="swp1",priority="3",queue="2"} 65`,
		`switchd_mac_table_entries 28`,
		`switchd_mac_table_full_total 29`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
}

// TestMetricsLint holds the names to Prometheus' own rules.
func TestMetricsLint(t *testing.T) {
	problems, err := testutil.CollectAndLint(NewCollector(fill))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestMetricsOfAnEndedLoop: nothing is exported, and nothing breaks.
func TestMetricsOfAnEndedLoop(t *testing.T) {
	ended := func(*pipeline.Snapshot) error { return errors.New("ended") }
	if n := testutil.CollectAndCount(NewCollector(ended)); n != 0 {
		t.Errorf("%d metrics", n)
	}
}
