package switchd

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/switchd/pipeline"
	"github.com/rocelab/rocelab/switchd/qos"
)

// TestQoSMetrics: every metric of a queue has the number of its own source.
func TestQoSMetrics(t *testing.T) {
	c := NewCollector(func(s *pipeline.Snapshot) error {
		*s = pipeline.Snapshot{Ports: []pipeline.PortSnapshot{{Name: "swp1"}}}
		q := &s.Ports[0].Queues[3]
		q.Dropped[frame.DropWRED], q.DroppedBytes[frame.DropWRED] = 1, 2
		q.Guaranteed = dataplane.Count{Frames: 3, Bytes: 4}
		q.Shaped = dataplane.Count{Frames: 5, Bytes: 6}
		q.QCN = pipeline.QCNStats{Sampling: qos.Sampling{Samples: 7, Congested: 8},
			CNMs: dataplane.Count{Frames: 9}, Lost: 10}
		q.Stamped, q.NotStamped = 11, 12
		return nil
	})
	want := map[string]int{"queue_wred_dropped_packets": 1, "queue_wred_dropped_bytes": 2,
		"queue_guaranteed_packets": 3, "queue_guaranteed_bytes": 4, "queue_shaped_packets": 5,
		"queue_shaped_bytes": 6, "qcn_samples": 7, "qcn_congested_samples": 8,
		"qcn_cnm_frames": 9, "qcn_cnm_lost": 10, "telemetry_stamped_packets": 11,
		"telemetry_unstamped_packets": 12}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			got[f.GetName()] += m.GetCounter().GetValue() // All other queues have zeros.
		}
	}
	for name, n := range want {
		if v := got["switchd_"+name+"_total"]; v != float64(n) {
			t.Errorf("%s is %v, want %d", name, v, n)
		}
	}
}
