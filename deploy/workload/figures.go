package workload

import (
	"hash/fnv"
	"maps"
	"slices"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
)

// mostFlows is how many flows of a group are drawn; of more their sum is.
const mostFlows = 8

// series are what is drawn of a run, over milliseconds: the rate of each flow, or of a group that
// has many, in Gb/s, and the queues in KB.
func (f *File) series(r *scenario.Run, groups [][]int) map[string]suite.Series {
	all := map[string]suite.Series{}
	x := r.Times()
	for i := range x {
		x[i] *= 1e3
	}
	for g, flows := range groups {
		sum := make([]float64, len(x))
		for _, i := range flows {
			rates := r.Rates(i)
			for j := range rates {
				rates[j] /= 1e9
				sum[j] += rates[j]
			}
			if len(flows) <= mostFlows {
				all[ratePrefix+r.Flows[i].Name] = suite.Series{X: x, Y: rates}
			}
		}
		if len(flows) > mostFlows {
			all[ratePrefix+f.Traffic[g].Name] = suite.Series{X: x, Y: sum}
		}
	}
	for i, q := range f.queues {
		bytes := r.QueueBytes(i)
		for j := range bytes {
			bytes[j] /= 1e3
		}
		all[queuePrefix+q.String()] = suite.Series{X: x, Y: bytes}
	}
	return all
}

// The names of series begin with what they are of.
const (
	ratePrefix  = "rate "
	queuePrefix = "queue "
)

// figures draws the series of a run.
func (f *File) figures(o suite.Outcome) (figures []suite.Figure) {
	time := suite.Axis{Label: "time", Unit: "ms"}
	for _, kind := range []struct{ prefix, title, unit string }{
		{ratePrefix, "Goodput", "Gb/s"}, {queuePrefix, "Queue", "KB"}} {
		fig := suite.Figure{Title: kind.title, X: time,
			Y: suite.Axis{Label: kind.title, Unit: kind.unit}}
		for _, name := range slices.Sorted(maps.Keys(o.Series)) {
			if len(name) > len(kind.prefix) && name[:len(kind.prefix)] == kind.prefix {
				fig.Curves = append(fig.Curves, suite.Curve{Name: name[len(kind.prefix):],
					Kind: suite.Line, From: suite.Ours, Series: o.Series[name]})
			}
		}
		if len(fig.Curves) > 0 {
			figures = append(figures, fig)
		}
	}
	return figures
}

// hash makes dice of a name.
func hash(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// rate is that of a host's link.
func (f *File) rate(host string) unit.Rate {
	for _, l := range f.network.Links {
		for _, e := range l.Endpoints {
			if e.Node == host {
				return l.Rate
			}
		}
	}
	panic("workload: no host " + host) // it has been judged
}

// mean is the mean size of the group's messages, in bytes.
func (t *Traffic) mean() (mean float64) {
	if len(t.Sizes) == 0 {
		if t.Message > 0 {
			return float64(t.Message)
		}
		return scenario.DefaultMessage
	}
	var before Size
	for i, s := range t.Sizes {
		if i == 0 {
			before.Bytes = s.Bytes // all that is drawn below the first point has its size
		}
		mean += (s.P - before.P) * float64(s.Bytes+before.Bytes) / 2
		before = s
	}
	return mean
}
