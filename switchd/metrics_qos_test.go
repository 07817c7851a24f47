package switchd

import (
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/switchd/pipeline"
	"github.com/rocelab/rocelab/switchd/qos"
)

// TestQoSMetrics: every metric of a queue has the number of its own source.
func TestQoSMetrics(t *testing.T) {
	c := NewCollector(func(s *pipeline.Snapshot) error {
		*s = pipeline.Snapshot{Ports: []pipeline.PortSnapshot{{Name: "swp1"}}}
		q := &s.Ports[0].Queues[3]
		q.WREDDropped = dataplane.Count{Frames: 1, Bytes: 2}
		q.Guaranteed = dataplane.Count{Frames: 3, Bytes: 4}
		q.Shaped = dataplane.Count{Frames: 5, Bytes: 6}
		q.QCN = pipeline.QCNStats{Sampling: qos.Sampling{Samples: 7, Congested: 8},
			CNMs: dataplane.Count{Frames: 9}, Lost: 10}
		q.Stamped, q.NotStamped = 11, 12
		return nil
	})
	names := []string{"queue_wred_dropped_packets", "queue_wred_dropped_bytes",
		"queue_guaranteed_packets", "queue_guaranteed_bytes", "queue_shaped_packets",
		"queue_shaped_bytes", "qcn_samples", "qcn_congested_samples", "qcn_cnm_frames",
		"qcn_cnm_lost", "telemetry_stamped_packets", "telemetry_unstamped_packets"}
	for i, name := range names {
		text, err := testutil.CollectAndFormat(c, "text", "switchd_"+name+"_total")
		if err != nil {
			t.Fatal(err)
		}
		want := `switchd_` + name + `_total{port="swp1",queue="3"} `
		at := strings.Index(string(text), want)
		if at < 0 {
			t.Errorf("no %s", want)
			continue
		}
		value, _, _ := strings.Cut(string(text)[at+len(want):], "\n")
		if value != strconv.Itoa(i+1) {
			t.Errorf("%s is %s, want %d", name, value, i+1)
		}
	}
}
