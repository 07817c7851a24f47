package nicd

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rocelab/rocelab/nicd/app"
)

// probed is a peer's probes, copied for a scrape.
type probed struct {
	peer      string
	ended     [app.ProbeCodes]uint64
	count     uint64
	sum       float64 // seconds
	quantiles map[float64]float64
}

// pingmeshQuantiles are those of the summary.
var pingmeshQuantiles = []float64{0.5, 0.9, 0.99}

// PingmeshCollector exports what came of the probes of a pingmesh.
type PingmeshCollector struct {
	read        func(func(*app.ProbeStats)) (refused uint64, err error)
	rtt, probes *prometheus.Desc
	refused     *prometheus.Desc
}

// NewPingmeshCollector exports what read shows, under the device's name.
func NewPingmeshCollector(device string,
	read func(func(*app.ProbeStats)) (refused uint64, err error)) *PingmeshCollector {
	fixed := prometheus.Labels{"device": device, "port": "1"}
	return &PingmeshCollector{read: read,
		rtt: prometheus.NewDesc("nicd_pingmesh_rtt_seconds",
			"Round trip times of RDMA pingmesh probes that were answered, virtual.",
			[]string{"peer"}, fixed),
		probes: prometheus.NewDesc("nicd_pingmesh_probes_total",
			"RDMA pingmesh probes by how they ended: ok, or an error code.",
			[]string{"peer", "code"}, fixed),
		refused: prometheus.NewDesc("nicd_pingmesh_refused_probes_total",
			"RDMA pingmesh probes received from hosts that are no peers.", nil, fixed)}
}

// Describe names every metric.
func (c *PingmeshCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.rtt
	out <- c.probes
	out <- c.refused
}

// Collect reads the probes once.
func (c *PingmeshCollector) Collect(out chan<- prometheus.Metric) {
	var all []probed
	refused, err := c.read(func(p *app.ProbeStats) {
		one := probed{peer: p.Peer, ended: p.Ended, count: p.RTT.Count, sum: p.RTT.Sum.Seconds(),
			quantiles: map[float64]float64{}}
		for _, q := range pingmeshQuantiles {
			one.quantiles[q] = p.RTT.Quantile(q).Seconds()
		}
		all = append(all, one)
	})
	if err != nil || len(all) == 0 {
		return // the loop has ended, or there is no pingmesh
	}
	for _, p := range all {
		out <- prometheus.MustNewConstSummary(c.rtt, p.count, p.sum, p.quantiles, p.peer)
		for code, n := range p.ended {
			out <- prometheus.MustNewConstMetric(c.probes, prometheus.CounterValue, float64(n),
				p.peer, app.ProbeCode(code).String())
		}
	}
	out <- prometheus.MustNewConstMetric(c.refused, prometheus.CounterValue, float64(refused))
}
