package switchd

import (
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// collector exports a snapshot of the machine at each scrape, so that the data path never touches
// a metric.
type collector struct {
	read func(*pipeline.Snapshot) error
	mu   sync.Mutex // scrapes may overlap; snap is used again
	snap pipeline.Snapshot
}

// NewCollector exports what read fills in. A scrape during which read fails has no metrics.
func NewCollector(read func(*pipeline.Snapshot) error) prometheus.Collector {
	return &collector{read: read}
}

// Describe names every metric.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for i := range priorityMetrics {
		out <- priorityMetrics[i].desc
	}
	for i := range watchdogMetrics {
		out <- watchdogMetrics[i].desc
	}
	for i := range queueMetrics {
		out <- queueMetrics[i].desc
	}
	for i := range qosMetrics {
		out <- qosMetrics[i].desc
	}
	for i := range groupMetrics {
		out <- groupMetrics[i].desc
	}
	for i := range poolMetrics {
		out <- poolMetrics[i].desc
	}
	for i := range headroomMetrics {
		out <- headroomMetrics[i].desc
	}
	for i := range forwardingMetrics {
		out <- forwardingMetrics[i].desc
	}
	for _, desc := range []*prometheus.Desc{portDropped, queueDropped} {
		out <- desc
	}
}

// Collect reads the machine once.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.read(&c.snap); err != nil {
		return // the loop has ended, and the endpoint is about to
	}
	for i := range c.snap.Ports {
		collectPort(out, &c.snap.Ports[i])
	}
	for i := range c.snap.Pools {
		p := &c.snap.Pools[i]
		for j := range poolMetrics {
			poolMetrics[j].send(out, p, p.Name, poolDirections[p.Direction])
		}
		if p.Direction == pipeline.Ingress {
			for j := range headroomMetrics {
				headroomMetrics[j].send(out, p, p.Name)
			}
		}
	}
	for i := range forwardingMetrics {
		forwardingMetrics[i].send(out, &c.snap)
	}
}

func collectPort(out chan<- prometheus.Metric, p *pipeline.PortSnapshot) {
	for n := range p.Received {
		label := strconv.Itoa(n)
		class := classOf{p, n}
		for j := range priorityMetrics {
			priorityMetrics[j].send(out, &class, p.Name, label)
		}
		sendDrops(out, portDropped, &p.Dropped[n], p.Name, label)
	}
	collectWatchdog(out, p)
	for n := range p.Queues {
		label := strconv.Itoa(n)
		for j := range queueMetrics {
			queueMetrics[j].send(out, &p.Queues[n], p.Name, label)
		}
		for j := range qosMetrics {
			qosMetrics[j].send(out, &p.Queues[n], p.Name, label)
		}
		sendDrops(out, queueDropped, &p.Queues[n].Dropped, p.Name, label)
	}
	for n := range p.Groups {
		label := strconv.Itoa(n)
		for j := range groupMetrics {
			groupMetrics[j].send(out, &p.Groups[n], p.Name, label)
		}
	}
}

// sendDrops exports the reasons that have occurred, and always "headroom", on which alerts for a
// violated lossless class are built.
func sendDrops(out chan<- prometheus.Metric, desc *prometheus.Desc, d *pipeline.Drops, port,
	index string) {
	for reason, n := range d {
		if why := frame.Reason(reason); n > 0 || why == frame.DropHeadroom {
			out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), port,
				index, why.String())
		}
	}
}

// metric is one metric of something that a snapshot has several of.
type metric[T any] struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*T) float64
}

func (m *metric[T]) send(out chan<- prometheus.Metric, of *T, labels ...string) {
	out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(of), labels...)
}

func counter[T any](name, help string, labels []string, value func(*T) float64) metric[T] {
	return metric[T]{describe(name, help, labels), prometheus.CounterValue, value}
}

func gauge[T any](name, help string, labels []string, value func(*T) float64) metric[T] {
	return metric[T]{describe(name, help, labels), prometheus.GaugeValue, value}
}

func describe(name, help string, labels []string) *prometheus.Desc {
	return prometheus.NewDesc("switchd_"+name, help, labels, nil)
}
