package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rocelab/rocelab/dataplane/clock"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/switchd/deadlock"
)

// collector exports what only the owner of a lab knows: its clock, and what the pauses of several
// switches are together.
type collector struct {
	status func() clock.Status
	find   func(context.Context) (deadlock.Report, error)
}

// NewCollector exports a lab's clock and the cycles that find finds.
func NewCollector(status func() clock.Status,
	find func(context.Context) (deadlock.Report, error)) prometheus.Collector {
	return &collector{status, find}
}

var (
	cycles = describe("deadlock_cycles",
		"Cycles of PFC pauses in which no queue can drain, over all switches of the lab.")
	cyclePorts = describe("deadlock_ports", "Paused egress ports and priorities in such cycles.")
	dilation   = describe("clock_dilation_ratio",
		"Real seconds that a virtual one lasts now; 0 while the clock stands.")
	virtual  = describe("virtual_seconds_total", "Time on the lab's clock.")
	realTime = describe("clock_real_seconds_total", "Real time since the clock was started.")
	held     = describe("clock_held_seconds_total",
		"Real time for which the clock was held for a late loop.")
	worstLag  = describe("clock_worst_lag_seconds", "Largest lateness of any loop, virtual.")
	buildInfo = describe("build_info", "Version of the lab's owner; always 1.", "version",
		"goversion")
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("rocelab_"+name, help, labels, nil)
}

// Describe names every metric.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{cycles, cyclePorts, dilation, virtual, realTime, held,
		worstLag, buildInfo} {
		out <- d
	}
}

// askWithin bounds a scrape's questions to the switches.
const askWithin = 5 * time.Second

// Collect reads the clock and asks the switches. Those that are about to end say nothing.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v float64) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v)
	}
	st := c.status()
	gauge(dilation, st.Dilation)
	counter(virtual, time.Duration(st.Virtual).Seconds())
	counter(realTime, st.Real.Seconds())
	counter(held, st.Held.Seconds())
	gauge(worstLag, st.WorstLag.Seconds())
	gauge(buildInfo, 1, daemon.Version(), runtime.Version())
	ctx, cancel := context.WithTimeout(context.Background(), askWithin)
	defer cancel()
	r, err := c.find(ctx)
	if err != nil {
		return
	}
	stuck, ports := Deadlocked(r)
	gauge(cycles, float64(stuck))
	gauge(cyclePorts, float64(ports))
}

// Deadlocked counts the cycles in which no queue can drain, and the paused egresses in them.
func Deadlocked(r deadlock.Report) (cycles, ports int) {
	for i := range r.Cycles {
		if c := &r.Cycles[i]; len(c.Escapes) == 0 {
			cycles++
			ports += len(c.Ports) + len(c.Others)
		}
	}
	return cycles, ports
}

// metricsServer serves the lab's own metrics.
type metricsServer struct {
	server *http.Server
	done   chan struct{} // closed when it has ended
}

// serveMetrics serves them on the port behind those of the nodes, if the topology has metrics.
func (l *Lab) serveMetrics() error {
	if l.Topology.MetricsPort == 0 {
		return nil
	}
	addr := fmt.Sprintf("127.0.0.1:%d", l.Topology.MetricsPort+len(l.Topology.Nodes))
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("metrics of the lab: %w", err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(NewCollector(l.Page.Status, l.Deadlock))
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	l.metrics = &metricsServer{&http.Server{Handler: mux, ReadTimeout: 10 * time.Second},
		make(chan struct{})}
	go func(s *metricsServer) {
		defer close(s.done)
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			l.log.Error("metrics of the lab end", "error", err)
		}
	}(l.metrics)
	return nil
}

// close ends the server. A scrape that is under way is cut off after a second.
func (s *metricsServer) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close() // the listener is closed already
	}
	<-s.done
}
