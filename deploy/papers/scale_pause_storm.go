package papers

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
)

func scalePauseStorm() suite.Experiment {
	return suite.Experiment{
		ID: "scale-pause-storm", Paper: atScale, Where: "sections 4.3 and 6.2, figure 5",
		Modes: both, Seeds: 1,
		Title: "The receive pipeline of one NIC stops, and the NIC pauses its switch for ever: " +
			"the others send nothing, until a watchdog of the NIC or of the switch ends it.",
		Shorter: "The others send only while goodput is measured, because nothing that is " +
			"measured depends on what they do in between; the watchdogs have the paper's times.",
		Cells: stormCells, Judge: judgeStorm,
	}
}

// stormTimes are when things happen.
type stormTimes struct {
	storm    time.Duration // the pipeline stops
	cured    time.Duration // end of what is seen of the cure; the others stop
	repaired time.Duration // the pipeline goes on: server 0 was rebooted
	// again is when they begin anew: the switch has enabled lossless mode, and nobody tries any
	// more to get through what he sent to server 0 in the storm (8 timeouts of 67 ms).
	again time.Duration
	end   time.Duration
}

// dog is a watchdog of the experiment: none, the NIC's, or the switches'.
type dog string

const (
	noDog     dog = "no watchdog"
	nicDog    dog = "NIC watchdog"
	switchDog dog = "switch watchdog"
)

var dogs = []dog{noDog, nicDog, switchDog}

// paperSwitchDog is the switch's watchdog on the ports of a ToR's two servers: those and no others
// are watched in section 4.3. Detection time and poll interval are not given there; they are those
// of the preset sigcomm16.
const paperSwitchDog = `
qos:
  pfc_wd:
    GLOBAL: {POLL_INTERVAL: 10}
    swp1: {action: drop, rule: undrained, detection_time: 100, restoration_time: 200}
    swp2: {action: drop, rule: undrained, detection_time: 100, restoration_time: 200}
`

const stormSample = time.Millisecond

func stormCells(o suite.Options) (cells []suite.Cell) {
	const ms = time.Millisecond
	t := stormTimes{storm: 10 * ms, cured: 200 * ms, repaired: 210 * ms, again: 600 * ms,
		end: 610 * ms}
	if o.Mode == suite.Real || o.Short {
		t = stormTimes{storm: 3 * ms, cured: 120 * ms, repaired: 130 * ms, again: 600 * ms,
			end: 604 * ms}
	}
	for _, d := range dogs {
		var seen stormSeen
		cells = append(cells, run(string(d),
			func() *scenario.Scenario { return storm(d, t, o, &seen) },
			func(r *scenario.Run, out *suite.Outcome) { measureStorm(r, out, d, t, &seen) }))
	}
	return cells
}

// stormSeen is when the watchdogs acted.
type stormSeen struct{ nic, detected, restored time.Duration }

// stormNet is a network with server 0, which is on the first port of its ToR.
type stormNet struct {
	lab.Topology
	server, tor string
	sources     []string // write to server 0
	ring        []string // each writes to the next: the others
}

// stormNetOf is the Clos of figure 5. Hosts everywhere write to server 0, so that its pauses reach
// every ToR. On real frames there are four hosts on two switches.
func stormNetOf(o suite.Options) stormNet {
	if o.Mode == suite.Real || o.Short {
		return stormNet{fabric.Dumbbell("storm", 2, scaleLinks, scaleLinks), "l1", "swl",
			[]string{"l2", "r1", "r2"}, []string{"l2", "r1", "r2"}}
	}
	return stormNet{fabric.Testbed("storm", 2, scaleLinks), "h1-1", "t1",
		[]string{"h1-2", "h2-2", "h3-2", "h4-2"}, []string{"h1-2", "h3-2", "h2-2", "h4-2"}}
}

