package papers

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/result"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/deploy/topologies"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
	"github.com/rocelab/rocelab/switchd/deadlock"
	"github.com/rocelab/rocelab/switchd/fib"
)

func scaleDeadlock() suite.Experiment {
	return suite.Experiment{
		ID: "scale-deadlock", Paper: atScale, Where: "section 4.2, figure 4", Modes: both, Seeds: 1,
		Title: "Two dead servers whose ARP entries are incomplete: flooding and PFC make a " +
			"deadlock that restarting all servers does not end, dropping lossless packets makes " +
			"none.",
		Shorter: "On real frames the deadlock is watched for 0.3 s instead of 10 s; nothing in " +
			"it has a timer that would end it later.",
		Cells: deadlockCells, Judge: judgeDeadlock,
	}
}

// remedies are what the switches do with lossless packets for an incomplete ARP entry: what the
// paper found, and what it chose.
var remedies = []fib.Remedy{fib.Flood, fib.DropLossless}

// When things happen: S2 and S3 die at 10 ms, as the topology says, and all traffic flows from
// 11 ms on until it stops. Then all servers restart: their links are down for a while.
const (
	deadlockTraffic = 11 * time.Millisecond
	deadlockStop    = 20 * time.Millisecond
	deadlockRestart = 25 * time.Millisecond
	restartTakes    = 5 * time.Millisecond
	deadlockSilent  = 40 * time.Millisecond // from now on nothing may move
)

// paperCycle is the pauses of figure 4, as egress ports: La.p1, T0.p2, Lb.p0 and T1.p4.
var paperCycle = []string{"la:swp2", "t0:swp3", "lb:swp1", "t1:swp5"}

func deadlockCells(o suite.Options) (cells []suite.Cell) {
	end := deadlockSilent + times(o, 10*time.Second, 300*time.Millisecond)
	if o.Short {
		end = deadlockSilent + time.Second
	}
	for _, remedy := range remedies {
		var seen deadlockSeen
		cells = append(cells, run(remedy.String(),
			func() *scenario.Scenario { return deadlocked(remedy, end, &seen) },
			func(r *scenario.Run, out *suite.Outcome) { measureDeadlock(r, out, &seen) }))
	}
	return cells
}

// deadlockSeen is the cycles of pauses under traffic and at the end, and what the switches stored
// then.
type deadlockSeen struct {
	early, late deadlock.Report
	stored      int64
}

// deadlocked is the traffic of figure 4 on its network: purple from S1 to S3 and black to S5, blue
// from S4 to S2, and S6 for the "other sources" of the incast to S5.
func deadlocked(remedy fib.Remedy, end time.Duration, seen *deadlockSeen) *scenario.Scenario {
	t := lab.Default()
	if err := daemon.Decode("deadlock.yaml", []byte(topologies.Deadlock), &t); err != nil {
		panic("papers: " + err.Error())
	}
	t.Switch.Incomplete = remedy
	for i := range t.Faults { // the dead are restarted with all others
		t.Faults[i].For = deadlockRestart + restartTakes - t.Faults[i].At
	}
	for _, host := range []string{"s1", "s4", "s5", "s6"} {
		t.Faults = append(t.Faults, planned(fmt.Sprintf("%s:eth0 down at %v for %v", host,
			deadlockRestart, restartTakes)))
	}
	s := &scenario.Scenario{Topology: t, Duration: end, Interval: 10 * time.Millisecond}
	for _, f := range [][2]string{{"s1", "s3"}, {"s1", "s5"}, {"s6", "s5"}, {"s4", "s2"}} {
		s.Flows = append(s.Flows, scenario.Flow{From: f[0], To: f[1],
			FlowRequest: nicd.FlowRequest{Depth: 16, StartNs: deadlockTraffic.Nanoseconds(),
				StopNs: deadlockStop.Nanoseconds()}})
	}
	for _, at := range paperCycle {
		sw, port, _ := strings.Cut(at, ":")
		s.Queues = append(s.Queues, scenario.Queue{Switch: sw, Port: port,
			Queue: scenario.DataQueue})
	}
	s.Probes = []scenario.Probe{{At: deadlockStop, Look: lookForCycles(&t, &seen.early)},
		{At: end, Look: lookForCycles(&t, &seen.late)}, {At: end, Look: seen.store(&t)}}
	return s
}

