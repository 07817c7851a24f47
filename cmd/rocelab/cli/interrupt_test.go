package cli

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rocelab/rocelab/deploy/suite"
)

// holdEnv makes this test program a rocelab with the experiments of held: it names a file that
// keeps a cell from ending.
const holdEnv = "ROCELAB_TEST_HOLD"

func TestMain(m *testing.M) {
	if file := os.Getenv(holdEnv); file != "" {
		os.Exit(start(os.Args[1:], func() []suite.Experiment { return held(file) }))
	}
	os.Exit(m.Run())
}

// deaf in that file has the cell not end when it is asked to, either.
const deaf = "deaf"

// held are an experiment of one cell, and one of three, of which the second does not end by itself
// while the file is there.
func held(file string) []suite.Experiment {
	quick, slow := fakes()[0], fakes()[0]
	slow.ID = "fake-slow"
	cell := slow.Cells(suite.Options{})[0]
	slow.Cells = func(suite.Options) []suite.Cell {
		a, b, c := cell, cell, cell
		a.Name, b.Name, c.Name = "a", "b", "c"
		b.Run = func(ctx context.Context, env suite.Env) (suite.Outcome, error) {
			if text, err := os.ReadFile(file); err == nil {
				<-ctx.Done()
				if string(text) == deaf {
					select {}
				}
			}
			return cell.Run(ctx, env)
		}
		return []suite.Cell{a, b, c}
	}
	return []suite.Experiment{quick, slow}
}

// runHeld is `rocelab run all` as a process of its own. It gets a signal when it has shown the text
// that the signal is for, and its exit code and screen are returned.
func runHeld(t *testing.T, hold, dir string, at map[string]os.Signal) (code int, screen string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, os.Args[0], "run", "all", "--jobs", "1", "--out", dir)
	c.Env = append(os.Environ(), holdEnv+"="+hold)
	var out strings.Builder
	c.Stdout = &out
	errs, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var progress strings.Builder
	for lines := bufio.NewScanner(errs); lines.Scan(); {
		progress.WriteString(lines.Text() + "\n")
		for text, sig := range at {
			if !strings.Contains(lines.Text(), text) {
				continue
			}
			if err := c.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = c.Wait() // the exit code says it
	return c.ProcessState.ExitCode(), out.String() + progress.String()
}

// contains complains unless a text has all of want and nothing of not.
func contains(t *testing.T, what, text string, want, not []string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s: no %q in\n%s", what, w, text)
		}
	}
	for _, n := range not {
		if strings.Contains(text, n) {
			t.Errorf("%s: %q in\n%s", what, n, text)
		}
	}
}

// An interrupted run leaves the report of what is finished, which says what is not, and the same
// command goes on.
func TestInterruptedRunReportsAndGoesOn(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			dir, hold := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "hold")
			read := func(name string) string {
				t.Helper()
				text, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Error(err)
				}
				return string(text)
			}
			if err := os.WriteFile(hold, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			left := []string{"fake-slow (virtual): 1 of 3 cells"}
			code, screen := runHeld(t, hold, dir,
				map[string]os.Signal{"[2/4] fake-slow a: ": sig})
			if code != exitInterrupted {
				t.Errorf("exit code %d", code)
			}
			contains(t, "screen", screen, append(left, "fake-good (FAKE figure 1, virtual)",
				"1 of 1 claims hold", "report   "+dir, "the same command goes on"), nil)
			contains(t, "page", read("report.html"), append(left, "interrupted", "It is one."), nil)
			contains(t, "record", read("fake-good-virtual.json"), []string{`"holds": true`}, nil)
			if _, err := os.Stat(filepath.Join(dir, "fake-slow-virtual.json")); err == nil {
				t.Error("an experiment is judged that has cells left")
			}
			markdown := filepath.Join(dir, "claims.md")
			if code, out := typed(t.Context(), "report", dir, "--markdown", markdown); code != 0 {
				t.Errorf("report: exit code %d\n%s", code, out)
			}
			contains(t, "page by report", read("report.html"), left, nil)
			contains(t, "Markdown", read("claims.md"), left, nil)

			if err := os.Remove(hold); err != nil {
				t.Fatal(err)
			}
			code, screen = runHeld(t, hold, dir, nil)
			if code != 0 {
				t.Errorf("the same command: exit code %d", code)
			}
			contains(t, "screen of the same command", screen,
				[]string{"[2/2] ", "2 of 2 claims hold"}, []string{"fake-slow a:", "cells"})
			contains(t, "page of the same command", read("report.html"),
				[]string{"fake-slow"}, []string{"interrupted"})
		})
	}
}

// A second Ctrl-C ends it, whatever it is waiting for, also after a SIGTERM.
func TestInterruptedAgainEndsAtOnce(t *testing.T) {
	dir, hold := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "hold")
	if err := os.WriteFile(hold, []byte(deaf), 0o600); err != nil {
		t.Fatal(err)
	}
	code, screen := runHeld(t, hold, dir, map[string]os.Signal{
		"[2/4] fake-slow a: ":      syscall.SIGTERM,
		"interrupted: cleaning up": os.Interrupt})
	if code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	contains(t, "screen", screen, []string{"interrupted again: ending at once"},
		[]string{"the same command goes on"})
	// What was finished is kept all the same.
	if err := os.Remove(hold); err != nil {
		t.Fatal(err)
	}
	code, screen = runHeld(t, hold, dir, nil)
	if code != 0 {
		t.Errorf("the same command: exit code %d", code)
	}
	contains(t, "screen of the same command", screen, []string{"[2/2] "}, []string{"fake-slow a:"})
}
