package scenario

import (
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/result"
)

// Parameters are the effective settings that a reader needs to judge the numbers: those of the
// first host and of the first switch.
func (s *Scenario) Parameters() (lines []result.Line) {
	add := func(list []daemon.Parameter) {
		for _, p := range list {
			lines = append(lines, result.Line{Name: p.Name, Value: p.Value})
		}
	}
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

func (s *Scenario) first(kind lab.Kind) (lab.Node, bool) {
	for _, n := range s.Topology.Nodes {
		if n.Kind == kind {
			return n, true
		}
	}
	return lab.Node{}, false
}
