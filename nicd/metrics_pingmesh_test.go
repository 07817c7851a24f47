package nicd

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/rocelab/rocelab/nicd/app"
)

// The metrics of a pingmesh: a summary of each peer's round trips, and probes by code.
func TestPingmeshMetrics(t *testing.T) {
	p := app.ProbeStats{Peer: "h2"}
	for range 3 {
		p.RTT.Add(1024 * time.Nanosecond)
	}
	p.Ended = [app.ProbeCodes]uint64{3, 2, 1, 0}
	var failed error
	c := NewPingmeshCollector("h1", func(see func(*app.ProbeStats)) (uint64, error) {
		see(&p)
		return 7, failed
	})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	want := `
# HELP nicd_pingmesh_probes_total RDMA pingmesh probes by how they ended: ok, or an error code.
# TYPE nicd_pingmesh_probes_total counter
nicd_pingmesh_probes_total{code="link_down",device="h1",peer="h2",port="1"} 1
nicd_pingmesh_probes_total{code="ok",device="h1",peer="h2",port="1"} 3
nicd_pingmesh_probes_total{code="send_error",device="h1",peer="h2",port="1"} 0
nicd_pingmesh_probes_total{code="timeout",device="h1",peer="h2",port="1"} 2
# HELP nicd_pingmesh_refused_probes_total RDMA pingmesh probes received from hosts that are no peers.
# TYPE nicd_pingmesh_refused_probes_total counter
nicd_pingmesh_refused_probes_total{device="h1",port="1"} 7
# HELP nicd_pingmesh_rtt_seconds Round trip times of RDMA pingmesh probes that were answered, virtual.
# TYPE nicd_pingmesh_rtt_seconds summary
nicd_pingmesh_rtt_seconds{device="h1",peer="h2",port="1",quantile="0.5"} 1.024e-06
nicd_pingmesh_rtt_seconds{device="h1",peer="h2",port="1",quantile="0.9"} 1.024e-06
nicd_pingmesh_rtt_seconds{device="h1",peer="h2",port="1",quantile="0.99"} 1.024e-06
nicd_pingmesh_rtt_seconds_sum{device="h1",peer="h2",port="1"} 3.072e-06
nicd_pingmesh_rtt_seconds_count{device="h1",peer="h2",port="1"} 3
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) != 0 {
		t.Errorf("%v, %v", problems, err)
	}
	failed = errors.New("the loop has ended")
	if n, err := testutil.GatherAndCount(registry); n != 0 || err != nil {
		t.Errorf("%d metrics without a loop, %v", n, err)
	}
}
