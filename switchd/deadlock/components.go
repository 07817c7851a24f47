package deadlock

import "slices"

// components are the strongly connected components that hold a cycle, each as indices in order,
// by Tarjan's algorithm (SIAM Journal on Computing 1, 1972). The stack of calls is as deep as the
// longest path of pauses.
func (g *graph) components() (found [][]int) {
	t := tarjan{graph: g, order: make([]int, len(g.vertices)), low: make([]int, len(g.vertices)),
		open: make([]bool, len(g.vertices))}
	for v := range g.vertices {
		if t.order[v] == 0 {
			t.visit(v)
		}
	}
	return t.found
}

type tarjan struct {
	*graph
	order, low []int // order of the first visit from 1, and the least that can be reached
	open       []bool
	stack      []int
	visited    int
	found      [][]int
}

func (t *tarjan) visit(v int) {
	t.visited++
	t.order[v], t.low[v], t.open[v] = t.visited, t.visited, true
	t.stack = append(t.stack, v)
	for _, next := range t.vertices[v].next {
		if t.order[next] == 0 {
			t.visit(next)
			t.low[v] = min(t.low[v], t.low[next])
		} else if t.open[next] {
			t.low[v] = min(t.low[v], t.order[next])
		}
	}
	if t.low[v] != t.order[v] {
		return
	}
	at := slices.Index(t.stack, v)
	part := slices.Clone(t.stack[at:])
	t.stack = t.stack[:at]
	for _, member := range part {
		t.open[member] = false
	}
	if len(part) > 1 || slices.Contains(t.vertices[v].next, v) {
		slices.Sort(part)
		t.found = append(t.found, part)
	}
}

// cycle is the shortest way from first back to itself inside a component.
func (g *graph) cycle(first int, part []int) []int {
	from := map[int]int{}
	queue := []int{first}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, next := range g.vertices[v].next {
			if next == first {
				way := []int{v}
				for v != first {
					v = from[v]
					way = append(way, v)
				}
				slices.Reverse(way)
				return way
			}
			if _, seen := from[next]; !seen && slices.Contains(part, next) {
				from[next] = v
				queue = append(queue, next)
			}
		}
	}
	return nil // not in a component that components found
}

// reaching is all vertices from which one of these can be reached, without them.
func (g *graph) reaching(part []int) (all []int) {
	back := make([][]int, len(g.vertices))
	for v := range g.vertices {
		for _, next := range g.vertices[v].next {
			back[next] = append(back[next], v)
		}
	}
	seen := make([]bool, len(g.vertices))
	for _, v := range part {
		seen[v] = true
	}
	for queue := slices.Clone(part); len(queue) > 0; queue = queue[1:] {
		for _, v := range back[queue[0]] {
			if !seen[v] {
				seen[v] = true
				all = append(all, v)
				queue = append(queue, v)
			}
		}
	}
	return all
}
