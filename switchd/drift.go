package switchd

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/sonic"
)

// drift compares what runs with what the file desires now: a file that was changed and not
// loaded is drift as well.
func (s *configurator) drift() (Drift, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := Drift{Differences: []sonic.Difference{}}
	desired := s.desired
	if s.file != "" {
		c, err := Load(s.file)
		if err == nil {
			err = c.sameDaemon(s.config)
		}
		if err != nil {
			d.Error = err.Error()
		} else {
			desired, _ = c.Tables() // Load has judged them
		}
	}
	d.Differences = append(d.Differences, sonic.Diff(desired, s.running)...)
	return d, s.tellDrift(d.Differences)
}

// tellDrift records that drift has appeared, changed its extent or gone.
func (s *configurator) tellDrift(now []sonic.Difference) error {
	if len(now) == s.told {
		return nil
	}
	kind, detail := "config_drift", ""
	if len(now) == 0 {
		kind, detail = "config_drift_ended", "running is desired again"
	} else {
		detail = now[0].String()
	}
	s.told = len(now)
	return s.run.Do(func(at unit.Time) { s.tell(at, kind, detail) })
}

var (
	configDrift = describe("config_drift",
		"Fields of the table whose running value is not the desired one.", []string{"table"})
	configReadable = describe("config_desired_readable",
		"1 if the desired configuration can be read and run, else 0.", nil)
)

// driftCollector exports the drift at each scrape.
type driftCollector struct{ read func() (Drift, error) }

// Describe names both metrics.
func (c *driftCollector) Describe(out chan<- *prometheus.Desc) {
	out <- configDrift
	out <- configReadable
}

// Collect compares anew. Every table is there, so that an alert can tell 0 from nothing.
func (c *driftCollector) Collect(out chan<- prometheus.Metric) {
	d, err := c.read()
	if err != nil {
		return // the loop has ended, and the endpoint is about to
	}
	count := make(map[string]int)
	for _, table := range sonic.TableNames() {
		count[table] = 0
	}
	for _, diff := range d.Differences {
		count[diff.Table]++
	}
	for table, n := range count {
		out <- prometheus.MustNewConstMetric(configDrift, prometheus.GaugeValue, float64(n), table)
	}
	readable := 1.0
	if d.Error != "" {
		readable = 0
	}
	out <- prometheus.MustNewConstMetric(configReadable, prometheus.GaugeValue, readable)
}
