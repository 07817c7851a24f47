package papers

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd/sonic"
)

func scalePingmesh() suite.Experiment {
	return suite.Experiment{
		ID: "scale-pingmesh", Paper: atScale, Where: "sections 5.3 and 5.4, figure 8", Modes: both,
		Seeds: 1,
		Title: "RDMA Pingmesh before and under ToR-to-ToR load: probes of 512 bytes between all " +
			"servers.",
		Shorter: "20 ms before the load and 80 ms of it (1 and 3 ms on real frames, with three " +
			"servers on a ToR); probes are the denser.",
		Cells: pingmeshCells, Judge: judgePingmesh,
	}
}

// meshShape is a testbed of two ToRs.
type meshShape struct {
	leaves, hosts, pairs, connections int
	interval                          time.Duration // between two probes of a pair
	load                              time.Duration // begins
	settled                           time.Duration // from when on it is looked at
	end                               time.Duration
}

// meshOf is the paper's: 4 leaves, 24 servers on each ToR, 20 pairs with 8 connections. A pair is
// probed every 5 ms, so that the probes themselves are half a percent of the load. The interval is
// the timeout of a probe as well, so it is longer than any round trip under load.
func meshOf(o suite.Options) meshShape {
	const ms = time.Millisecond
	m := meshShape{leaves: 4, hosts: 24, pairs: 20, connections: 8, interval: 5 * ms,
		load: 20 * ms, settled: 30 * ms, end: 100 * ms}
	if o.Short {
		m.load, m.settled, m.end = 10*ms, 15*ms, 20*ms
	}
	if o.Mode == suite.Real {
		m = meshShape{leaves: 2, hosts: 3, pairs: 3, connections: 8, interval: ms / 2, load: ms,
			settled: 3 * ms / 2, end: 4 * ms}
	}
	return m
}

func pingmeshCells(o suite.Options) []suite.Cell {
	m := meshOf(o)
	var seen meshSeen
	return []suite.Cell{run("two ToRs",
		func() *scenario.Scenario { return m.scenario(&seen) },
		func(r *scenario.Run, out *suite.Outcome) { m.measure(r, out, &seen) })}
}

// meshSeen is what all hosts together had counted at some times.
type meshSeen []meshLook

type meshLook struct {
	at     time.Duration
	rtts   map[int64]uint64 // round trips by their upper bound in nanoseconds
	failed map[string]uint64
}

func (m meshShape) scenario(seen *meshSeen) *scenario.Scenario {
	*seen = nil
	t := fabric.TwoTier("mesh", 2, m.leaves, m.hosts, scaleLinks)
	t.Switch.Lossless.DynamicTh = &sonic.Alpha{Num: paperAlpha.Num, Den: paperAlpha.Den}
	t.Pingmesh = lab.Pingmesh{Interval: m.interval}
	s := &scenario.Scenario{Topology: t, Duration: m.end, Warmup: m.settled,
		Interval: m.end / 100}
	for p := range m.pairs {
		a, b := fmt.Sprintf("h1-%d", p+1), fmt.Sprintf("h2-%d", p+1)
		for c := range m.connections {
			for _, ends := range [][2]string{{a, b}, {b, a}} {
				s.Flows = append(s.Flows, scenario.Flow{From: ends[0], To: ends[1],
					FlowRequest: nicd.FlowRequest{StartNs: m.load.Nanoseconds(),
						Name: fmt.Sprintf("%s > %s %d", ends[0], ends[1], c)}})
			}
		}
	}
	looks := []time.Duration{m.load, m.settled, m.end}
	for at := m.interval; at < m.end; at += m.interval * 2 {
		looks = append(looks, at)
	}
	for _, at := range looks {
		s.Probes = append(s.Probes, scenario.Probe{At: at, Look: seen.look(at, &t)})
	}
	return s
}

// look sums up the pingmesh of all hosts.
func (seen *meshSeen) look(at time.Duration, t *lab.Topology,
) func(context.Context, func(string) daemon.Caller) error {
	return func(ctx context.Context, node func(string) daemon.Caller) error {
		l := meshLook{at, map[int64]uint64{}, map[string]uint64{}}
		for _, n := range t.Nodes {
			if n.Kind != lab.Host {
				continue
			}
			var st nicd.PingmeshStatus
			if err := node(n.Name).Call(ctx, http.MethodGet, "/v1/pingmesh", nil,
				&st); err != nil {
				return err
			}
			for _, r := range st.RTTs {
				l.rtts[r.UpToNs] += r.Count
			}
			for _, p := range st.Peers {
				for code, count := range p.Probes {
					if code != "ok" {
						l.failed[code] += count
					}
				}
			}
		}
		*seen = append(*seen, l)
		return nil
	}
}

