package deadlock

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// wait is a Wait of priority 3 in group 3 and queue 3; since 0 the egress can send.
func wait(in string, since int64, out string, outSince int64) Wait {
	w := Wait{In: in, Group: 3, Pauses: []int{3}, SinceNs: since, Out: out, Queue: 3, Frames: 7,
		Bytes: 7000}
	if outSince != 0 {
		w.PausedBy, w.OutSinceNs = []int{3}, outSince
	}
	return w
}

// figure4 is what the switches of [RDMA at scale] figure 4 tell, in the order in which the paper
// has them begin to pause.
func figure4() (parts []Part, links []Link) {
	parts = []Part{
		{"T0", []Wait{wait("p0", 25000, "p2", 20000), wait("p3", 30000, "p2", 20000)}},
		{"T1", []Wait{wait("p3", 10000, "p2", 0), wait("p3", 10000, "p4", 40000),
			wait("p1", 50000, "p4", 40000)}},
		{"La", []Wait{wait("p0", 20000, "p1", 10000)}},
		{"Lb", []Wait{wait("p1", 40000, "p0", 30000)}},
	}
	for _, l := range [][4]string{{"S1", "p0", "T0", "p0"}, {"S4", "p0", "T1", "p1"},
		{"T0", "p2", "La", "p0"}, {"La", "p1", "T1", "p3"}, {"T0", "p3", "Lb", "p0"},
		{"Lb", "p1", "T1", "p4"}} {
		links = append(links, Link{Port{l[0], l[1]}, Port{l[2], l[3]}})
	}
	return parts, links
}

// TestFigure4: the cycle, what began it, and who suffers. While black packets leave T1.p2 it may
// still dissolve; when they are gone it does not.
func TestFigure4(t *testing.T) {
	parts, links := figure4()
	const want = `La:p1 prio 3 -> T1:p4 prio 3 -> Lb:p0 prio 3 -> T0:p2 prio 3 -> La:p1 prio 3
  initial trigger: La:p1 prio 3, paused since 10µs, waited for: ` +
		`T1:p2 queue 3 (7 frames), T1:p4 queue 3 (7 frames)
  can still drain: T1:p2 queue 3 (7 frames)
  victims: S1:p0 prio 3, S4:p0 prio 3
`
	if got := Find(parts, links).String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	parts[1].Waits = parts[1].Waits[1:]
	r := Find(parts, links)
	if len(r.Cycles) != 1 || len(r.Cycles[0].Escapes) != 0 {
		t.Errorf("without the black packets: %v", r)
	}
	parts[3].Waits = nil
	if got := Find(parts, links).String(); got != "no cycle of pauses\n" {
		t.Errorf("without Lb: %s", got)
	}
}

// TestSeveralCycles: they are told in the order in which they began, egresses on other cycles of
// the same part by name. A port without a link, as to a host outside of the lab, pauses nobody.
func TestSeveralCycles(t *testing.T) {
	ring := func(name string, since int64) (Part, Link) {
		return Part{name, []Wait{wait("p0", since, "p1", since), wait("p9", 1, "p1", since)}},
			Link{Port{name, "p1"}, Port{name, "p0"}} // a cable from a switch to itself
	}
	a, la := ring("A", 2000)
	b, lb := ring("B", 1000)
	if got := Find([]Part{a, b}, []Link{la, lb}).String(); got != `B:p1 prio 3 -> B:p1 prio 3
  initial trigger: B:p1 prio 3, paused since 1µs, waited for: B:p1 queue 3 (7 frames)
A:p1 prio 3 -> A:p1 prio 3
  initial trigger: A:p1 prio 3, paused since 2µs, waited for: A:p1 queue 3 (7 frames)
` {
		t.Errorf("got\n%s", got)
	}
	parts := []Part{{"X", []Wait{wait("p0", 5, "p0", 6)}},
		{"Y", []Wait{wait("p0", 6, "p0", 5), wait("p0", 6, "p1", 7)}},
		{"Z", []Wait{wait("p0", 7, "p0", 8)}}}
	links := []Link{{Port{"X", "p0"}, Port{"Y", "p0"}}, {Port{"Y", "p1"}, Port{"Z", "p0"}}}
	r := Find(parts, links)
	if len(r.Cycles) != 1 || len(r.Cycles[0].Ports) != 2 || len(r.Cycles[0].Victims) != 0 {
		t.Errorf("got %v", r)
	}
}

// TestComponentsModel compares with an oracle that knows nothing but who can reach whom.
func TestComponentsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "n")
		g := &graph{index: map[Node]int{}}
		for i := range n {
			g.vertex(Node{Port{"d", fmt.Sprint(i)}, 3})
		}
		reach := make([][]bool, n)
		for i := range n {
			reach[i] = make([]bool, n)
			for j := range n {
				if rapid.IntRange(0, 4).Draw(t, "edge") == 0 {
					g.vertices[i].next = append(g.vertices[i].next, j)
					reach[i][j] = true
				}
			}
		}
		for k := range n {
			for i := range n {
				for j := range n {
					reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
				}
			}
		}
		in := make([]int, n) // the component of each, from 1
		for c, part := range g.components() {
			for _, v := range part {
				in[v] = c + 1
			}
			way := g.cycle(part[0], part)
			for i, v := range way {
				if !slices.Contains(g.vertices[v].next, way[(i+1)%len(way)]) {
					t.Fatalf("%v is no cycle", way)
				}
			}
			if len(way) == 0 {
				t.Fatalf("no cycle through %d in %v", part[0], part)
			}
			victims := g.reaching(part)
			for v := range n {
				want := reach[v][part[0]] && !reach[part[0]][v]
				if slices.Contains(victims, v) != want {
					t.Fatalf("%d is a victim of %v: want %v", v, part, want)
				}
			}
		}
		for i := range n {
			for j := range n {
				together := in[i] != 0 && in[i] == in[j]
				if want := reach[i][j] && reach[j][i]; together != want {
					t.Fatalf("%d and %d in one cycle: %v, want %v", i, j, together, want)
				}
			}
		}
	})
}
