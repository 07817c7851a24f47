package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/twin"
)

// difference is what a run on real frames and its twin in virtual time do not have in common.
type difference struct {
	compared int    // values that both recorded
	differ   int    // of them
	first    string // where the earliest of them is
}

func (d difference) String() string {
	if d.differ == 0 {
		return fmt.Sprintf("0 of %d", d.compared)
	}
	return fmt.Sprintf("%d of %d, first %s", d.differ, d.compared, d.first)
}

// compare runs the twin of a session and compares everything that both sampled: the bottleneck's
// queue, PFC frames, marks and bytes, of every host the pauses, CNPs, rates and bytes; and every
// counter of every node at the last sample.
func (s *session) compare(ctx context.Context, g *gathered) (d difference, err error) {
	t := s.topology(s.cfg)
	tw, err := twin.New(&t)
	if err != nil {
		return d, fmt.Errorf("virtual time: %w", err)
	}
	v := &session{Incast: s.Incast, cfg: s.cfg, node: tw.Client}
	if err := v.wire(ctx); err != nil {
		return d, fmt.Errorf("virtual time: %w", err)
	}
	if err := v.observe(ctx); err != nil {
		return d, fmt.Errorf("virtual time: %w", err)
	}
	// In steps, so that an interrupt is heard.
	for at := time.Duration(0); at < s.Duration; at += time.Millisecond {
		tw.Run(unit.Time(min(at+time.Millisecond, s.Duration)))
		if ctx.Err() != nil {
			return d, context.Cause(ctx)
		}
	}
	var want gathered
	if err := v.samples(ctx, &want); err != nil {
		return d, fmt.Errorf("virtual time: %w", err)
	}
	earliest := int64(unit.Never)
	d.samples("sw0", &g.swSeries, &want.swSeries, &earliest)
	for i := range g.nicSeries {
		d.samples(s.host(i), &g.nicSeries[i], &want.nicSeries[i], &earliest)
	}
	d.counters("sw0", g.swEnd, want.swEnd)
	for i := range g.nicEnds {
		d.counters(s.host(i), g.nicEnds[i], want.nicEnds[i])
	}
	return d, nil
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
		panic(fmt.Sprintf("experiment: %T has no JSON form: %v", v, err))
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
	default:
		all[path] = v
	}
}

// samples compares what a node recorded.
func (d *difference) samples(node string, got, want *daemon.Samples, earliest *int64) {
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
			if at := want.TimeNs[i]; at < *earliest {
				*earliest = at
				d.first = fmt.Sprintf("%s %s at %v: %v, in virtual time %v", node, name,
					time.Duration(at), a, b)
			}
		}
	}
}
