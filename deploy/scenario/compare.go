package scenario

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// difference is what a run on real frames and its twin in virtual time do not have in common.
type difference struct {
	compared int    // values that both recorded
	differ   int    // of them
	first    string // where the earliest of them is

	earliest int64 // time of first, in nanoseconds
}

func (d difference) String() string {
	if d.differ == 0 {
		return fmt.Sprintf("0 of %d", d.compared)
	}
	return fmt.Sprintf("%d of %d, first %s", d.differ, d.compared, d.first)
}

// compare holds every sample of every node against those of virtual time, and every counter at the
// last sample.
func compare(got, want *Run) difference {
	d := difference{earliest: int64(unit.Never)}
	got.each(func(name string, n *node) { d.samples(name, &n.Samples, &want.nodes[name].Samples) })
	got.each(func(name string, n *node) {
		d.counters(name, n.sw, want.nodes[name].sw)
		d.counters(name, n.nic, want.nodes[name].nic)
	})
	return d
}

// counters compares everything that a node had counted at the end.
func (d *difference) counters(node string, got, want any) {
	a, b := leaves(got), leaves(want)
	d.compared += len(b)
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if a[name] == b[name] {
			continue
		}
		d.differ++
		if d.first == "" {
			d.first = fmt.Sprintf("%s%s at the end: %v, in virtual time %v", node, name, a[name],
				b[name])
		}
	}
}

// leaves is every value in something that has a JSON form, by its path.
func leaves(v any) map[string]any {
	text, err := json.Marshal(v)
	var tree any
	if err != nil || json.Unmarshal(text, &tree) != nil {
		panic(fmt.Sprintf("scenario: %T has no JSON form: %v", v, err))
	}
	all := make(map[string]any)
	walk(all, "", tree)
	return all
}

func walk(all map[string]any, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, below := range v {
			walk(all, path+"."+k, below)
		}
	case []any:
		for i, below := range v {
			walk(all, fmt.Sprintf("%s[%d]", path, i), below)
		}
	case nil:
	default:
		all[path] = v
	}
}

// samples compares what a node recorded.
func (d *difference) samples(node string, got, want *daemon.Samples) {
	n := min(len(got.TimeNs), len(want.TimeNs))
	d.compared += n * len(want.Columns)
	if !slices.Equal(got.Columns, want.Columns) || !slices.Equal(got.TimeNs, want.TimeNs) {
		d.differ++
		d.first = fmt.Sprintf("%s recorded other columns or times", node)
		return
	}
	for c, name := range want.Columns {
		for i := range n {
			a, b := got.Values[c][i], want.Values[c][i]
			if a == b {
				continue
			}
			d.differ++
			if at := want.TimeNs[i]; at < d.earliest {
				d.earliest = at
				d.first = fmt.Sprintf("%s %s at %v: %v, in virtual time %v", node, name,
					time.Duration(at), a, b)
			}
		}
	}
}
