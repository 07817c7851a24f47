package nicd

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/nicd/uverbs"
	"github.com/rocelab/rocelab/roce/qp"
)

// programDescs are the metrics of programs and of what they own.
type programDescs struct {
	programs, memory, queues, regions, cqs *prometheus.Desc
	killed, refused, states                *prometheus.Desc
}

// describePrograms names the metrics of programs.
func (c *Collector) describePrograms(desc func(name, help string,
	labels ...string) *prometheus.Desc) {
	c.programs = programDescs{
		programs: desc("programs", "Programs that have the NIC open."),
		memory: desc("program_memory_bytes",
			"Memory that programs share with the daemon or have it keep, queues included."),
		queues:  desc("program_qps", "Queue pairs of programs."),
		regions: desc("program_memory_regions", "Memory regions of programs."),
		cqs:     desc("program_completion_queues", "Completion queues of programs."),
		killed: desc("programs_killed_total",
			"Connections ended because what the program wrote made no sense."),
		refused: desc("program_refused_requests_total",
			"Work requests of programs for no queue of theirs."),
		states: desc("qps", "Queue pairs by state, those of programs and all others.", "state"),
	}
}

// states counts the queue pairs in each state.
func (c *Collector) states(out chan<- prometheus.Metric, s *nic.Snapshot) {
	var n [qp.StateErr + 1]int
	for i := range s.QPs {
		n[s.QPs[i].State]++
	}
	for state, count := range n {
		out <- prometheus.MustNewConstMetric(c.programs.states, prometheus.GaugeValue,
			float64(count), strings.ToLower(qp.State(state).String()))
	}
}

// owned exports what programs have.
func (c *Collector) owned(out chan<- prometheus.Metric) {
	if c.Programs == nil {
		return
	}
	st, err := c.Programs()
	if err != nil {
		return // the loop has ended, and the endpoint is about to
	}
	c.ownedBy(out, &st)
}

func (c *Collector) ownedBy(out chan<- prometheus.Metric, st *uverbs.Stats) {
	d := &c.programs
	for _, m := range []struct {
		desc  *prometheus.Desc
		kind  prometheus.ValueType
		value float64
	}{{d.programs, prometheus.GaugeValue, float64(st.Programs)},
		{d.memory, prometheus.GaugeValue, float64(st.Memory)},
		{d.queues, prometheus.GaugeValue, float64(st.Queues)},
		{d.regions, prometheus.GaugeValue, float64(st.Regions)},
		{d.cqs, prometheus.GaugeValue, float64(st.CQs)},
		{d.killed, prometheus.CounterValue, float64(st.Killed)},
		{d.refused, prometheus.CounterValue, float64(st.Refused)}} {
		out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value)
	}
}
