package switchd

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rocelab/rocelab/switchd/fib"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// TestForwardingMetrics: every metric of the tables has the number of its own source.
func TestForwardingMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewCollector(func(s *pipeline.Snapshot) error {
		*s = pipeline.Snapshot{MACs: 58,
			FIB: fib.Stats{Full: 59, Learnt: 60, Moved: 61, Missed: 62},
			Router: pipeline.RouterSnapshot{Routes: 63, Groups: 64, Neighbours: 65, Held: 66,
				Stats: fib.NeighbourStats{Resolved: 67, Failed: 68, TimedOut: 69, Solicited: 70,
					Overflowed: 71, Full: 72}}}
		return nil
	}))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			got[f.GetName()] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	for name, n := range map[string]float64{
		"mac_table_entries": 58, "mac_table_full_total": 59,
		"mac_table_learnt_total":       60,
		"mac_table_moved_total":        61,
		"mac_table_missed_total":       62,
		"route_entries":                63,
		"nexthop_group_entries":        64,
		"neighbor_entries":             65,
		"neighbor_waiting_packets":     66,
		"neighbor_resolved_total":      67,
		"neighbor_failed_total":        68,
		"neighbor_timed_out_total":     69,
		"neighbor_solicitations_total": 70,
		"neighbor_overflowed_total":    71,
		"neighbor_full_total":          72,
	} {
		if v := got["switchd_"+name]; v != n {
			t.Errorf("%s is %v, want %v", name, v, n)
		}
	}
}
