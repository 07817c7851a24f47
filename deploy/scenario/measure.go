package scenario

import (
	"fmt"
	"slices"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
)

// What a run tells. Flows and queues are numbered as in the scenario. Names that are not there
// panic: whoever asks has written the scenario.

// Times are those of the samples, in seconds. A sample of something that is counted, such as Rates,
// stands for the interval that ends there.
func (r *Run) Times() []float64 {
	first := r.nodes[r.Scenario.Topology.Nodes[0].Name].Samples.TimeNs
	times := make([]float64, len(first))
	for i, ns := range first {
		times[i] = float64(ns) / 1e9
	}
	return times
}

// warm is the number of samples that are left out of means.
func (r *Run) warm() int { return int(r.Scenario.Warmup / r.Scenario.Interval) }

// column is what a node recorded under a name.
func (r *Run) column(node, name string) []float64 {
	n := r.nodes[node]
	if n == nil {
		panic("scenario: no node " + node)
	}
	c, ok := n.Samples.Column(name)
	if !ok {
		panic(fmt.Sprintf("scenario: %s did not record %s", node, name))
	}
	return c
}

// Column is what a node recorded under a name of package nicd's or switchd's.
func (r *Run) Column(node, name string) []float64 { return slices.Clone(r.column(node, name)) }

// Counted is the same of a cumulative column, by interval.
func (r *Run) Counted(node, name string) []float64 { return Differences(r.column(node, name)) }

// CountedPerSecond is how often that was after the warm-up, by second.
func (r *Run) CountedPerSecond(node, name string) float64 {
	return r.perSecond(r.column(node, name))
}

// Differences of a cumulative series, the first from zero.
func Differences(cumulative []float64) []float64 {
	d := slices.Clone(cumulative)
	for i := len(d) - 1; i > 0; i-- {
		d[i] -= d[i-1]
	}
	return d
}

// placed is the payload of a flow that has arrived, cumulative, in bytes.
func (r *Run) placed(flow int) []float64 {
	f := &r.Flows[flow]
	if f.Verb == "read" {
		return r.column(f.From, fmt.Sprint(nicd.ColumnPlaced, uint32(f.QPN)))
	}
	return r.column(f.To, fmt.Sprint(nicd.ColumnPlaced, uint32(r.sinks[flow])))
}

// Rates is the goodput of a flow in every interval, in bits per second: payload that was placed at
// its destination.
func (r *Run) Rates(flow int) []float64 {
	d := Differences(r.placed(flow))
	for i := range d {
		d[i] *= 8 / r.Scenario.Interval.Seconds()
	}
	return d
}

// Goodput is that of a flow after the warm-up, in bits per second.
func (r *Run) Goodput(flow int) float64 { return r.perSecond(r.placed(flow)) * 8 }

// GoodputIn is that of a flow between two times of samples.
func (r *Run) GoodputIn(flow int, from, to time.Duration) float64 {
	return r.grown(r.placed(flow), from, to) * 8 / (to - from).Seconds()
}

// grown is how much a cumulative series has grown between two times of samples.
func (r *Run) grown(cumulative []float64, from, to time.Duration) float64 {
	at := func(t time.Duration) float64 {
		if i := int(t/r.Scenario.Interval) - 1; i >= 0 && len(cumulative) > 0 {
			return cumulative[min(i, len(cumulative)-1)]
		}
		return 0
	}
	return at(to) - at(from)
}

// perSecond is how much a cumulative series has grown after the warm-up, by time.
func (r *Run) perSecond(cumulative []float64) float64 {
	if len(cumulative) == 0 {
		return 0
	}
	grown, warm := cumulative[len(cumulative)-1], r.warm()
	if warm > 0 {
		grown -= cumulative[warm-1]
	}
	return grown / (float64(len(cumulative)-warm) * r.Scenario.Interval.Seconds())
}

// Goodputs are those of all flows.
func (r *Run) Goodputs() []float64 {
	all := make([]float64, len(r.Flows))
	for i := range all {
		all[i] = r.Goodput(i)
	}
	return all
}

// Limits is what congestion control allowed a flow at each sample, in bits per second.
func (r *Run) Limits(flow int) []float64 {
	f := &r.Flows[flow]
	return r.Column(f.From, nicd.ColumnRate+f.Name)
}

// Flow is what its sender says of a flow at the end.
func (r *Run) Flow(flow int) nicd.FlowStatus {
	f := &r.Flows[flow]
	for _, st := range r.nodes[f.From].nic.Flows {
		if st.Name == f.Name {
			return st
		}
	}
	panic("scenario: no flow " + f.Name)
}