func storm(d dog, t stormTimes, o suite.Options, seen *stormSeen) *scenario.Scenario {
	n := stormNetOf(o)
	s := &scenario.Scenario{Topology: n.Topology, Duration: t.end, Interval: stormSample}
	if d == noDog {
		s.Duration = t.cured
	}
	if d == switchDog {
		own(&s.Topology, n.tor, paperSwitchDog)
	}
	rx := &s.Topology.NIC.Receive
	receiveSide(rx)
	if d == nicDog {
		rx.Watchdog = 100 * time.Millisecond // the paper's default
	}
	for i, from := range n.sources {
		// Several queue pairs take all ways up.
		for q := range 4 {
			s.Flows = append(s.Flows, scenario.Flow{From: from, To: n.server,
				FlowRequest: nicd.FlowRequest{Name: fmt.Sprintf("%s > %s %d", from, n.server, q),
					StopNs: t.cured.Nanoseconds()}})
		}
		from, to := n.ring[i], n.ring[(i+1)%len(n.ring)]
		s.Flows = append(s.Flows, stormOther(from, to, "", 0, t.cured))
		if d != noDog {
			s.Flows = append(s.Flows, stormOther(from, to, " again", t.again, t.end))
		}
	}
	if d == switchDog {
		s.Flows = append(s.Flows, stormOther(n.sources[0], n.server, " again", t.again, t.end))
	}
	s.Setup = func(ctx context.Context, node func(string) daemon.Caller) error {
		return stopPipeline(ctx, node(n.server), d, t)
	}
	s.Probes = []scenario.Probe{{At: s.Duration, Look: seen.look(n.server, n.tor)}}
	return s
}

// stormOther is a flow that has nothing to do with server 0, at a time.
func stormOther(from, to, suffix string, start, stop time.Duration) scenario.Flow {
	return scenario.Flow{From: from, To: to, FlowRequest: nicd.FlowRequest{
		Name: from + " > " + to + suffix, StartNs: start.Nanoseconds(),
		StopNs: stop.Nanoseconds()}}
}

// stopPipeline plans the fault of server 0, and its repair if the switch is to notice it.
func stopPipeline(ctx context.Context, server daemon.Caller, d dog, t stormTimes) error {
	plan := []nicd.ReceiveRequest{{Stopped: true, AtNs: t.storm.Nanoseconds()}}
	if d == switchDog {
		plan = append(plan, nicd.ReceiveRequest{AtNs: t.repaired.Nanoseconds()})
	}
	for _, r := range plan {
		if err := server.Call(ctx, http.MethodPost, "/v1/receive", r, nil); err != nil {
			return err
		}
	}
	return nil
}

// look reads when the watchdogs of a server and of its switch's port acted.
func (seen *stormSeen) look(server, tor string,
) func(context.Context, func(string) daemon.Caller) error {
	return func(ctx context.Context, node func(string) daemon.Caller) error {
		var rx nicd.ReceiveStatus
		if err := node(server).Call(ctx, http.MethodGet, "/v1/receive", nil, &rx); err != nil {
			return err
		}
		var sw switchd.State
		if err := node(tor).Call(ctx, http.MethodGet, "/v1/state", nil, &sw); err != nil {
			return err
		}
		seen.nic = time.Duration(rx.PauseDisabledAtNs)
		for i := range sw.Ports {
			if p := &sw.Ports[i]; p.Name == "swp1" {
				w := p.Watchdog.Priorities[scenario.DataQueue]
				seen.detected = time.Duration(w.DetectedAtNs)
				seen.restored = time.Duration(w.RestoredAtNs)
			}
		}
		return nil
	}
}

// measureStorm takes the goodput of the others together: before the storm, when buffers are full
// and no watchdog can have acted, after the cure, and after the switch has enabled lossless mode.
func measureStorm(r *scenario.Run, out *suite.Outcome, d dog, t stormTimes, seen *stormSeen) {
	const ms = time.Millisecond
	windows := map[string][2]time.Duration{"before": {t.storm / 2, t.storm},
		"during": {t.storm + 20*ms, t.storm + 100*ms}, "after": {t.storm + 100*ms, t.cured},
		"again": {(t.again + t.end) / 2, t.end}}
	if d == noDog {
		delete(windows, "again")
	}
	all := make([]float64, len(r.Times()))
	for i := range r.Flows {
		f := &r.Flows[i]
		if f.To == stormServer(r.Scenario) {
			if f.StartNs > 0 {
				out.Numbers["server again"] = r.GoodputIn(i, windows["again"][0], t.end)
			}
			continue
		}
		for k, rate := range r.Rates(i) {
			all[k] += rate / 1e9
		}
		for name, w := range windows {
			out.Numbers[name] += r.GoodputIn(i, w[0], w[1])
		}
	}
	out.Series["others"] = over(r, all)
	for name, at := range map[string]time.Duration{"nic detected": seen.nic,
		"switch detected": seen.detected, "switch restored": seen.restored} {
		if at > 0 {
			out.Numbers[name+" ms"] = float64(at-t.storm) / 1e6
		}
	}
	if seen.restored > 0 {
		out.Numbers["repair to restored ms"] = float64(seen.restored-t.repaired) / 1e6
	}
}

