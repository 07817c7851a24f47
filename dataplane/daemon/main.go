package daemon

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// Exit codes of the daemons.
const (
	exitOK          = 0
	exitUsage       = 2
	exitEnvironment = 3
)

// Program is what Main runs: a daemon by its name, sample configuration and body.
type Program struct {
	Name   string
	Sample string // commented configuration for -sample
	// Load reads a configuration file; run gets what it returns.
	Load func(path string) (Runner, error)
}

// Runner is a configured daemon.
type Runner interface {
	// Base is the common part of the configuration.
	Base() *Common
	// Serve runs the daemon until ctx ends.
	Serve(ctx context.Context, log *slog.Logger) error
}

// Main is the body of a daemon's main function. It returns the exit code.
func Main(p Program, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	config := flags.String("config", "", "configuration `file` (YAML)")
	check := flags.Bool("check", false, "judge the configuration and exit")
	sample := flags.Bool("sample", false, "print a commented configuration and exit")
	version := flags.Bool("version", false, "print the version and exit")
	if err := flags.Parse(args); err != nil {
		return exitUsage
	}
	switch {
	case *sample:
		fmt.Fprint(stdout, p.Sample)
		return exitOK
	case *version:
		fmt.Fprintln(stdout, p.Name, Version())
		return exitOK
	case *config == "" || flags.NArg() > 0:
		fmt.Fprintf(stderr, "usage: %s -config FILE | -sample | -version\n", p.Name)
		return exitUsage
	}
	runner, err := p.Load(*config)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitUsage
	}
	if *check {
		return exitOK
	}
	// SIGINT and SIGTERM end the daemon in order; a second one ends it at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	log := NewLog(stderr, runner.Base())
	if err := runner.Serve(ctx, log); err != nil {
		log.Error("ended", "error", err)
		return exitEnvironment
	}
	return exitOK
}

// Module is the path of this module.
const Module = "github.com/rocelab/rocelab"

// Version is the main module's version as the build recorded it, with the commit if there is one.
func Version() string {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range b.Settings {
		if s.Key == "vcs.revision" {
			return b.Main.Version + " " + s.Value[:min(12, len(s.Value))]
		}
	}
	return b.Main.Version
}
