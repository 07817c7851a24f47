package suite

import (
	"cmp"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/rocelab/rocelab/deploy/result"
)

// trial is an experiment while it is being run.
type trial struct {
	*Experiment
	index   int
	options Options
	cells   []*finished
	missing int      // cells without an outcome, failed ones not counted
	errors  []string // of cells, and of the experiment itself
}

// plan lists what must be run, and takes over what need not. Cells that took longest in an earlier
// run come first, so that none of them runs on alone at the end; what is not known keeps its order
// behind them.
func (s *Suite) plan() (trials []*trial) {
	for i := range s.Experiments {
		t := &trial{Experiment: &s.Experiments[i], index: i, options: s.Options}
		t.options.Seed = max(1, t.options.Seed)
		if t.options.Seeds == 0 {
			t.options.Seeds = t.seeds(t.options)
		}
		trials = append(trials, t)
		jobs, err := s.jobsOf(t)
		if err != nil {
			t.errors = append(t.errors, err.Error())
			continue
		}
		for _, j := range jobs {
			s.Progress.expect(j)
		}
		s.waiting = append(s.waiting, jobs...)
		t.missing = len(jobs)
	}
	slices.SortStableFunc(s.waiting, func(a, b *job) int {
		return cmp.Compare(b.seconds(), a.seconds())
	})
	return trials
}

func (j *job) seconds() float64 {
	if j.before == nil {
		return 0
	}
	return j.before.RealSeconds
}

// jobsOf lists an experiment's cells that must be run.
func (s *Suite) jobsOf(t *trial) (jobs []*job, err error) {
	if !slices.Contains(t.Modes, s.Options.Mode) {
		return nil, fmt.Errorf("it does not run in mode %s", s.Options.Mode)
	}
	defer func() {
		if p := recover(); p != nil {
			jobs, err = nil, panicked("list its cells", p)
		}
	}()
	cells := t.Cells(t.options)
	if len(cells) == 0 {
		return nil, fmt.Errorf("it has no cell")
	}
	t.cells = make([]*finished, len(cells))
	seen := map[string]string{}
	for i, c := range cells {
		if other, ok := seen[fileName(c.Name)]; ok {
			return nil, fmt.Errorf("cells %q and %q have the same name for files", other, c.Name)
		}
		seen[fileName(c.Name)] = c.Name
		j := &job{of: t, index: i, run: c.Run, key: key{Version: codeVersion(),
			Experiment: t.ID, Cell: c.Name, Mode: s.Options.Mode, Seed: t.options.Seed,
			Short: s.Options.Short, Dilation: s.Dilation}}
		j.before = load(s.Dir, &j.key)
		if j.before != nil && j.before.Key == j.key && !s.Fresh {
			t.cells[i] = j.before
			continue
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// judge makes the record of an experiment.
func (t *trial) judge() *Record {
	r := newRecord(t.Experiment, t.options)
	r.Claims = []Claim{}
	if len(t.errors) == 0 {
		r.add(t.cells)
		if err := t.decide(r); err != nil {
			t.errors = append(t.errors, err.Error())
		}
	}
	slices.Sort(t.errors) // cells end in any order
	r.Errors = t.errors
	return r
}

func (t *trial) decide(r *Record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked("judge", p)
		}
	}()
	found := make([]Outcome, len(t.cells))
	for i, c := range t.cells {
		found[i] = c.Outcome
	}
	v := t.Judge(t.options, found)
	if err := v.check(); err != nil {
		return fmt.Errorf("judge: %w", err)
	}
	r.Verdict = v
	r.distrust(found)
	return nil
}

// distrust adds claims that do not hold if there are runs that tell nothing: on real frames those
// whose certificates are not VALID, in both modes those in which a lossless class was not one.
// Experiments in which a run is meant to be INVALID keep its certificate and its violations to
// themselves.
func (r *Record) distrust(found []Outcome) {
	invalid, lost := 0, uint64(0)
	for _, c := range r.Certificates {
		if !c.Certificate.Valid {
			invalid++
		}
	}
	for _, o := range found {
		lost += o.Violations
	}
	if invalid > 0 {
		r.Claims = append(r.Claims, Claim{Text: "The runs can be trusted.", Ours: float64(invalid),
			Unit: fmt.Sprintf("of %d runs INVALID", len(r.Certificates)),
			Rule: "every certificate is VALID"})
	}
	if lost > 0 {
		r.Claims = append(r.Claims, Claim{Text: "Lossless classes lose nothing.",
			Ours: float64(lost), Unit: "frames", Rule: "0 in all runs without injected faults"})
	}
}

// panicked makes an error of a panic, with where it was.
func panicked(what string, p any) error {
	return fmt.Errorf("%s: panic: %v\n%s", what, p, debug.Stack())
}

func (s *Suite) write(r *Record) error {
	return result.WriteJSON(filepath.Clean(r.fileIn(s.Dir)), r)
}
