package suite

import (
	"context"
	"log/slog"
	"time"
)

// Mode is what drives the machines of a run.
type Mode string

// The modes of a run.
const (
	Virtual Mode = "virtual" // in virtual time, in one process
	Real    Mode = "real"    // on real frames over AF_XDP, in dilated time; needs root
)

// Paper is where a measurement was published.
type Paper struct {
	Key   string // as in citations: "DCQCN"
	Title string // authors, title, place and year
}

// Experiment reproduces one measured result of a paper.
type Experiment struct {
	ID    string // "dcqcn-fairness"; unique
	Paper Paper
	Where string // in the paper: "figure 8"
	Title string // what is measured, in a sentence
	Modes []Mode // that it runs in, Virtual first
	Seeds int    // that the claims are judged over, unless others are asked for; 1 at least
	// RealSeeds is the same on real frames, where a run takes much longer; 0: as many.
	RealSeeds int
	// Shorter says what is less than in the paper and what follows from it, if anything is: the
	// time or the number of runs. Empty: as in the paper.
	Shorter string

	// Cells lists the runs that it is made of.
	Cells func(o Options) []Cell
	// Judge is told what all cells found, in their order. It must not fail: a claim that cannot be
	// judged does not hold. All its numbers are finite.
	Judge func(o Options, found []Outcome) Verdict
}

// seeds is how many there are if nobody asks for more or fewer.
func (e *Experiment) seeds(o Options) int {
	switch {
	case o.Short:
		return 1
	case o.Mode == Real && e.RealSeeds > 0:
		return e.RealSeeds
	}
	return e.Seeds
}

// Options are what a user may ask of any experiment.
type Options struct {
	Mode  Mode
	Seed  uint64 // the first; the others follow. At least 1
	Seeds int    // how many; the experiment's own number, unless the user says another
	// Short asks for the least that still tells whether a claim holds: fewer points, one seed. It
	// is the set that `make test` runs.
	Short bool
}

// Each calls fn with every seed that is asked for.
func (o Options) Each(fn func(seed uint64)) {
	for i := range uint64(max(o.Seeds, 1)) {
		fn(o.Seed + i)
	}
}

// Cell is one run.
type Cell struct {
	// Name is unique in its experiment and says which run it is: "senders=2 seed=1". By it an
	// interrupted suite finds again what it has, so whatever shapes the run is in it, but for the
	// mode, the first seed, Short and the dilation.
	Name string
	// Run does it. Of cells of Mode Real one runs at a time, of Virtual one on each core. It keeps
	// to its goroutine, and returns soon when ctx is done.
	Run func(ctx context.Context, env Env) (Outcome, error)
}

// Env is what a cell is given to run with.
type Env struct {
	Mode     Mode
	Dilation float64 // of Real: fixed k; 0 lets the machine choose
	Log      *slog.Logger
	// Progress may be called with how much of a run's virtual time has passed; it may be nil.
	Progress func(passed, of time.Duration)
}

// Tell reports progress to whoever wants it.
func (e Env) Tell(passed, of time.Duration) {
	if e.Progress != nil {
		e.Progress(passed, of)
	}
}
