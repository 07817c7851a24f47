package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/report"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/deploy/workload"
)

// runOptions are the flags of 'rocelab run'.
type runOptions struct {
	virtual, real bool
	suite         suite.Suite
	asJSON        bool
}

// runCommand runs some of all experiments.
func runCommand(all func() []suite.Experiment) *cobra.Command {
	o := new(runOptions)
	c := &cobra.Command{
		Use:   "run ID...|all|FILE.yaml...",
		Short: "reproduce measurements of the papers, or run scenarios of your own",
		Long: `run reproduces measurements of the papers and prints for every claim the paper's
number, ours, and whether the claim holds. 'rocelab list' tells what there is; an ID may be a
pattern, as 'dcqcn-*', and all is everything that runs in the mode. A file is a scenario of your
own: docs/experiments.md says what can stand in it, deploy/scenarios has some to start from.

With --out the numbers, the report and every finished run are kept in a folder. An interrupt
leaves the report of what is finished, and tells what is not. The same command again goes on
there, and runs nothing twice that the same version has run.

It exits with 0 if every claim holds, 3 if one does not, 1 if something failed, 2 if it was
called wrongly, 130 if it was interrupted.`,
		Example: "  rocelab run dcqcn-thresholds\n" +
			"  rocelab run all --out experiments-out\n" +
			"  rocelab run 'qcn-*' --real --seeds 5",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, all(), args) },
	}
	o.flags(c)
	return c
}

// flags are those of everything that runs experiments.
func (o *runOptions) flags(c *cobra.Command) {
	s, f := &o.suite, c.Flags()
	f.BoolVar(&o.virtual, "virtual", false, "in virtual time (the default)")
	f.BoolVar(&o.real, "real", false, "on real frames over AF_XDP, one run at a time; needs root")
	f.Uint64Var(&s.Options.Seed, "seed", 1, "the first seed; at least 1")
	f.IntVar(&s.Options.Seeds, "seeds", 0, "number of `seeds`; 0: as many as each claim wants")
	f.BoolVar(&s.Options.Short, "short", false,
		"the least that tells whether a claim holds: fewer points, one seed")
	f.Float64Var(&s.Dilation, "dilation", 0,
		"of real frames: fixed dilation factor `k`, but for runs that show what a clock of their\n"+
			"own does; 0: as fast as the machine keeps up")
	f.IntVar(&s.Jobs, "jobs", 0, "`runs` side by side in virtual time; 0: one on each core")
	f.StringVarP(&s.Dir, "out", "o", "", "`folder` for numbers, report and finished runs")
	f.BoolVar(&s.Fresh, "fresh", false, "run also what the folder has already")
	f.BoolVarP(&o.asJSON, "json", "j", false, "print JSON")
}

func (o *runOptions) validate() error {
	s := &o.suite
	switch {
	case o.virtual && o.real:
		return errors.New("--virtual and --real: want one of them")
	case s.Options.Seed < 1:
		return fmt.Errorf("--seed %d: want at least 1", s.Options.Seed)
	case s.Options.Seeds < 0 || s.Jobs < 0:
		return errors.New("--seeds and --jobs must not be negative")
	case !(s.Dilation >= 0) || math.IsInf(s.Dilation, 1):
		return fmt.Errorf("--dilation %v: want a positive number, or 0", s.Dilation)
	case s.Dilation > 0 && !o.real:
		return errors.New("--dilation is of --real: virtual time knows none")
	}
	return nil
}

// mode is virtual time, unless real frames are asked for.
func (o *runOptions) mode() suite.Mode {
	if o.real {
		return suite.Real
	}
	return suite.Virtual
}

func (o *runOptions) run(c *cobra.Command, all []suite.Experiment, args []string) error {
	if err := o.validate(); err != nil {
		return usageError{err}
	}
	chosen, err := choose(all, o.mode(), args)
	if err != nil {
		return statusError{err, exitFailed}
	}
	return o.execute(c, chosen)
}

// execute runs experiments and says what they show.
func (o *runOptions) execute(c *cobra.Command, chosen []suite.Experiment) error {
	s := &o.suite
	s.Options.Mode = o.mode()
	if o.real {
		if err := lab.Preflight(); err != nil {
			return statusError{err, exitFailed}
		}
	}
	s.Experiments = chosen
	s.Progress = &suite.Progress{Out: c.ErrOrStderr(), Columns: columns(c.ErrOrStderr())}
	s.Log = slog.New(slog.NewTextHandler(s.Progress, &slog.HandlerOptions{Level: slog.LevelWarn}))
	records, err := s.Run(c.Context())
	if err != nil && !errors.Is(err, errInterrupted) {
		return statusError{err, exitFailed}
	}
	if err := o.print(c.OutOrStdout(), records); err != nil {
		return statusError{err, exitFailed}
	}
	if err != nil {
		printUnfinished(c.ErrOrStderr(), s)
		return err
	}
	return judge(records)
}

// printUnfinished says what an interrupt has left of a suite.
func printUnfinished(w io.Writer, s *suite.Suite) {
	fmt.Fprintln(w, "\nnot judged, because not every cell was run:")
	for _, u := range s.Unfinished() {
		fmt.Fprintln(w, " ", u)
	}
	if s.Dir != "" {
		fmt.Fprintf(w, "what is finished is in %s; the same command goes on\n", s.Dir)
	}
}

// choose returns the experiments that the arguments name: those of the papers by ID, and files.
func choose(all []suite.Experiment, m suite.Mode, args []string) (chosen []suite.Experiment,
	err error) {
	var ids []string
	for _, arg := range args {
		if !strings.HasSuffix(arg, ".yaml") {
			ids = append(ids, arg)
			continue
		}
		f, err := workload.Load(arg)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, f.Experiment())
	}
	if len(ids) == 0 {
		return chosen, nil
	}
	named, err := suite.Select(all, m, ids)
	return append(named, chosen...), err
}

// print tells what was found, and leaves the report beside the numbers.
func (o *runOptions) print(w io.Writer, records []*suite.Record) error {
	if o.asJSON {
		if err := writeJSON(w, append([]*suite.Record{}, records...)); err != nil {
			return err
		}
	} else if err := report.Claims(w, records); err != nil {
		return err
	}
	dir := o.suite.Dir
	if dir == "" {
		return nil
	}
	// The folder may hold what earlier runs found of other experiments, or in the other mode.
	kept, err := suite.Load(dir)
	if err != nil {
		return err
	}
	left, err := suite.LoadUnfinished(dir)
	if err != nil {
		return err
	}
	if err := report.WriteSuite(dir, kept, left); err != nil || o.asJSON {
		return err
	}
	fmt.Fprintf(w, "\nreport   %s\nnumbers  %s\n", filepath.Join(dir, report.ReportFile),
		filepath.Join(dir, "*.json"))
	return nil
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// errClaims ends a run that has worked and shows that something is not as the paper says.
var errClaims = errors.New("not every claim holds")

// judge makes the exit status of what was found.
func judge(records []*suite.Record) error {
	holds := true
	var failed []string
	for _, r := range records {
		if holds = holds && r.Holds(); len(r.Errors) > 0 {
			failed = append(failed, r.ID+": "+strings.Join(r.Errors, "\n"))
		}
	}
	switch {
	case len(failed) > 0:
		return statusError{errors.New(strings.Join(failed, "\n")), exitFailed}
	case !holds:
		return statusError{errClaims, exitClaims}
	}
	return nil
}

// columns is how wide a terminal is, or 0 if w is none.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return max(int(size.Col), 1)
}