// Messages are those of a flow that its Log asked for.
func (r *Run) Messages(flow int) []nicd.Message { return r.messages[flow] }

// NIC is what a host's NIC had counted at the end.
func (r *Run) NIC(host string) nicd.State { return r.nodes[host].nic }

// Port is what a port of a switch had counted at the end.
func (r *Run) Port(sw, port string) switchd.PortStatus {
	for _, p := range r.nodes[sw].sw.Ports {
		if p.Name == port {
			return p
		}
	}
	panic("scenario: no port " + sw + ":" + port)
}

// Ports are what all ports of a switch had counted at the end.
func (r *Run) Ports(sw string) []switchd.PortStatus { return r.nodes[sw].sw.Ports }

// queueColumn is a column of a sampled queue.
func (r *Run) queueColumn(queue int, name string) []float64 {
	q := r.Scenario.Queues[queue]
	return r.column(q.Switch, fmt.Sprintf("%s:%s:%d", name, q.Port, q.Queue))
}

// QueueBytes is the length of a queue at each sample.
func (r *Run) QueueBytes(queue int) []float64 {
	return slices.Clone(r.queueColumn(queue, switchd.ColumnQueueBytes))
}

// WarmQueueBytes leaves out the samples of the warm-up.
func (r *Run) WarmQueueBytes(queue int) []float64 { return r.QueueBytes(queue)[r.warm():] }

// Marks is how many frames of a queue were marked in every interval.
func (r *Run) Marks(queue int) []float64 {
	return Differences(r.queueColumn(queue, switchd.ColumnECNMarked))
}

// LineRates is what a queue sent in every interval, in bits per second, with preamble, FCS and the
// gaps between frames.
func (r *Run) LineRates(queue int) []float64 {
	d := Differences(r.queueColumn(queue, switchd.ColumnSentLineBytes))
	for i := range d {
		d[i] *= 8 / r.Scenario.Interval.Seconds()
	}
	return d
}

// QueueLength is that of a queue over the whole run, weighted by time.
func (r *Run) QueueLength(queue int) switchd.QueueLength {
	q, nth := r.Scenario.Queues[queue], 0
	for _, other := range r.Scenario.Queues[:queue] {
		if other.Switch == q.Switch {
			nth++
		}
	}
	return r.nodes[q.Switch].sw.Queues[nth]
}

// Utilisation is the share of its link that a queue took after the warm-up, with preamble, FCS and
// the gaps between frames.
func (r *Run) Utilisation(queue int) float64 {
	q := r.Scenario.Queues[queue]
	sent := r.perSecond(r.queueColumn(queue, switchd.ColumnSentLineBytes))
	for _, l := range r.Scenario.Topology.Links {
		for _, e := range l.Endpoints {
			if e == (lab.Endpoint{Node: q.Switch, Device: q.Port}) {
				return sent * 8 / float64(l.Rate)
			}
		}
	}
	panic("scenario: no link at " + q.String())
}

// SentLineBytes is what a queue sent between two times of samples, with preamble, FCS and the gaps
// between frames.
func (r *Run) SentLineBytes(queue int, from, to time.Duration) float64 {
	return r.grown(r.queueColumn(queue, switchd.ColumnSentLineBytes), from, to)
}

// PFC sums the PFC frames of all ports of a switch.
func (r *Run) PFC(sw string) (sent, received uint64) {
	for _, p := range r.nodes[sw].sw.Ports {
		for prio := range p.PFCSent {
			sent += p.PFCSent[prio]
			received += p.PFCReceived[prio]
		}
	}
	return sent, received
}

// Marked is how many frames all queues of a switch had marked at the end.
func (r *Run) Marked(sw string) (frames uint64) {
	for _, p := range r.nodes[sw].sw.Ports {
		for _, q := range p.Queues {
			frames += q.MarkedPackets
		}
	}
	return frames
}

// Ledger is a node's account of its frames after the end.
func (r *Run) Ledger(node string) daemon.LedgerStatus { return r.nodes[node].status.Ledger }

// Dropped sums the frames that were dropped, by reason, but for those that a host has no use for
// because they are not RoCE, as announcements.
func (r *Run) Dropped() map[string]uint64 {
	all := make(map[string]uint64)
	r.each(func(_ string, n *node) {
		for reason, c := range n.status.Ledger.Dropped {
			if reason != frame.DropNotRoCE.String() {
				all[reason] += c.Frames
			}
		}
	})
	return all
}
