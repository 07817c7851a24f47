package suite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rocelab/rocelab/deploy/result"
)

// fake is an experiment of three points and as many seeds as asked for. It remembers what ran.
type fake struct {
	mu  sync.Mutex
	ran []string
	run func(name string) (Outcome, error) // instead of its own, if set
}

func (f *fake) experiment(id string) Experiment {
	return Experiment{
		ID: id, Paper: Paper{Key: "FAKE", Title: "A. Nobody: Of nothing. 2026"},
		Where: "figure 1", Title: "Nothing is measured.", Modes: []Mode{Virtual}, Seeds: 2,
		Cells: func(o Options) (cells []Cell) {
			o.Each(func(seed uint64) {
				for point := range 3 {
					name := fmt.Sprintf("point=%d seed=%d", point, seed)
					cells = append(cells, Cell{Name: name, Run: f.cell(name, point, seed)})
				}
			})
			return cells
		},
		Judge: func(_ Options, found []Outcome) Verdict {
			var values []float64
			for _, o := range found {
				values = append(values, o.Numbers["value"])
			}
			mean, ci := Interval(values)
			return Verdict{Claims: []Claim{{Text: "The mean is below 10.", Paper: "3", Ours: mean,
				Interval: ci, Rule: "mean < 10", Holds: mean < 10}}}
		},
	}
}

func (f *fake) cell(name string, point int, seed uint64,
) func(context.Context, Env) (Outcome, error) {
	return func(_ context.Context, env Env) (Outcome, error) {
		env.Tell(1, 2)
		f.mu.Lock()
		f.ran = append(f.ran, name)
		f.mu.Unlock()
		if f.run != nil {
			return f.run(name)
		}
		return Outcome{Numbers: map[string]float64{"value": float64(point) + float64(seed)},
			Parameters: []result.Line{{Name: "point", Value: fmt.Sprint(point)}},
			Hash:       fmt.Sprintf("%d-%d", point, seed)}, nil
	}
}

func (f *fake) names() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := slices.Sorted(slices.Values(f.ran))
	f.ran = nil
	return names
}