// stormServer is server 0, the destination of the first flow.
func stormServer(s *scenario.Scenario) string { return s.Flows[0].To }

func judgeStorm(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	fig := suite.Figure{Title: "Goodput of the servers that have nothing to do with server 0",
		X: suite.Axis{Label: "time", Unit: "ms"}, Y: suite.Axis{Label: "goodput", Unit: "Gb/s"}}
	for _, d := range dogs {
		o := byCell(found, string(d))
		n := o.Numbers
		before, during, again := n["before"]/1e9, n["during"]/1e9, n["again"]/1e9
		v.Claims = append(v.Claims, suite.Claim{
			Text:  string(d) + ": the storm of one NIC blocks the others",
			Paper: "may block the entire network", Ours: during, Unit: "Gb/s",
			Rule:  fmt.Sprintf("< 1 %% of the %.1f Gb/s before it", before),
			Holds: before > 0 && during < 0.01*before})
		cure := suite.Claim{Text: string(d) + ": the others send again", Ours: again, Unit: "Gb/s",
			Rule:  fmt.Sprintf("> 90 %% of the %.1f Gb/s before the storm", before),
			Holds: before > 0 && again > 0.9*before}
		if d == noDog {
			cure.Text, cure.Ours = string(d)+": it does not end by itself", n["after"]/1e9
			cure.Rule = "to the end of the run as during the storm"
			cure.Holds = before > 0 && n["after"] < 0.01*n["before"]
		} else {
			v.Notes = append(v.Notes, fmt.Sprintf("%s: from 100 ms after the storm's begin until "+
				"the others stop they get %.1f Gb/s. Whoever has sent to server 0 goes on trying "+
				"with every timeout, and the rates that DCQCN has cut while buffers were full "+
				"grow slowly.", d, n["after"]/1e9))
		}
		v.Claims = append(v.Claims, cure)
		fig.Curves = append(fig.Curves, suite.Curve{Name: string(d), Kind: suite.Line,
			From: suite.Ours, Series: o.Series["others"]})
	}
	nic, sw := byCell(found, string(nicDog)).Numbers, byCell(found, string(switchDog)).Numbers
	v.Claims = append(v.Claims,
		within("the NIC's watchdog stops its pauses", "100", nic["nic detected ms"], 100, 110),
		within("the switch's watchdog disables lossless mode", "", sw["switch detected ms"], 100,
			120),
		within("the switch enables it again once the pauses are gone", "200",
			sw["repair to restored ms"], 200, 220),
		suite.Claim{Text: "server 0 receives again then", Ours: sw["server again"] / 1e9,
			Unit: "Gb/s", Rule: "> 0", Holds: sw["server again"] > 0})
	v.Figures = []suite.Figure{fig}
	v.Notes = append(v.Notes, "The paper gives no detection time for the switch; ours is the "+
		"NIC's. They look ten and twenty times in that time, and the pause comes only when the "+
		"NIC's buffer is full, so detection is up to two looks late. The NIC's watchdog never "+
		"enables pauses again, and its pipeline stands still to the end of the run.")
	return v
}

// within is a claim that something takes so many milliseconds: no less, because it must not, and
// not more than the upper limit.
func within(text, paper string, ours, low, high float64) suite.Claim {
	return suite.Claim{Text: text, Paper: paper, Ours: ours, Unit: "ms",
		Rule: fmt.Sprintf("%g to %g ms", low, high), Holds: ours >= low && ours <= high}
}
