package accept

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rocelab/rocelab/tests/require"
)

// The example modules of CONTRIBUTING.md are right and do what they say, in virtual time and on
// real frames. `go test ./...` does not enter them: each is a module of its own.
func TestExampleModules(t *testing.T) {
	require.Root(t)
	modules, err := filepath.Glob("../../deploy/examples/*/go.mod")
	if err != nil || len(modules) == 0 {
		t.Fatalf("%v, %v", modules, err)
	}
	for _, mod := range modules {
		for _, args := range [][]string{{"vet", "./..."}, {"test", "-count=1", "./..."}} {
			c := exec.CommandContext(t.Context(), "go", args...)
			c.Dir = filepath.Dir(mod)
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %v\n%s", c.Dir, args, err, out)
			}
		}
	}
}
