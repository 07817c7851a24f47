package suite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"
)

// Suite is experiments to be run in one mode.
type Suite struct {
	Experiments []Experiment
	Options     Options // Seeds 0: as many as each experiment wants
	Dilation    float64 // of Real: fixed k; 0 lets the machine choose
	Jobs        int     // cells side by side; 0: one on each core. Of mode Real it is always one
	// Dir keeps what was found: cells/ from which a later run goes on, and a record of each
	// experiment. Empty: nothing is kept.
	Dir   string
	Fresh bool // does not take over what Dir has
	Log   *slog.Logger
	// Progress is told how far it is; it may be nil.
	Progress *Progress

	mu      sync.Mutex // over the following, and what hangs on it
	waiting []*job
	records []*Record
	err     error // of the system: a file that cannot be written

	unfinished []Unfinished // when Run has ended
}

// job is a cell that must be run.
type job struct {
	of    *trial
	index int // of the cell
	key   key
	run   func(context.Context, Env) (Outcome, error)
	// before is the time that it took in an earlier run, of any version.
	before *finished
}

// Run runs all cells that are not known yet, judges every experiment whose cells are complete, and
// returns the records in the order of the experiments. A cell that fails stops no other. If ctx is
// done it returns early with the cause, and what was complete; Unfinished tells what was not.
func (s *Suite) Run(ctx context.Context) ([]*Record, error) {
	if s.Dir != "" {
		if err := os.MkdirAll(s.Dir, 0o755); err != nil {
			return nil, fmt.Errorf("make the folder of the results: %w", err)
		}
	}
	trials := s.plan()
	s.records = make([]*Record, len(trials))
	for _, t := range trials {
		if t.missing == 0 {
			s.close(t)
		}
	}
	jobs := s.jobs()
	s.Progress.start(len(s.waiting), jobs)
	var workers sync.WaitGroup
	for range jobs {
		workers.Go(func() {
			for j := s.next(ctx); j != nil; j = s.next(ctx) {
				s.do(ctx, j)
			}
		})
	}
	workers.Wait()
	s.Progress.stop()
	s.unfinished = s.unfinishedOf(trials)
	if s.Dir != "" {
		if err := s.keepUnfinished(trials); err != nil {
			s.fail(err)
		}
	}
	var done []*Record
	for _, r := range s.records {
		if r != nil {
			done = append(done, r)
		}
	}
	if s.err == nil && len(done) < len(trials) {
		return done, context.Cause(ctx)
	}
	return done, s.err
}

func (s *Suite) jobs() int {
	if s.Options.Mode == Real {
		return 1
	}
	if s.Jobs > 0 {
		return s.Jobs
	}
	return runtime.GOMAXPROCS(0)
}

// next takes a cell to run, or nil if there is none or it is over.
func (s *Suite) next(ctx context.Context) *job {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 || s.err != nil || ctx.Err() != nil {
		return nil
	}
	j := s.waiting[0]
	s.waiting = s.waiting[1:]
	return j
}

// do runs a cell, keeps what it found, and judges the experiment if it was the last.
func (s *Suite) do(ctx context.Context, j *job) {
	tell := s.Progress.begin(j)
	f, err := s.execute(ctx, j, tell)
	if err != nil && ctx.Err() != nil {
		s.Progress.end(j, nil, nil)
		return // it was interrupted, which says nothing of it
	}
	if err == nil && s.Dir != "" {
		if saved := f.save(s.Dir); saved != nil {
			s.fail(saved)
		}
	}
	s.Progress.end(j, f, err) // what is told to be finished is kept
	s.mu.Lock()
	t := j.of
	if t.missing--; err != nil {
		t.errors = append(t.errors, fmt.Sprintf("cell %s: %v", j.key.Cell, err))
	} else {
		t.cells[j.index] = f
	}
	last := t.missing == 0
	s.mu.Unlock()
	if last {
		s.close(t)
	}
}

// close judges an experiment and writes its record.
func (s *Suite) close(t *trial) {
	r := t.judge()
	r.Dilation = s.Dilation
	if s.Dir != "" {
		if err := s.write(r); err != nil {
			s.fail(err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[t.index] = r
}

func (s *Suite) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = errors.Join(s.err, err)
}
