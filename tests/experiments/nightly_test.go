package experiments

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// root is the repository, seen from here.
var root = filepath.Join("..", "..")

// What the nightly script makes of the exit codes of both runs and of the comparison, by a rocelab
// that does nothing else.
func TestNightlyStatus(t *testing.T) {
	const both = "run all --virtual --out O\nrun all --real --out O\n"
	const all = both + "report O --markdown O/papers.md --against D\n"
	for _, c := range []struct {
		virtual, real, report, want int
		calls                       string
	}{
		{0, 0, 0, 0, all}, {3, 3, 0, 0, all}, // claims that are known not to hold
		{3, 3, 3, 3, all}, // the comparison has found something
		{1, 0, 0, 1, all}, {0, 1, 0, 1, all}, {1, 3, 3, 3, all},
		{130, 0, 0, 130, "run all --virtual --out O\n"}, {0, 130, 0, 130, both},
	} {
		dir := t.TempDir()
		stub := filepath.Join(dir, "rocelab")
		text := fmt.Sprintf(`#!/bin/sh
echo "$@" >>%s/calls
case "$*" in *--virtual*) exit %d;; *--real*) exit %d;; *) exit %d;; esac
`, dir, c.virtual, c.real, c.report)
		if err := os.WriteFile(stub, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), filepath.Join(root, "deploy", "nightly.sh"), stub,
			"O", "D")
		out, err := cmd.CombinedOutput()
		if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
			t.Fatalf("%v\n%s", err, out)
		}
		calls, err := os.ReadFile(filepath.Join(dir, "calls"))
		if cmd.ProcessState.ExitCode() != c.want || err != nil || string(calls) != c.calls {
			t.Errorf("%+v: exit code %d, %v, calls\n%s", c, cmd.ProcessState.ExitCode(), err, calls)
		}
	}
}

// workflow is what we look at of a GitHub workflow.
type workflow struct {
	On   map[string]any `yaml:"on"`
	Jobs map[string]struct {
		Container struct{ Options string }
		Steps     []struct{ Run, Uses, If string }
	}
}

var makeTarget = regexp.MustCompile(`^make ([a-z-]+)`)

// The workflows run what there is, with the rights that it needs.
func TestWorkflows(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]struct {
		on, run string
	}{"ci.yml": {"push", ".ci/run"}, "nightly.yml": {"schedule", "make nightly OUT=nightly-out"}} {
		text, err := os.ReadFile(filepath.Join(root, ".github", "workflows", file))
		if err != nil {
			t.Fatal(err)
		}
		var w workflow
		if err := yaml.Unmarshal(text, &w); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		_, byHand := w.On["workflow_dispatch"]
		if _, on := w.On[want.on]; !on || !byHand || len(w.Jobs) != 1 {
			t.Errorf("%s: on %v, %d jobs", file, w.On, len(w.Jobs))
		}
		ran, kept := false, false
		for name, job := range w.Jobs {
			if !strings.Contains(job.Container.Options, "--privileged") {
				t.Errorf("%s: job %s: has not the rights of root", file, name)
			}
			for _, step := range job.Steps {
				ran = ran || step.Run == want.run
				kept = kept || strings.HasPrefix(step.Uses, "actions/upload-artifact@") &&
					step.If == "always()"
				if m := makeTarget.FindStringSubmatch(step.Run); m != nil &&
					!strings.Contains(string(makefile), "\n.PHONY: "+m[1]+"\n") {
					t.Errorf("%s: there is no %s", file, step.Run)
				}
			}
		}
		if !ran || !kept {
			t.Errorf("%s: runs %s: %v, keeps reports or pictures: %v", file, want.run, ran, kept)
		}
	}
	info, err := os.Stat(filepath.Join(root, ".ci", "run"))
	if err != nil || info.Mode()&0o111 == 0 {
		t.Errorf(".ci/run: %v", err)
	}
}