func run(t *testing.T, s *Suite) []*Record {
	t.Helper()
	if s.Options.Mode == "" {
		s.Options.Mode = Virtual
	}
	records, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func TestRunJudgesWhatCellsFound(t *testing.T) {
	var f fake
	var told bytes.Buffer
	records := run(t, &Suite{Experiments: []Experiment{f.experiment("one"), f.experiment("two")},
		Progress: &Progress{Out: &told}})
	if len(records) != 2 || records[0].ID != "one" || records[1].ID != "two" {
		t.Fatalf("records %v", records)
	}
	r := records[0]
	// Three points 0, 1, 2 plus seeds 1 and 2.
	if c := r.Claims[0]; c.Ours != 2.5 || c.Interval == nil || !c.Holds || !r.Holds() {
		t.Errorf("claim %+v", c)
	}
	if !slices.Equal(r.Seeds, []uint64{1, 2}) || r.Cells != 6 || len(r.Hash) != 32 {
		t.Errorf("record %+v", r)
	}
	if want := []result.Line{{Name: "point", Value: "0, 1, 2"}}; !slices.Equal(r.Parameters,
		want) {
		t.Errorf("parameters %v", r.Parameters)
	}
	if lines := strings.Count(told.String(), "\n"); lines != 12 ||
		!strings.Contains(told.String(), "[12/12] ") ||
		strings.Count(told.String(), ", about 0:00 left\n") != 11 {
		t.Errorf("told:\n%s", told.String())
	}
	if len(f.names()) != 12 {
		t.Error("not every cell ran once")
	}
}

// What is judged of a run on real frames counts only with its certificate.
func TestInvalidRunsHoldNothing(t *testing.T) {
	f := fake{run: func(name string) (Outcome, error) {
		return Outcome{Numbers: map[string]float64{"value": 1}, Certificate: &result.Certificate{
			Valid: name != "point=1 seed=2"}}, nil
	}}
	r := run(t, &Suite{Experiments: []Experiment{f.experiment("one")}})[0]
	if len(r.Claims) != 2 || !r.Claims[0].Holds || r.Claims[1].Holds || r.Claims[1].Ours != 1 ||
		r.Holds() {
		t.Errorf("%+v", r.Claims)
	}
	f.run = func(string) (Outcome, error) {
		return Outcome{Numbers: map[string]float64{"value": 1},
			Certificate: &result.Certificate{Valid: true}}, nil
	}
	if r := run(t, &Suite{Experiments: []Experiment{f.experiment("one")}})[0]; !r.Holds() {
		t.Errorf("all are VALID: %+v", r.Claims)
	}
	f.run = func(name string) (Outcome, error) {
		o := Outcome{Numbers: map[string]float64{"value": 1}}
		if name == "point=1 seed=2" {
			o.Violations = 3
		}
		return o, nil
	}
	r = run(t, &Suite{Experiments: []Experiment{f.experiment("one")}})[0]
	if len(r.Claims) != 2 || r.Claims[1].Ours != 3 || r.Holds() {
		t.Errorf("a lossless class has lost frames: %+v", r.Claims)
	}
}

func TestSeedsAndShort(t *testing.T) {
	var f fake
	for want, o := range map[string]Options{
		"[1]": {Short: true}, "[1 2]": {}, "[7 8 9]": {Seed: 7, Seeds: 3},
		"[1 2 3 4]": {Short: true, Seeds: 4}, "[2]": {Mode: Real, Seed: 2},
		"[3 4]": {Mode: Real, Seed: 3, Seeds: 2},
	} {
		e := f.experiment("one")
		e.Modes, e.RealSeeds = []Mode{Virtual, Real}, 1
		r := run(t, &Suite{Experiments: []Experiment{e}, Options: o})[0]
		if got := fmt.Sprint(r.Seeds); got != want {
			t.Errorf("%+v: seeds %s, want %s", o, got, want)
		}
	}
}

// TestOrder: the record does not hang on which cell ended first.
func TestOrder(t *testing.T) {
	var f fake
	var alone, crowd *Record
	for _, c := range []struct {
		jobs int
		to   **Record
	}{{1, &alone}, {8, &crowd}} {
		r := run(t, &Suite{Experiments: []Experiment{f.experiment("one")}, Jobs: c.jobs})[0]
		r.CPUSeconds, r.RealSeconds = 0, 0
		*c.to = r
	}
	if !reflect.DeepEqual(alone, crowd) {
		t.Errorf("%+v alone, %+v with eight jobs", alone, crowd)
	}
}

// TestHash: it is of what the cells say happened, or else of what they found.
func TestHash(t *testing.T) {
	hashes := map[string]string{}
	for name, o := range map[string]Outcome{"a hash": {Hash: "x"}, "another": {Hash: "y"},
		"a number": {Numbers: map[string]float64{"n": 1}},
		"2":        {Numbers: map[string]float64{"n": 2}}} {
		f := fake{run: func(string) (Outcome, error) { return o, nil }}
		h := run(t, &Suite{Experiments: []Experiment{f.experiment("one")}})[0].Hash
		if other, ok := hashes[h]; ok {
			t.Errorf("%s and %s have the same hash", name, other)
		}
		hashes[h] = name
	}
}

// TestRealCellsRunAlone: a lab on real frames needs the machine for itself.
func TestRealCellsRunAlone(t *testing.T) {
	var mu sync.Mutex
	at, most := 0, 0
	f := fake{run: func(string) (Outcome, error) {
		mu.Lock()
		at++
		most = max(most, at)
		mu.Unlock()
		mu.Lock()
		defer mu.Unlock()
		at--
		return Outcome{}, nil
	}}
	e := f.experiment("one")
	e.Modes = []Mode{Real}
	r := run(t, &Suite{Experiments: []Experiment{e}, Jobs: 8, Dilation: 100,
		Options: Options{Mode: Real}})[0]
	if most != 1 || r.Dilation != 100 || r.Mode != Real {
		t.Errorf("%d cells at once, record %+v", most, r)
	}
	if want := "rocelab run one --real --seed 1 --seeds 2 --dilation 100"; r.Command() != want {
		t.Errorf("command %q", r.Command())
	}
}

func TestResume(t *testing.T) {
	dir := t.TempDir()
	var f fake
	suite := func(change func(*Suite)) *Record {
		s := &Suite{Experiments: []Experiment{f.experiment("one")}, Dir: dir}
		change(s)
		return run(t, s)[0]
	}
	first := suite(func(*Suite) {})
	if n := len(f.names()); n != 6 {
		t.Fatalf("%d cells ran", n)
	}
	again := suite(func(*Suite) {})
	if names := f.names(); len(names) > 0 {
		t.Errorf("cells ran again: %v", names)
	}
	if !reflect.DeepEqual(again, first) {
		t.Errorf("from the folder it is %+v, was %+v", again, first)
	}
	suite(func(s *Suite) { s.Options.Seeds = 3 })
	if names := f.names(); len(names) != 3 || names[0] != "point=0 seed=3" {
		t.Errorf("for a third seed: %v", names)
	}
	for name, change := range map[string]func(*Suite){
		"fresh":      func(s *Suite) { s.Fresh = true },
		"short":      func(s *Suite) { s.Options.Short, s.Options.Seeds = true, 2 },
		"first seed": func(s *Suite) { s.Options.Seed = 2 },
	} {
		suite(change)
		if n := len(f.names()); n != 6 {
			t.Errorf("%s: %d cells ran, want all", name, n)
		}
	}
	// A file that is half a file, or another cell's, is no result.
	suite(func(*Suite) {})
	f.names()
	file := filepath.Join(dir, "cells", "one", "point=1_seed=2-virtual.json")
	for _, text := range []string{"{", `{"key":{"cell":"other"}}`} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		suite(func(*Suite) {})
		if names := f.names(); len(names) != 1 || names[0] != "point=1 seed=2" {
			t.Errorf("with a broken file: %v", names)
		}
	}
}

