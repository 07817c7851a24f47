package accept

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netns"

	"github.com/rocelab/rocelab/dataplane/netspace"
)

// daemonPid finds the daemon of a node by its configuration file.
func daemonPid(t *testing.T, lab, node string) int {
	t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range procs {
		line, err := os.ReadFile(p)
		if err != nil || !strings.Contains(string(line), "/run/rocelab/"+lab+"/"+node+".yaml") {
			continue // ended meanwhile, or another one
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(p)))
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	t.Fatalf("no daemon of %s", node)
	return 0
}

// waitGone waits until a process has ended.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for syscall.Kill(pid, 0) == nil {
		select {
		case <-ctx.Done():
			t.Fatalf("process %d goes on after its lab was killed", pid)
		case <-tick.C:
		}
	}
}

func TestTakenNamespaceIsNamedAndLeftAlone(t *testing.T) {
	lab := labName(t)
	taken := lab + "-h1"
	if err := netspace.Create(taken); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := netns.DeleteNamed(taken); err != nil {
			t.Errorf("the namespace that was there is gone: %v", err)
		}
		nothingLeft(t, lab)
	}()
	code, _, errs := run(t, "rocelab", short(lab, t.TempDir())...)
	if code != 3 || !strings.Contains(errs, "network namespace "+taken+" exists already") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	left, err := filepath.Glob("/run/netns/" + lab + "-*")
	if err != nil || len(left) != 1 {
		t.Errorf("namespaces %v, want only the one that was there", left)
	}
}

func TestNotRoot(t *testing.T) {
	labName(t) // needs root to become somebody else
	c := exec.Command(filepath.Join(bin, "rocelab"), "demo")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	// The folder of the binaries is the test's own; let anybody in.
	if err := os.Chmod(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := c.CombinedOutput()
	if err == nil || c.ProcessState.ExitCode() != 3 ||
		!strings.Contains(string(out), "not root: network namespaces and AF_XDP need") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"rocelab", "demo", "--colour"}, {"rocelab", "nosuch"},
		{"switchd"}, {"nicd", "-config", "/nonexistent"}, {"switchd", "extra"}} {
		if code, _, errs := run(t, args[0], args[1:]...); code != 2 || errs == "" {
			t.Errorf("%v: exit code %d, %q; want 2 and a reason", args, code, errs)
		}
	}
}

func TestSamplesAreAccepted(t *testing.T) {
	for _, name := range []string{"switchd", "nicd"} {
		code, sample, errs := run(t, name, "-sample")
		if code != 0 {
			t.Fatalf("%s -sample: %s", name, errs)
		}
		file := filepath.Join(t.TempDir(), name+".yaml")
		if err := os.WriteFile(file, []byte(sample), 0o644); err != nil {
			t.Fatal(err)
		}
		if code, _, errs := run(t, name, "-config", file, "-check"); code != 0 {
			t.Errorf("%s refuses its own sample: %s", name, errs)
		}
		broken := strings.Replace(sample, "name:", "title:", 1)
		if err := os.WriteFile(file, []byte(broken), 0o644); err != nil {
			t.Fatal(err)
		}
		if code, _, errs := run(t, name, "-config", file); code != 2 ||
			!strings.Contains(errs, "unknown key title") {
			t.Errorf("%s: a misspelt key gives %d, %s", name, code, errs)
		}
	}
}
