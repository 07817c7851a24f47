package lab

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Daemons are programs of their own from PATH, or another one with their name as its first word.
func TestDaemonCommand(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "nicd")
	if err := os.WriteFile(own, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	t.Cleanup(func() { UseDaemons("") })
	for program, want := range map[string][]string{
		"":            {own, own},
		"/opt/mine":   {"/opt/mine", "/opt/mine", "nicd"},
		ThisProgram:   {ThisProgram, os.Args[0], "nicd"},
		"bin/rocelab": {"bin/rocelab", "bin/rocelab", "nicd"},
	} {
		UseDaemons(program)
		cmd, err := daemonCommand("nicd")
		if err != nil || !slices.Equal(append([]string{cmd.Path}, cmd.Args...), want) {
			t.Errorf("%q: %+v, %v, want %q", program, cmd, err, want)
		}
	}
	UseDaemons("")
	if cmd, err := daemonCommand("switchd"); err == nil {
		t.Errorf("switchd is found at %s", cmd.Path)
	}
}
