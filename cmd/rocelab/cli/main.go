package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/papers"
	"github.com/rocelab/rocelab/deploy/suite"
)

// Exit codes.
const (
	exitFailed      = 1 // a check failed: a run is not valid
	exitUsage       = 2
	exitEnvironment = 3
	exitClaims      = 3 // of 'run': it worked, and a claim does not hold
	exitInterrupted = 130
)

// errInvalid ends a command whose work was done but whose result must not be trusted.
var errInvalid = errors.New("not every run is valid: see the certificates")

// errFound ends a command that looked for something bad and found it. It has said so, or was asked
// to be silent.
var errFound = errors.New("found")

// usageError is a mistake in the arguments, or in a file that they name.
type usageError struct{ error }

// statusError is an error with an exit code of its own.
type statusError struct {
	error
	code int
}

func (e statusError) Unwrap() error { return e.error }

var errInterrupted = errors.New("interrupted")

// Main is the body of a main function: it runs a command line and returns the exit code.
func Main(args []string) int { return start(args, papers.All) }

// start is Main with the experiments that there are.
func start(args []string, all func() []suite.Experiment) int {
	if len(args) > 0 {
		if d, ok := findDaemon(args[0]); ok {
			return d.run(args[1:])
		}
	}
	lab.UseDaemons(lab.ThisProgram)
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		sayInterrupted(os.Stderr, "interrupted: cleaning up")
		cancel(errInterrupted)
		// Who sends SIGTERM may send more of them for one; a second Ctrl-C is meant.
		for s := range signals {
			if s == os.Interrupt {
				break
			}
		}
		sayInterrupted(os.Stderr, "interrupted again: ending at once")
		endAtOnce()
	}()
	return run(ctx, args, all)
}

// abandonTime is how long what labs have in the kernel may take to go when all else is given up.
const abandonTime = 2 * time.Second

// endAtOnce ends the process, whatever it is waiting for, and leaves no lab behind if it can.
func endAtOnce() {
	abandoned := make(chan struct{})
	go func() {
		lab.Abandon()
		close(abandoned)
	}()
	select {
	case <-abandoned:
	case <-time.After(abandonTime):
	}
	os.Exit(exitInterrupted)
}

// sayInterrupted takes the place of a line that is being drawn, and of the ^C in it.
func sayInterrupted(w io.Writer, text string) {
	erase := ""
	if columns(w) > 0 {
		erase = "\r" + clearLine
	}
	fmt.Fprintln(w, erase+text)
}

// refuseUnknown has commands that only have others below them call an unknown one a mistake, as
// the root does. Left to itself, cobra prints their help and succeeds.
func refuseUnknown(c *cobra.Command) {
	if c.HasSubCommands() && !c.Runnable() {
		c.Args = cobra.NoArgs
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
}

func run(ctx context.Context, args []string, all func() []suite.Experiment) int {
	root := &cobra.Command{
		Use:           "rocelab",
		Short:         "a RoCEv2 fabric in software: lossless switches and RDMA NICs on AF_XDP",
		Version:       daemon.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(demoCommand(), topologyCommand(), upCommand(), downCommand(), doctorCommand(),
		faultCommand(), eventsCommand(), captureCommand(), showCommand(), clearCommand(),
		topCommand(), checkCommand(), thresholdsCommand(), configCommand(), nicCommand(),
		perfCommand(), pingCommand(), listCommand(all), runCommand(all), sweepCommand(),
		reportCommand())
	root.AddCommand(daemonCommands()...)
	for _, c := range root.Commands() {
		refuseUnknown(c)
	}
	cobra.EnablePrefixMatching = true
	root.SetArgs(spelled(args))
	usage := true
	root.PersistentPreRun = func(*cobra.Command, []string) { usage = false }
	return exitCode(root.ExecuteContext(ctx), usage)
}

// exitCode tells of an error, and makes the exit code of it. usage says that no command has begun.
func exitCode(err error, usage bool) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, errFound):
		return exitFailed
	}
	fmt.Fprintln(os.Stderr, "rocelab:", err)
	var status statusError
	switch {
	case errors.As(err, &status):
		return status.code
	case errors.Is(err, errInvalid):
		return exitFailed
	case usage, errors.As(err, new(usageError)):
		return exitUsage
	}
	return exitEnvironment
}

// spelled replaces SONiC's -nz, which would be two flags here.
func spelled(args []string) []string {
	args = slices.Clone(args)
	for i, a := range args {
		if a == "-nz" {
			args[i] = "--nonzero"
		}
	}
	return args
}
