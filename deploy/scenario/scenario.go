package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/nicd"
)

// Scenario is what is run. The faults, the seed and all settings of switches and NICs are the
// topology's.
type Scenario struct {
	Topology lab.Topology
	Flows    []Flow
	Queues   []Queue // that are sampled
	// Duration is the virtual time of the run; flows without a stop of their own end with it.
	Duration time.Duration
	// Warmup is left out of what is averaged over the run.
	Warmup time.Duration
	// Interval is the time between samples, of which there are Duration/Interval.
	Interval time.Duration
	// Setup, if not nil, makes control calls of its own when everything is prepared and time still
	// stands at zero.
	Setup func(ctx context.Context, node func(name string) daemon.Caller) error
	// Probes read what only a node can tell, in the middle of the run.
	Probes []Probe
}

// Flow is the traffic of one queue pair. Fields of the request that are left out are filled in:
// write, messages of 1 MB, 4 at a time, until the end of the scenario.
type Flow struct {
	nicd.FlowRequest        // Name: unique, "FROM > TO" if empty; QPN is filled in
	From, To         string // hosts
	// After is the name of a flow to From, in whose received messages Lead counts. It is the
	// request's After by name.
	After string
	DSCP  *uint8 // nil: the NIC's
}

// Queue is an egress queue of a switch.
type Queue struct {
	Switch, Port string
	Queue        int
}

func (q Queue) String() string { return fmt.Sprintf("%s:%s:%d", q.Switch, q.Port, q.Queue) }

// DataQueue is where RoCE data waits in the lab's default configuration: DSCP 26 is traffic class
// 3.
const DataQueue = 3

// What a flow is, unless it says otherwise.
const (
	DefaultMessage = 1_000_000 // bytes
	DefaultDepth   = 4
)

// firstStart is when flows begin that could at zero, in nanoseconds. Time stands at zero while all
// is prepared, and on real frames what is due then happens: a flow would send its first packets
// while others of its host are yet to come, and so not in the order of virtual time.
const firstStart = 1

// Many names the flows of hosts to one host, all alike.
func Many(to string, like nicd.FlowRequest, from ...string) (flows []Flow) {
	for _, host := range from {
		flows = append(flows, Flow{FlowRequest: like, From: host, To: to})
	}
	return flows
}

// complete fills in what flows leave out.
func (s *Scenario) complete() (flows []Flow, err error) {
	if s.Duration <= 0 || s.Interval <= 0 || s.Warmup < 0 || s.Warmup >= s.Duration {
		return nil, fmt.Errorf("duration %v, warm-up %v, interval %v: want 0 <= warm-up < "+
			"duration, interval > 0", s.Duration, s.Warmup, s.Interval)
	}
	names := make(map[string]bool)
	for _, f := range s.Flows {
		if f.Name == "" {
			f.Name = f.From + " > " + f.To
		}
		if names[f.Name] {
			return nil, fmt.Errorf("flow %q is there twice: give one a name", f.Name)
		}
		names[f.Name] = true
		if f.From == f.To {
			return nil, fmt.Errorf("flow %q: a host does not send to itself", f.Name)
		}
		if f.Verb == "" {
			f.Verb = "write"
		}
		if f.MessageBytes == 0 && len(f.Sizes) == 0 {
			f.MessageBytes = DefaultMessage
		}
		if f.Depth == 0 {
			f.Depth = DefaultDepth
		}
		if f.StopNs == 0 {
			f.StopNs = s.Duration.Nanoseconds()
		}
		f.StartNs = max(f.StartNs, firstStart)
		flows = append(flows, f)
	}
	for i := range flows {
		if _, err := feeding(flows, &flows[i]); err != nil {
			return nil, err
		}
	}
	return flows, s.known()
}

// feeding is the place of the flow that f comes after; -1 if it comes after none.
func feeding(flows []Flow, f *Flow) (int, error) {
	if f.After == "" {
		return -1, nil
	}
	for i := range flows {
		if flows[i].Name == f.After && flows[i].To == f.From {
			return i, nil
		}
	}
	return -1, fmt.Errorf("flow %q comes after %q, which is no flow to %s", f.Name, f.After, f.From)
}

// largest is the size of a flow's largest message.
func (f *Flow) largest() int {
	most := f.MessageBytes
	for _, p := range f.Sizes {
		most = max(most, p.Bytes)
	}
	return most
}

// known finds nodes that are not there.
func (s *Scenario) known() error {
	kinds := make(map[string]lab.Kind)
	for _, n := range s.Topology.Nodes {
		kinds[n.Name] = n.Kind
	}
	var all []error
	for _, f := range s.Flows {
		for _, host := range []string{f.From, f.To} {
			if kinds[host] != lab.Host {
				all = append(all, fmt.Errorf("flow %s > %s: no host %q", f.From, f.To, host))
			}
		}
	}
	for _, q := range s.Queues {
		if kinds[q.Switch] != lab.Switch {
			all = append(all, fmt.Errorf("queue %v: no switch %q", q, q.Switch))
		}
	}
	for _, f := range s.Topology.Validate() {
		all = append(all, fmt.Errorf("%s: %s", f.Path, f.Problem))
	}
	return errors.Join(all...)
}
