package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
)

// logged is how many messages of a flow completion times are taken of.
const logged = 4096

// Scenario is the file with a seed. groups are the flows of each group of traffic.
func (f *File) Scenario(seed uint64) (s *scenario.Scenario, groups [][]int) {
	s = &scenario.Scenario{Topology: f.network, Queues: f.queues, Duration: f.Duration,
		Warmup: f.Warmup, Interval: f.Interval}
	s.Topology.Seed = seed
	if s.Interval == 0 {
		s.Interval = max(f.Duration/maxSamples, 1)
	}
	for i := range f.Traffic {
		var group []int
		for _, flow := range f.Traffic[i].flows(f, seed) {
			group = append(group, len(s.Flows))
			s.Flows = append(s.Flows, flow)
		}
		groups = append(groups, group)
	}
	return s, groups
}

// flows are those of the group with a seed.
func (t *Traffic) flows(f *File, seed uint64) []scenario.Flow {
	who, _ := t.parties(f.hosts()) // It has been judged.
	who.dice = rand.New(rand.NewPCG(seed, hash(t.Name)))
	flows := patterns[t.Pattern].flows(t, who)
	share := map[string]int{}
	for _, one := range flows {
		share[one.From]++
	}
	for i := range flows {
		flows[i].Log = logged
		if t.Load > 0 {
			rate := t.Load * float64(f.rate(flows[i].From)) / float64(share[flows[i].From])
			flows[i].IntervalNs = int64(t.mean() * 8e9 / rate)
			flows[i].Arrivals = "poisson"
		}
	}
	return flows
}

// cell is the run with a seed. prefix tells it from the same with other settings, and the digest
// from what the file said before.
func (f *File) cell(prefix string, seed uint64) suite.Cell {
	name := fmt.Sprintf("%sseed=%d file=%08x", prefix, seed, f.digest)
	do := func(ctx context.Context, env suite.Env) (suite.Outcome, error) {
		s, groups := f.Scenario(seed)
		out := suite.Outcome{Cell: name, Parameters: s.Parameters()}
		r, err := env.Drive(ctx, s)
		if err != nil {
			return out, fmt.Errorf("%s: %w", name, err)
		}
		out.Take(r)
		out.Numbers, out.Series = f.numbers(r, groups), f.series(r, groups)
		return out, nil
	}
	return suite.Cell{Name: name, Run: do}
}

// Experiment is the file as one, over seeds.
func (f *File) Experiment() suite.Experiment {
	title := f.Title
	if title == "" {
		title = f.Name
	}
	return suite.Experiment{ID: f.Name, Title: title, Seeds: 1,
		Modes: []suite.Mode{suite.Virtual, suite.Real},
		Cells: func(o suite.Options) (cells []suite.Cell) {
			o.Each(func(seed uint64) { cells = append(cells, f.cell("", seed)) })
			return cells
		},
		Judge: f.judge}
}

// judge holds what is expected against the mean over the seeds, and draws what the first seed was
// like.
func (f *File) judge(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	for _, e := range f.Expect {
		c := suite.Claim{Text: e.What, Rule: e.rule()}
		if v := valueOf(e.What, found); v != nil {
			c.Ours, c.Interval = v.Mean, v.Interval
			c.Holds = (e.Min == nil || c.Ours >= *e.Min) && (e.Max == nil || c.Ours <= *e.Max)
		} else {
			c.Text = f.unknown(e.What, found[0].Numbers)
		}
		v.Claims = append(v.Claims, c)
	}
	v.Tables, v.Figures = []suite.Table{f.table(found)}, f.figures(found[0])
	return v
}

// unknown says that there is no number of a name, and which there are.
func (f *File) unknown(name string, numbers map[string]float64) string {
	return name + ": there is no such number; there are " + strings.Join(f.names(numbers), ", ")
}

// table is every number, as the mean over the seeds.
func (f *File) table(found []suite.Outcome) suite.Table {
	t := suite.Table{Title: fmt.Sprintf("Numbers of %s, %d seeds", f.Name, len(found)),
		Columns: []string{"what", "mean", "95 % +-"}}
	if len(found) == 1 {
		t.Title, t.Columns = "Numbers of "+f.Name, t.Columns[:2]
	}
	for _, name := range f.names(found[0].Numbers) {
		v := valueOf(name, found)
		if v == nil {
			continue
		}
		row := []string{name, number(v.Mean)}
		if len(found) > 1 {
			row = append(row, number((v.Interval[1]-v.Interval[0])/2))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// number prints five significant digits.
func number(x float64) string { return strconv.FormatFloat(x, 'g', 5, 64) }

func (e *Expect) rule() (text string) {
	switch {
	case e.Min == nil:
		return fmt.Sprintf("at most %v", *e.Max)
	case e.Max == nil:
		return fmt.Sprintf("at least %v", *e.Min)
	}
	return fmt.Sprintf("%v to %v", *e.Min, *e.Max)
}
