package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/nicd"
)

// Traffic is a group of flows that are alike.
type Traffic struct {
	Name string `yaml:"name"`
	// Pattern says who sends to whom: each (default: every host of From to every one of To), pairs
	// (the first of From to the first of To, and so on), random (every host of From to one of To,
	// by the seed), ring_all_reduce, all_to_all (among Hosts).
	Pattern string `yaml:"pattern"`
	From    Names  `yaml:"from"`
	To      Names  `yaml:"to"`
	Hosts   Names  `yaml:"hosts"`

	Verb     string     `yaml:"verb"`     // write (default), send, read, ...
	Message  unit.Bytes `yaml:"message"`  // 1 MB if there are no sizes
	Sizes    []Size     `yaml:"sizes"`    // distribution of message sizes, in place of Message
	Depth    int        `yaml:"depth"`    // messages under way at a time; 4
	Messages uint64     `yaml:"messages"` // of a flow; 0: until Stop
	// Load is the share of the sender's link that messages ask for which arrive by themselves, as a
	// Poisson process; 0: there is always a next message.
	Load  float64       `yaml:"load"`
	Idle  time.Duration `yaml:"idle"` // pause after each message
	Start time.Duration `yaml:"start"`
	Stop  time.Duration `yaml:"stop"` // 0: the end

	// Of collectives: the bytes of the vector that is reduced, or that each host has for each other
	// one, and how often.
	Bytes  unit.Bytes `yaml:"bytes"`
	Rounds int        `yaml:"rounds"` // 0: once
}

// Size is a point of a cumulative distribution: messages are not larger than Bytes with probability
// P. Between points sizes are interpolated.
type Size struct {
	Bytes unit.Bytes `yaml:"bytes"`
	P     float64    `yaml:"p"`
}

// pattern makes the flows of one kind of traffic.
type pattern struct {
	collective bool
	flows      func(t *Traffic, who parties) []scenario.Flow
}

// parties are the hosts of a group.
type parties struct {
	from, to, hosts []string
	dice            *rand.Rand
}

var patterns = map[string]pattern{
	"":                {false, (*Traffic).each},
	"each":            {false, (*Traffic).each},
	"pairs":           {false, (*Traffic).pairs},
	"random":          {false, (*Traffic).random},
	"ring_all_reduce": {true, (*Traffic).ring},
	"all_to_all":      {true, (*Traffic).allToAll},
}

// parties finds the hosts.
func (t *Traffic) parties(hosts []string) (who parties, faults []daemon.Fault) {
	for _, part := range []struct {
		key   string
		names Names
		into  *[]string
	}{{".from", t.From, &who.from}, {".to", t.To, &who.to}, {".hosts", t.Hosts, &who.hosts}} {
		chosen, err := choose(hosts, part.names)
		if err != nil {
			faults = append(faults, daemon.Fault{Path: part.key, Problem: err.Error()})
		}
		*part.into = chosen
	}
	return who, faults
}

// faults judges the group.
func (t *Traffic) faults(hosts []string) (faults []daemon.Fault) {
	fault := func(path, format string, args ...any) {
		faults = append(faults, daemon.Fault{Path: path, Problem: fmt.Sprintf(format, args...)})
	}
	kind, ok := patterns[t.Pattern]
	if !ok {
		fault(".pattern", "%q: want each, pairs, random, ring_all_reduce or all_to_all", t.Pattern)
		return faults
	}
	who, faults := t.parties(hosts)
	switch {
	case len(faults) > 0:
	case kind.collective && len(who.hosts) < 2:
		fault(".hosts", "want two hosts at least")
	case kind.collective && t.Bytes <= 0:
		fault(".bytes", "must be positive")
	case !kind.collective && (len(who.from) == 0 || len(who.to) == 0):
		fault("", "want from and to")
	case t.Pattern == "pairs" && len(who.from) != len(who.to):
		fault("", "%d hosts in from and %d in to make no pairs", len(who.from), len(who.to))
	}
	if t.Load < 0 || t.Load > 1 {
		fault(".load", "%v: want 0 to 1", t.Load)
	}
	if t.Message != 0 && len(t.Sizes) > 0 {
		fault(".sizes", "there is a message size, too: want one of the two")
	}
	return faults
}

// request is what all flows of the group have in common.
func (t *Traffic) request(seed uint64) nicd.FlowRequest {
	r := nicd.FlowRequest{Verb: t.Verb, MessageBytes: int(t.Message), Depth: t.Depth,
		Messages: t.Messages, StartNs: t.Start.Nanoseconds(), StopNs: t.Stop.Nanoseconds(),
		IdleNs: t.Idle.Nanoseconds(), Seed: seed}
	for _, s := range t.Sizes {
		r.Sizes = append(r.Sizes, nicd.SizePoint{Bytes: int(s.Bytes), P: s.P})
	}
	return r
}

func (t *Traffic) flow(from, to string, r nicd.FlowRequest) scenario.Flow {
	r.Name = fmt.Sprintf("%s: %s > %s", t.Name, from, to)
	return scenario.Flow{FlowRequest: r, From: from, To: to}
}

func (t *Traffic) each(who parties) (flows []scenario.Flow) {
	for _, from := range who.from {
		for _, to := range who.to {
			if from != to {
				flows = append(flows, t.flow(from, to, t.request(who.dice.Uint64())))
			}
		}
	}
	return flows
}

func (t *Traffic) pairs(who parties) (flows []scenario.Flow) {
	for i, from := range who.from {
		if to := who.to[i]; from != to {
			flows = append(flows, t.flow(from, to, t.request(who.dice.Uint64())))
		}
	}
	return flows
}

// random gives every sender a receiver that is not itself.
func (t *Traffic) random(who parties) (flows []scenario.Flow) {
	for _, from := range who.from {
		others := slices.DeleteFunc(slices.Clone(who.to), func(h string) bool { return h == from })
		if len(others) > 0 {
			to := others[who.dice.IntN(len(others))]
			flows = append(flows, t.flow(from, to, t.request(who.dice.Uint64())))
		}
	}
	return flows
}

// ring is the ring all-reduce: the vector is cut into as many parts as there are hosts, and each
// host sends 2(N-1) parts to its successor, each but the first once it has the part before from its
// predecessor. Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of
// workstations, JPDC 2009, section 3.
func (t *Traffic) ring(who parties) (flows []scenario.Flow) {
	n := len(who.hosts)
	for i, from := range who.hosts {
		r := t.request(who.dice.Uint64())
		// Two at a time: what came in lets the next part go, not the own part's acknowledgement.
		r.Verb, r.MessageBytes, r.Depth, r.Lead = "send", (int(t.Bytes)+n-1)/n, 2, 1
		r.Messages = uint64(2 * (n - 1) * max(t.Rounds, 1))
		f := t.flow(from, who.hosts[(i+1)%n], r)
		f.After = t.flow(who.hosts[(i+n-1)%n], from, r).Name
		flows = append(flows, f)
	}
	return flows
}

// allToAll has every host send its bytes to every other one, all at once.
func (t *Traffic) allToAll(who parties) (flows []scenario.Flow) {
	for i, from := range who.hosts {
		for k := 1; k < len(who.hosts); k++ {
			r := t.request(who.dice.Uint64())
			r.MessageBytes, r.Depth, r.Messages = int(t.Bytes), 1, uint64(max(t.Rounds, 1))
			flows = append(flows, t.flow(from, who.hosts[(i+k)%len(who.hosts)], r))
		}
	}
	return flows
}