// at is the look at a time.
func (seen meshSeen) at(t time.Duration) meshLook {
	for _, l := range seen {
		if l.at == t {
			return l
		}
	}
	return meshLook{}
}

// between is the quantile of the round trips from one look to a later one, in microseconds.
func between(a, b meshLook, q float64) (us float64, count uint64) {
	grown := make(map[int64]uint64)
	for up, n := range b.rtts {
		if n -= a.rtts[up]; n > 0 {
			grown[up] = n
			count += n
		}
	}
	var below uint64
	for _, up := range slices.Sorted(maps.Keys(grown)) {
		if below += grown[up]; float64(below) >= q*float64(count) {
			return float64(up) / 1e3, count
		}
	}
	return 0, 0
}

// meshQuantiles are those of figure 8, with what the paper says of them before and during the load,
// in microseconds.
var meshQuantiles = []struct {
	name           string
	q              float64
	before, during float64
}{{"99th", 0.99, 50, 400}, {"99.9th", 0.999, 80, 800}}

func (m meshShape) measure(r *scenario.Run, out *suite.Outcome, seen *meshSeen) {
	start, load := meshLook{}, seen.at(m.load)
	settled, end := seen.at(m.settled), seen.at(m.end)
	var count uint64
	for _, q := range meshQuantiles {
		out.Numbers[q.name+" before"], count = between(start, load, q.q)
		out.Numbers["probes before"] = float64(count)
		out.Numbers[q.name+" during"], count = between(settled, end, q.q)
		out.Numbers["probes during"] = float64(count)
		before := start
		curve := suite.Series{}
		for _, l := range *seen {
			if us, n := between(before, l, q.q); n > 0 {
				curve.X = append(curve.X, float64(l.at)/1e6)
				curve.Y = append(curve.Y, us)
			}
			before = l
		}
		out.Series[q.name] = curve
	}
	for _, n := range end.failed {
		out.Numbers["failed"] += float64(n)
	}
	for i := range r.Flows {
		out.Numbers["goodput"] += r.Goodput(i) / float64(2*m.pairs)
	}
	for _, n := range r.Dropped() {
		out.Numbers["dropped"] += float64(n)
	}
}

func judgePingmesh(o suite.Options, found []suite.Outcome) (v suite.Verdict) {
	m := meshOf(o)
	out := byCell(found, "two ToRs")
	fig := suite.Figure{Title: "Figure 8: RDMA latency as the load starts",
		X: suite.Axis{Label: "time", Unit: "ms"},
		Y: suite.Axis{Label: "latency", Unit: "us", Log: true}}
	for _, q := range meshQuantiles {
		before, during := out.Numbers[q.name+" before"], out.Numbers[q.name+" during"]
		v.Claims = append(v.Claims, suite.Claim{
			Text:  "the " + q.name + " percentile jumps up as the load starts",
			Paper: fmt.Sprintf("%g to %g us", q.before, q.during), Ours: during, Unit: "us",
			Rule:  fmt.Sprintf("at least twice the %.1f us before", before),
			Holds: before > 0 && during >= 2*before})
		fig.Curves = append(fig.Curves,
			suite.Curve{Name: q.name + " percentile", Kind: suite.Line, From: suite.Ours,
				Series: out.Series[q.name]},
			suite.Curve{Name: q.name + " percentile", Kind: suite.Points, From: suite.Printed,
				Series: suite.Series{X: []float64{float64(m.load) / 2e6,
					float64(m.load+m.end) / 2e6}, Y: []float64{q.before, q.during}}})
	}
	n := out.Numbers
	if o.Mode == suite.Virtual && !o.Short { // the paper's size, and time for rates to settle
		v.Claims = append(v.Claims, suite.Claim{Text: "every server sends and receives",
			Paper: "7", Ours: n["goodput"] / 1e9, Unit: "Gb/s", Rule: "the paper's +- 20 %",
			Holds: n["goodput"] >= 5.6e9 && n["goodput"] <= 8.4e9})
	}
	v.Claims = append(v.Claims, suite.Claim{Text: "no packet is dropped, no probe fails",
		Paper: "0", Ours: n["dropped"] + n["failed"], Rule: "0",
		Holds: n["probes during"] > 0 && n["dropped"]+n["failed"] == 0})
	v.Figures = []suite.Figure{fig}
	v.Notes = append(v.Notes, fmt.Sprintf("%.0f probes before, %.0f during the load; percentiles "+
		"are too large by an eighth at most. A probe is answered by the peer's pingmesh at once, "+
		"so our round trips have no software in them, of which most of the 50 us before the load "+
		"must be: at rest a round trip between two ToRs takes less than 10 us of links.",
		n["probes before"], n["probes during"]))
	return v
}
