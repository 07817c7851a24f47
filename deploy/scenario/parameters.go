package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/result"
)

// Parameters are the effective settings that a reader needs to judge the numbers: the network and
// the time, and those of the first host and of the first switch.
func (s *Scenario) Parameters() (lines []result.Line) {
	add := func(list []daemon.Parameter) {
		for _, p := range list {
			lines = append(lines, result.Line{Name: p.Name, Value: p.Value})
		}
	}
	lines = s.network()
	if n, ok := s.first(lab.Host); ok {
		c := s.Topology.NICConfig(n)
		add(c.Parameters())
	}
	if n, ok := s.first(lab.Switch); ok {
		c := s.Topology.SwitchConfig(n)
		add(c.Parameters())
	}
	return lines
}

// network is what runs where, and for how long.
func (s *Scenario) network() []result.Line {
	nodes, links := map[lab.Kind]int{}, []string{}
	for _, n := range s.Topology.Nodes {
		nodes[n.Kind]++
	}
	for _, l := range s.Topology.Links {
		if text := fmt.Sprintf("%v %v", l.Rate, l.Delay); !slices.Contains(links, text) {
			links = append(links, text)
		}
	}
	lines := []result.Line{
		{Name: "hosts", Value: fmt.Sprint(nodes[lab.Host])},
		{Name: "switches", Value: fmt.Sprint(nodes[lab.Switch])},
		{Name: "links", Value: strings.Join(links, "; ")},
		{Name: "flows", Value: fmt.Sprint(len(s.Flows))},
		{Name: "duration", Value: fmt.Sprint(s.Duration)},
	}
	if s.Warmup > 0 {
		lines = append(lines, result.Line{Name: "warm-up", Value: fmt.Sprint(s.Warmup)})
	}
	for _, f := range s.Topology.Faults {
		lines = append(lines, result.Line{Name: "fault", Value: fmt.Sprint(f)})
	}
	return lines
}

func (s *Scenario) first(kind lab.Kind) (lab.Node, bool) {
	for _, n := range s.Topology.Nodes {
		if n.Kind == kind {
			return n, true
		}
	}
	return lab.Node{}, false
}
