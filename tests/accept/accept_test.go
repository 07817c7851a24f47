package accept

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rocelab/rocelab/tests/require"
)

// bin is where TestMain built the programs.
var bin string

func TestMain(m *testing.M) {
	code, err := func() (int, error) {
		dir, err := os.MkdirTemp("", "rocelab-accept")
		if err != nil {
			return 1, err
		}
		defer os.RemoveAll(dir)
		bin = dir
		build := exec.Command("go", "build", "-o", dir, "../../cmd/...")
		if out, err := build.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("build: %w\n%s", err, out)
		}
		return m.Run(), nil
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// command is a program at work with its screen.
type command struct {
	*exec.Cmd
	out, err lockedBuffer
	done     chan error
	ended    chan struct{}
}

// limit is how long a program may take; they are ended then, and the test fails.
const limit = 3 * time.Minute

func start(t *testing.T, name string, args ...string) *command {
	t.Helper()
	c := &command{Cmd: exec.Command(filepath.Join(bin, name), args...), done: make(chan error, 1),
		ended: make(chan struct{})}
	c.Stdout, c.Stderr = &c.out, &c.err
	// A program gets the signal when the thread that started it ends, and so with the tests.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := c.Start()
		started <- err
		if err == nil {
			c.done <- c.Wait()
		}
		close(c.ended)
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	return c
}

// stop ends a program that a test has left: it may clean up, but not for ever.
func (c *command) stop() {
	_ = c.Process.Signal(syscall.SIGTERM)
	patience := time.AfterFunc(20*time.Second, func() { _ = c.Process.Kill() })
	defer patience.Stop()
	<-c.ended
}

// end waits for the program and returns its exit code.
func (c *command) end(t *testing.T) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	select {
	case err := <-c.done:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return c.ProcessState.ExitCode()
	case <-ctx.Done():
		t.Fatalf("%v does not end\n%s%s", c.Args, c.out.String(), c.err.String())
		return -1
	}
}

func run(t *testing.T, name string, args ...string) (code int, out, errs string) {
	t.Helper()
	c := start(t, name, args...)
	code = c.end(t)
	return code, c.out.String(), c.err.String()
}

// until waits until the program's screen shows text.
func (c *command) until(t *testing.T, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(c.out.String()+c.err.String(), text) {
		select {
		case <-tick.C:
		case err := <-c.done:
			t.Fatalf(
				"ended (%v) before it showed %q:\n%s%s",
				err,
				text,
				c.out.String(),
				c.err.String(),
			)
		case <-ctx.Done():
			t.Fatalf("does not show %q:\n%s%s", text, c.out.String(), c.err.String())
		}
	}
}

// labName is a lab of this test's own.
func labName(t *testing.T) string {
	t.Helper()
	require.Root(t)
	name := strings.ToLower(strings.TrimPrefix(t.Name(), "Test"))
	return fmt.Sprintf("%.20s-%d", name, os.Getpid())
}

// nothingLeft checks that a lab left no namespace, folder, device or process.
func nothingLeft(t *testing.T, lab string) {
	t.Helper()
	for _, pattern := range []string{"/run/netns/" + lab + "-*", "/run/rocelab/" + lab} {
		if left, err := filepath.Glob(pattern); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	}
	procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range procs {
		line, err := os.ReadFile(p)
		if err == nil && bytes.Contains(line, []byte("/run/rocelab/"+lab+"/")) {
			t.Errorf("still running: %s %q", p, line)
		}
	}
}
