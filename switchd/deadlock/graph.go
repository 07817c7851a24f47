package deadlock

import (
	"cmp"
	"fmt"
	"slices"
)

// Port names a port of a lab.
type Port struct {
	Device string `json:"device"`
	Name   string `json:"port"`
}

func (p Port) String() string { return p.Device + ":" + p.Name }

// Link joins two ports.
type Link struct{ A, B Port }

// Part is what one switch told.
type Part struct {
	Device string
	Waits  []Wait
}

// Wait is one switch's word that a priority group in XOFF waits for an egress queue. All times
// are virtual.
type Wait struct {
	In      string `json:"in"`       // ingress port: it pauses its peer
	Group   int    `json:"group"`    // its priority group
	Pauses  []int  `json:"pauses"`   // priorities of the peer that it pauses
	SinceNs int64  `json:"since_ns"` // since when

	Out        string `json:"out"`          // egress port that holds frames of the group
	Queue      int    `json:"queue"`        // its queue
	Frames     int    `json:"frames"`       // how many
	Bytes      int64  `json:"bytes"`        // of what length
	PausedBy   []int  `json:"paused_by"`    // priorities that stop the queue; none: it can send
	OutSinceNs int64  `json:"out_since_ns"` // since when, if it is stopped
}

// Node is an egress port that is paused in a priority.
type Node struct {
	Port
	Priority int `json:"priority"`
}

func (n Node) String() string { return fmt.Sprintf("%v prio %d", n.Port, n.Priority) }

func compareNodes(a, b Node) int {
	return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Priority, b.Priority))
}

// vertex is a node at work: what pauses it, and where the frames are that it waits for.
type vertex struct {
	Node
	since  int64  // since when it is paused, as far as a switch told
	next   []int  // paused egresses that hold what it waits for, by index
	holds  []Hold // all queues that hold what it waits for
	drains []Hold // those of them that can send
}

// Hold is an egress queue that holds frames of a paused egress's peer.
type Hold struct {
	Port
	Queue  int   `json:"queue"`
	Frames int   `json:"frames"`
	Bytes  int64 `json:"bytes"`
}

func (h Hold) String() string {
	return fmt.Sprintf("%v queue %d (%d frames)", h.Port, h.Queue, h.Frames)
}

// graph is who waits for whom: an egress X that is paused by the ingress at the other end of its
// link waits for every egress of that switch which holds frames of that ingress.
type graph struct {
	vertices []vertex
	index    map[Node]int
}

// build joins the parts along the links. A wait at a port without a link has no peer and is left
// out.
func build(parts []Part, links []Link) *graph {
	g := &graph{index: make(map[Node]int)}
	peers := make(map[Port]Port, 2*len(links))
	for _, l := range links {
		peers[l.A], peers[l.B] = l.B, l.A
	}
	for _, part := range parts {
		for i := range part.Waits {
			w := &part.Waits[i]
			if peer, ok := peers[Port{part.Device, w.In}]; ok {
				for _, priority := range w.Pauses {
					g.wait(Node{peer, priority}, part.Device, w)
				}
			}
		}
	}
	for i := range g.vertices {
		slices.SortFunc(g.vertices[i].next, func(a, b int) int {
			return compareNodes(g.vertices[a].Node, g.vertices[b].Node)
		})
		g.vertices[i].next = slices.Compact(g.vertices[i].next)
	}
	return g
}

// wait adds that paused waits for the egress of w.
func (g *graph) wait(paused Node, device string, w *Wait) {
	from := g.vertex(paused)
	g.vertices[from].sincePaused(w.SinceNs)
	out := Port{device, w.Out}
	v, hold := &g.vertices[from], Hold{out, w.Queue, w.Frames, w.Bytes}
	v.holds = append(v.holds, hold)
	if len(w.PausedBy) == 0 {
		v.drains = append(v.drains, hold)
	}
	for _, priority := range w.PausedBy {
		to := g.vertex(Node{out, priority})
		g.vertices[to].sincePaused(w.OutSinceNs)
		g.vertices[from].next = append(g.vertices[from].next, to)
	}
}

func (v *vertex) sincePaused(ns int64) {
	if v.since < 0 || ns < v.since {
		v.since = ns
	}
}

func (g *graph) vertex(n Node) int {
	i, ok := g.index[n]
	if !ok {
		i = len(g.vertices)
		g.index[n] = i
		g.vertices = append(g.vertices, vertex{Node: n, since: -1})
	}
	return i
}