// TestFailure: what fails is told with its cell, and stops nothing else.
func TestFailure(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(string) (Outcome, error)
		want []string
	}{
		"error": {func(string) (Outcome, error) { return Outcome{}, errors.New("no wire") },
			[]string{"point=0 seed=1: no wire"}},
		"panic": {func(string) (Outcome, error) { panic("a broken invariant") },
			[]string{"point=0 seed=1: ", "a broken invariant", "run_test.go"}},
		"NaN": {func(string) (Outcome, error) {
			return Outcome{Numbers: map[string]float64{"rate": math.NaN()}}, nil
		}, []string{"point=0 seed=1: ", `"rate" is NaN`}},
		"ragged": {func(string) (Outcome, error) {
			return Outcome{Series: map[string]Series{"q": {X: []float64{1}}}}, nil
		}, []string{"point=0 seed=1: ", `series "q": 1 values of x and 0 of y`}},
	} {
		dir := t.TempDir()
		var good, bad fake
		bad.run = func(cell string) (Outcome, error) {
			if cell == "point=0 seed=1" {
				return c.run(cell)
			}
			return Outcome{}, nil
		}
		s := &Suite{Experiments: []Experiment{bad.experiment("bad"), good.experiment("good")},
			Dir: dir, Progress: &Progress{Out: new(bytes.Buffer)}}
		records := run(t, s)
		if len(records[0].Errors) != 1 || records[0].Holds() || len(records[0].Claims) != 0 {
			t.Fatalf("%s: record %+v", name, records[0])
		}
		for _, want := range c.want {
			if !strings.Contains(records[0].Errors[0], want) {
				t.Errorf("%s: %q lacks %q", name, records[0].Errors[0], want)
			}
		}
		if !records[1].Holds() {
			t.Errorf("%s: the other experiment: %+v", name, records[1])
		}
		bad.names()
		run(t, anew(s))
		if names := bad.names(); len(names) != 1 {
			t.Errorf("%s: ran again: %v, want the failed cell alone", name, names)
		}
	}
}

// anew is the same suite for another run.
func anew(s *Suite) *Suite {
	return &Suite{Experiments: s.Experiments, Options: s.Options, Dir: s.Dir}
}

func TestJudgeFails(t *testing.T) {
	for want, judge := range map[string]func(Options, []Outcome) Verdict{
		"out of range": func(_ Options, found []Outcome) Verdict {
			return Verdict{Claims: make([]Claim, len(found[99].Cell))}
		},
		"neither a claim": func(Options, []Outcome) Verdict { return Verdict{} },
		`claim "c": our value is NaN`: func(Options, []Outcome) Verdict {
			return Verdict{Claims: []Claim{{Text: "c", Ours: math.NaN()}}}
		},
		`figure "f", curve "c": 1 values, 1 low ends, 0 high ends`: func(Options,
			[]Outcome) Verdict {
			one := []float64{1}
			return Verdict{Claims: []Claim{{}}, Figures: []Figure{{Title: "f", Curves: []Curve{
				{Name: "c", Series: Series{X: one, Y: one}, Low: one}}}}}
		},
	} {
		var f fake
		e := f.experiment("one")
		e.Judge = judge
		r := run(t, &Suite{Experiments: []Experiment{e}})[0]
		if len(r.Errors) != 1 || !strings.Contains(r.Errors[0], want) || len(r.Claims) != 0 {
			t.Errorf("%v, want %q", r.Errors, want)
		}
	}
}