// lookForCycles joins what all switches say of their pauses.
func lookForCycles(t *lab.Topology, to *deadlock.Report,
) func(context.Context, func(string) daemon.Caller) error {
	info := t.Info()
	return func(ctx context.Context, node func(string) daemon.Caller) (err error) {
		*to, err = info.FindDeadlock(func(sw string) (w switchd.Waits, err error) {
			err = node(sw).Call(ctx, http.MethodGet, "/v1/waits", nil, &w)
			return w, err
		})
		return err
	}
}

// store sums up what all switches have in their buffers.
func (seen *deadlockSeen) store(t *lab.Topology,
) func(context.Context, func(string) daemon.Caller) error {
	return func(ctx context.Context, node func(string) daemon.Caller) error {
		seen.stored = 0
		for _, n := range t.Nodes {
			if n.Kind != lab.Switch {
				continue
			}
			var st switchd.State
			if err := node(n.Name).Call(ctx, http.MethodGet, "/v1/state", nil, &st); err != nil {
				return err
			}
			for _, p := range st.Pools {
				seen.stored += p.Bytes
			}
		}
		return nil
	}
}

func measureDeadlock(r *scenario.Run, out *suite.Outcome, seen *deadlockSeen) {
	n := out.Numbers
	n["cycles under traffic"] = float64(len(seen.early.Cycles))
	n["cycles at the end"] = float64(len(seen.late.Cycles))
	n["stored"] = float64(seen.stored)
	from := int(deadlockSilent / r.Scenario.Interval)
	for q := range r.Scenario.Queues {
		queue := r.QueueBytes(q)
		n["drained"] += r.SentLineBytes(q, deadlockSilent, r.Scenario.Duration)
		n["queued"] += queue[from]
	}
	for _, c := range seen.late.Cycles {
		for _, at := range paperCycle {
			for _, p := range c.Ports {
				if fmt.Sprintf("%s:%s", p.Device, p.Name) == at {
					n["of the paper's cycle"]++
				}
			}
		}
	}
	out.Parameters = append(out.Parameters,
		result.Line{Name: "pauses under traffic", Value: seen.early.String()},
		result.Line{Name: "pauses at the end", Value: seen.late.String()})
}

func judgeDeadlock(o suite.Options, found []suite.Outcome) (v suite.Verdict) {
	flood := byCell(found, fib.Flood.String())
	drop := byCell(found, fib.DropLossless.String())
	ran := len(flood.Numbers) > 0 && len(drop.Numbers) > 0
	n := flood.Numbers
	v.Claims = []suite.Claim{
		{Text: "flood: a loop of pauses among the four switches is formed",
			Paper: "T0, La, T1, Lb", Ours: n["of the paper's cycle"],
			Unit:  "ports of the paper's cycle",
			Rule:  "one cycle, which has all four",
			Holds: n["cycles at the end"] == 1 && n["of the paper's cycle"] == 4},
		{Text: "flood: it does not go away, even if all servers are restarted",
			Paper: "does not go away", Ours: n["drained"], Unit: "bytes",
			Rule: fmt.Sprintf("nothing leaves the cycle's queues for %v; they hold bytes",
				times(o, 10*time.Second, 300*time.Millisecond)),
			Holds: ran && n["drained"] == 0 && n["queued"] > 0},
		{Text: "drop_lossless: no deadlock", Paper: "prevents the deadlock",
			Ours: drop.Numbers["cycles under traffic"] + drop.Numbers["cycles at the end"],
			Unit: "cycles", Rule: "no cycle, under traffic and at the end, and buffers are empty",
			Holds: ran && drop.Numbers["cycles under traffic"] == 0 &&
				drop.Numbers["cycles at the end"] == 0 && drop.Numbers["stored"] == 0},
	}
	for _, l := range flood.Parameters {
		if l.Name == "pauses at the end" {
			v.Notes = append(v.Notes, "The deadlock: "+strings.TrimSpace(l.Value))
		}
	}
	v.Notes = append(v.Notes, "A server is restarted by taking its link down; its queue pairs "+
		"outlive that, but have nothing new to send. Buffers are static here, as in the shipped "+
		"topology: a group is paused at 40 KB and runs again at 10 KB, so that what is flooded "+
		"alone keeps it paused, which the paper describes but gives no thresholds for.")
	for _, o := range found {
		if o.Certificate != nil && !o.Certificate.Valid {
			v.Notes = append(v.Notes, "Run "+o.Cell+" on real frames is not what virtual time "+
				"has, so its claims tell nothing.")
		}
	}
	return v
}
