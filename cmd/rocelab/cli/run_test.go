package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/deploy/suite"
)

// fakes are an experiment whose claim holds, one whose does not, and one that fails.
func fakes() []suite.Experiment {
	one := func(id string, value float64, err error) suite.Experiment {
		return suite.Experiment{ID: id, Paper: suite.Paper{Key: "FAKE", Title: "Nobody"},
			Where: "figure 1", Title: "Nothing.", Modes: []suite.Mode{suite.Virtual}, Seeds: 1,
			Cells: func(suite.Options) []suite.Cell {
				return []suite.Cell{{Name: "c", Run: func(ctx context.Context,
					_ suite.Env) (suite.Outcome, error) {
					numbers := map[string]float64{"value": value}
					return suite.Outcome{Numbers: numbers}, errors.Join(err, context.Cause(ctx))
				}}}
			},
			Judge: func(_ suite.Options, found []suite.Outcome) suite.Verdict {
				v := found[0].Numbers["value"]
				return suite.Verdict{Claims: []suite.Claim{{Text: "It is one.", Paper: "1",
					Ours: v, Rule: "= 1", Holds: v == 1}}}
			}}
	}
	return []suite.Experiment{one("fake-good", 1, nil), one("fake-other", 2, nil),
		one("fake-broken", 0, errors.New("no wire"))}
}

// typed runs a command as main does, and returns its exit code and what it printed.
func typed(ctx context.Context, args ...string) (code int, out string) {
	usage := true
	root := &cobra.Command{SilenceErrors: true, SilenceUsage: true,
		PersistentPreRun: func(*cobra.Command, []string) { usage = false }}
	root.AddCommand(listCommand(fakes), runCommand(fakes), reportCommand(), sweepCommand())
	var b bytes.Buffer
	root.SetOut(&b)
	root.SetErr(&b)
	root.SetArgs(args)
	return exitCode(root.ExecuteContext(ctx), usage), b.String()
}

func TestRunExitCode(t *testing.T) {
	for _, c := range []struct {
		args string
		want int
	}{
		{"run fake-good", 0}, {"run fake-good --short --seeds 3 --seed 4 --jobs 1", 0},
		{"run fake-other", 3}, {"run fake-good fake-other", 3}, {"run fake-*", 1}, {"run all", 1},
		{"run fake-godo", 1}, {"run fake-good --real", 1}, {"run mine.yaml", 1},
		{"run", 2}, {"run fake-good --seed 0", 2}, {"run fake-good --jobs -1", 2},
		{"run fake-good --dilation 10", 2}, {"run fake-good --virtual --real", 2},
		{"run fake-good --nonsense", 2}, {"report", 2},
		{"sweep mine.yaml a=1", 1}, {"sweep mine.yaml a", 2}, {"sweep mine.yaml", 2},
	} {
		if got, out := typed(t.Context(), strings.Fields(c.args)...); got != c.want {
			t.Errorf("%s: exit code %d, want %d\n%s", c.args, got, c.want, out)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	if got, out := typed(ctx, "run", "all", "--out", t.TempDir()); got != exitInterrupted ||
		!strings.Contains(out, "the same command goes on") {
		t.Errorf("interrupted: exit code %d\n%s", got, out)
	}
	if got, out := typed(ctx, "run", "all", "--json"); got != exitInterrupted ||
		!strings.HasPrefix(out, "[]\n") {
		t.Errorf("interrupted with JSON: exit code %d\n%s", got, out)
	}
}

func TestRunTable(t *testing.T) {
	_, out := typed(t.Context(), "run", "fake-good", "fake-other")
	for _, want := range []string{"fake-other (FAKE figure 1, virtual)", "= 1                yes",
		"= 1                NO", "1 of 2 claims hold"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestRunKeepsWhatReportAndListRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	if code, out := typed(t.Context(), "run", "all", "--out", dir); code != exitFailed {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if code, out := typed(t.Context(), "report", dir); code != 0 {
		t.Errorf("report: exit code %d\n%s", code, out)
	}
	if code, _ := typed(t.Context(), "report", t.TempDir()); code != exitFailed {
		t.Errorf("report of nothing: exit code %d", code)
	}
	_, out := typed(t.Context(), "list", "--out", dir)
	for _, want := range []string{"fake-good    FAKE   figure 1  virtual  virtual: 1 of 1 hold",
		"virtual: 0 of 1 hold", "virtual: failed"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// What stands as in a document or another folder is no news, and what does not ends with 3.
func TestReportAgainst(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	if code, out := typed(t.Context(), "run", "all", "--out", dir); code != exitFailed {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	document := filepath.Join(t.TempDir(), "claims.md")
	if code, out := typed(t.Context(), "report", dir, "--markdown", document); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	other := document + ".other"
	turned := strings.Replace(string(text), "| **no** |", "| yes |", 1)
	if err := os.WriteFile(other, []byte(turned), 0o644); err != nil {
		t.Fatal(err)
	}
	for against, c := range map[string]struct {
		code int
		want string
	}{
		document:       {0, "2 claims stand as in " + document + ", 0 do not"},
		dir:            {0, "2 claims stand as in " + dir + ", 0 do not"},
		other:          {exitClaims, "1 claims stand as in " + other + ", 1 do not"},
		"/nonexistent": {exitFailed, ""}, "run_test.go": {exitFailed, ""},
		t.TempDir(): {exitFailed, ""},
	} {
		code, out := typed(t.Context(), "report", dir, "--against", against)
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("--against %s: exit code %d, want %d and %q\n%s", against, code, c.code,
				c.want, out)
		}
	}
}

func TestJSON(t *testing.T) {
	var found []suite.Record
	_, out := typed(t.Context(), "run", "fake-other", "--json")
	_, out, _ = strings.Cut(out, "\n") // the first line is progress
	if err := json.Unmarshal([]byte(out), &found); err != nil || len(found) != 1 ||
		found[0].Claims[0].Ours != 2 {
		t.Errorf("%v: %s", err, out)
	}
	var known []listed
	_, out = typed(t.Context(), "list", "--json")
	if err := json.Unmarshal([]byte(out), &known); err != nil || len(known) != 3 ||
		known[2].ID != "fake-broken" || len(known[2].States) != 0 {
		t.Errorf("%v: %s", err, out)
	}
}