func TestPlanFails(t *testing.T) {
	for want, cells := range map[string]func(Options) []Cell{
		"no cell": func(Options) []Cell { return nil },
		"same name for files": func(Options) []Cell {
			return []Cell{{Name: "a b"}, {Name: "a_b"}}
		},
		"list its cells: panic: never": func(Options) []Cell { panic("never") },
	} {
		var f fake
		e := f.experiment("one")
		e.Cells = cells
		r := run(t, &Suite{Experiments: []Experiment{e, f.experiment("two")}})
		if len(r[0].Errors) != 1 || !strings.Contains(r[0].Errors[0], want) || !r[1].Holds() {
			t.Errorf("%+v, want %q", r[0], want)
		}
	}
	var f fake
	r := run(t, &Suite{Experiments: []Experiment{f.experiment("one")},
		Options: Options{Mode: Real}})[0]
	if len(r.Errors) != 1 || !strings.Contains(r.Errors[0], "does not run in mode real") {
		t.Errorf("errors %v", r.Errors)
	}
}

var errStop = errors.New("stopped by hand")

// TestInterrupt: what was finished stays, and the next run goes on from there.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	var f fake
	ran := 0
	f.run = func(string) (Outcome, error) {
		if ran++; ran == 8 {
			cancel(errStop)
			return Outcome{}, ctx.Err()
		}
		return Outcome{Hash: "x"}, nil
	}
	s := &Suite{Experiments: []Experiment{f.experiment("one"), f.experiment("two")}, Dir: dir,
		Jobs: 1, Options: Options{Mode: Virtual}, Progress: &Progress{Out: new(bytes.Buffer)}}
	records, err := s.Run(ctx)
	if !errors.Is(err, errStop) || len(records) != 1 || records[0].ID != "one" {
		t.Fatalf("%v, records %v", err, records)
	}
	// Another experiment is interrupted before anything is done.
	other := &Suite{Experiments: []Experiment{f.experiment("three")}, Dir: dir,
		Options: Options{Mode: Virtual}}
	if _, err := other.Run(ctx); !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	left := []Unfinished{{ID: "two", Mode: Virtual, Cells: 1, Of: 6},
		{ID: "three", Mode: Virtual, Cells: 0, Of: 6}}
	kept, err := LoadUnfinished(dir)
	if err != nil || !slices.Equal(kept, left) || !slices.Equal(s.Unfinished(), left[:1]) {
		t.Errorf("unfinished %v, kept %v, %v", s.Unfinished(), kept, err)
	}
	f.names()
	f.run = nil
	again := anew(s)
	if records := run(t, again); len(records) != 2 || !records[1].Holds() {
		t.Errorf("afterwards: %+v", records)
	}
	kept, err = LoadUnfinished(dir)
	if err != nil || !slices.Equal(kept, left[1:]) || len(again.Unfinished()) != 0 {
		t.Errorf("afterwards unfinished %v, kept %v, %v", again.Unfinished(), kept, err)
	}
	if names := f.names(); len(names) != 5 {
		t.Errorf("after the interrupt ran %v", names)
	}
	run(t, anew(other))
	if kept, err := LoadUnfinished(dir); err != nil || kept != nil {
		t.Errorf("at last %v, %v", kept, err)
	}
}

func TestSystemFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cells"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var f fake
	s := &Suite{Experiments: []Experiment{f.experiment("one")}, Dir: dir, Jobs: 1,
		Options: Options{Mode: Virtual}}
	if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "cells") {
		t.Errorf("error %v does not name the folder", err)
	}
	if n := len(f.names()); n != 1 {
		t.Errorf("%d cells ran although nothing can be kept", n)
	}
}

// TestLongestFirst: by the times of an earlier run, whatever its version.
func TestLongestFirst(t *testing.T) {
	dir := t.TempDir()
	for point, seconds := range []float64{5, 60, 20} {
		f := finished{Key: key{Version: "old", Experiment: "one", Mode: Virtual,
			Cell: fmt.Sprintf("point=%d seed=1", point)}, RealSeconds: seconds}
		if err := f.save(dir); err != nil {
			t.Fatal(err)
		}
	}
	var f fake
	run(t, &Suite{Experiments: []Experiment{f.experiment("one")}, Dir: dir, Jobs: 1})
	want := []string{"point=1 seed=1", "point=2 seed=1", "point=0 seed=1", "point=0 seed=2",
		"point=1 seed=2", "point=2 seed=2"}
	if !slices.Equal(f.ran, want) {
		t.Errorf("ran %v", f.ran)
	}
}
