// Package require lets a test say what it needs from the machine.
//
// A test that lacks something is skipped and says what. Where the machine promises a feature, in
// the environment variable ROCELAB_REQUIRE as a comma-separated list (root,xdp,netns,...), the
// same lack is a failure, so that CI cannot pass by skipping.
package require

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Env is the variable that lists the features whose lack is a failure.
const Env = "ROCELAB_REQUIRE"

// Feature goes on if the machine has the feature called name; otherwise it skips the test, or
// fails it where the feature is promised. lack says what is missing, in words.
func Feature(t testing.TB, name string, have bool, lack string) {
	t.Helper()
	switch {
	case have:
	case promised(os.Getenv(Env), name):
		t.Fatalf("%s lists %s, but %s", Env, name, lack)
	default:
		t.Skipf("needs %s: %s", name, lack)
	}
}

// Root needs the rights of root, which creating BPF maps and devices takes.
func Root(t testing.TB) {
	t.Helper()
	Feature(t, "root", os.Geteuid() == 0, "the effective user is not root")
}

// Tool needs a program of this name in PATH; the feature has the same name.
func Tool(t testing.TB, name string) {
	t.Helper()
	_, err := exec.LookPath(name)
	Feature(t, name, err == nil, name+" is not in PATH")
}

func promised(list, name string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(s string) bool {
		return strings.TrimSpace(s) == name
	})
}
