package interop

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// bin is where TestMain builds the programs.
var bin string

func TestMain(m *testing.M) {
	code, err := func() (int, error) {
		dir, err := os.MkdirTemp("", "rl-interop-bin")
		if err != nil {
			return 1, err
		}
		defer os.RemoveAll(dir)
		bin = dir
		defer closeStations()
		return m.Run(), nil
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// buildPrograms builds nicd and rocelab without libraries, so that they run in the guest too.
func buildPrograms(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(bin, "nicd")); err == nil {
		return nil
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", bin, "../../cmd/nicd",
		"../../cmd/rocelab")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return nil
}
