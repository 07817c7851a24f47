package deadlock

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Report is the cycles of a lab at one moment, those that began first in front.
type Report struct {
	Cycles []Cycle `json:"cycles"`
}

// Cycle is a strongly connected part of the wait-for graph: a set of paused egresses of which each
// waits for others of the set.
//
// It is a deadlock if none of its groups can drain to where they go to XON. Escapes are queues that
// can: as long as there are any, the cycle may dissolve; a cycle without them does not.
type Cycle struct {
	// Ports is the shortest cycle through the initial trigger, which is the first.
	Ports []Paused `json:"ports"`
	// Others are further egresses of the same part, which are on other cycles through it.
	Others []Node `json:"others"`
	// Trigger is what the egress that was paused first waited for: queues that held the frames of
	// the ingress that paused it.
	Trigger []Hold `json:"trigger"`
	// Escapes are queues that hold frames of the cycle's groups and are not paused.
	Escapes []Hold `json:"escapes"`
	// Victims are paused egresses that wait for the cycle and are not part of it.
	Victims []Node `json:"victims"`
}

// Paused is a paused egress in a cycle.
type Paused struct {
	Node
	SinceNs int64 `json:"since_ns"` // since when it is paused, in virtual time
}

// Find joins what the switches of a lab tell and returns every cycle of pauses.
func Find(parts []Part, links []Link) (r Report) {
	g := build(parts, links)
	r.Cycles = []Cycle{}
	for _, part := range g.components() {
		r.Cycles = append(r.Cycles, g.describe(part))
	}
	slices.SortStableFunc(r.Cycles, func(a, b Cycle) int {
		x, y := &a.Ports[0], &b.Ports[0]
		if x.SinceNs != y.SinceNs {
			return cmp.Compare(x.SinceNs, y.SinceNs)
		}
		return compareNodes(x.Node, y.Node)
	})
	return r
}

func (g *graph) describe(part []int) (c Cycle) {
	first := slices.MinFunc(part, func(a, b int) int {
		x, y := &g.vertices[a], &g.vertices[b]
		if x.since != y.since {
			return cmp.Compare(x.since, y.since)
		}
		return compareNodes(x.Node, y.Node)
	})
	way := g.cycle(first, part)
	for _, v := range way {
		c.Ports = append(c.Ports, Paused{g.vertices[v].Node, g.vertices[v].since})
	}
	c.Others, c.Victims, c.Escapes = []Node{}, g.nodes(g.reaching(part)), []Hold{}
	for _, v := range part {
		if !slices.Contains(way, v) {
			c.Others = append(c.Others, g.vertices[v].Node)
		}
		c.Escapes = append(c.Escapes, g.vertices[v].drains...)
	}
	c.Trigger = g.vertices[first].holds
	return c
}

func (g *graph) nodes(list []int) []Node {
	out := []Node{}
	for _, v := range list {
		out = append(out, g.vertices[v].Node)
	}
	slices.SortFunc(out, compareNodes)
	return out
}

// String is the report for people.
func (r Report) String() string {
	if len(r.Cycles) == 0 {
		return "no cycle of pauses\n"
	}
	var b strings.Builder
	for i := range r.Cycles {
		r.Cycles[i].print(&b)
	}
	return b.String()
}

func (c *Cycle) print(b *strings.Builder) {
	for _, p := range c.Ports {
		fmt.Fprintf(b, "%v -> ", p.Node)
	}
	fmt.Fprintf(b, "%v\n", c.Ports[0].Node)
	list(b, "  also in the cycle", c.Others)
	first := &c.Ports[0]
	title := fmt.Sprintf("  initial trigger: %v, paused since %v, waited for", first.Node,
		time.Duration(first.SinceNs))
	list(b, title, c.Trigger)
	list(b, "  can still drain", c.Escapes)
	list(b, "  victims", c.Victims)
}

func list[T any](b *strings.Builder, title string, items []T) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "%s:", title)
	for i, item := range items {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(b, " %v", item)
	}
	b.WriteString("\n")
}
