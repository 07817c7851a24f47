package aimd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/tests/require"
)

// bin is where TestMain built our rocelab, and the stock one as stock.
var bin string

func TestMain(m *testing.M) {
	code, err := func() (int, error) {
		dir, err := os.MkdirTemp("", "aimd")
		if err != nil {
			return 1, err
		}
		defer os.RemoveAll(dir)
		bin = dir
		for name, of := range map[string]string{"rocelab": "./cmd/rocelab",
			"stock": "github.com/rocelab/rocelab/cmd/rocelab"} {
			build := exec.Command("go", "build", "-o", filepath.Join(dir, name), of)
			if out, err := build.CombinedOutput(); err != nil {
				return 1, fmt.Errorf("build %s: %w\n%s", of, err, out)
			}
		}
		return m.Run(), nil
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// program is a command that gets SIGTERM if it takes longer than anybody would wait.
func program(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, filepath.Join(bin, name), args...)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 20 * time.Second
	return c
}

// run returns the exit code of a command, and all that it printed.
func run(t *testing.T, name string, args ...string) (code int, out string) {
	t.Helper()
	c := program(t, name, args...)
	text, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v", args, err)
	}
	return c.ProcessState.ExitCode(), string(text)
}

// copies are the files of the example with a name for the lab that nobody else has.
func copies(t *testing.T) (name, topology, scenario string) {
	t.Helper()
	dir := t.TempDir()
	name = fmt.Sprintf("aimd-%d", os.Getpid())
	for _, file := range []string{"lab.yaml", "incast.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		renamed := strings.Replace(string(text), "name: aimd", "name: "+name, 1)
		if err := os.WriteFile(filepath.Join(dir, file), []byte(renamed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return name, filepath.Join(dir, "lab.yaml"), filepath.Join(dir, "incast.yaml")
}

// What the stock program says to the files of this example.
func TestStockRocelabRefuses(t *testing.T) {
	for _, args := range [][]string{{"check", "lab.yaml"}, {"run", "incast.yaml"},
		{"sweep", "incast.yaml", "duration=1ms,2ms"}} {
		code, out := run(t, "stock", args...)
		for _, want := range []string{`nic.cc.algorithm: no algorithm "aimd": want one of dcqcn, `,
			"build a rocelab that knows it", "docs/congestion-control.md"} {
			if code == 0 || strings.Count(out, want) != 1 {
				t.Errorf("%v: exit code %d, want %q once\n%s", args, code, want, out)
			}
		}
	}
}

// Every command of our rocelab knows the algorithm: in virtual time.
func TestCommands(t *testing.T) {
	_, topology, scenario := copies(t)
	config := filepath.Join(t.TempDir(), "nicd.yaml")
	nic := "name: h1\nmac: 02:00:00:00:00:01\nipv4: 10.0.0.1\n" +
		"port: {name: eth0, rate: 10Gb/s, delay: 1us}\ncc: {algorithm: aimd, preset: timid}\n"
	if err := os.WriteFile(config, []byte(nic), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"check", topology}, []string{"no warning"}},
		{[]string{"nicd", "-config", config, "-check"}, nil},
		{[]string{"run", scenario}, []string{"3 of 3 claims hold"}},
		{[]string{"sweep", scenario, "nic.cc.algorithm=aimd,dcqcn", "--measure", "bulk.jain"},
			[]string{"\naimd  ", "\ndcqcn  "}},
		{[]string{"sweep", scenario, "nic.cc.params.step=10Mb/s,100Mb/s"}, []string{"\n100Mb/s  "}},
	} {
		code, out := run(t, "rocelab", c.args...)
		if code != 0 {
			t.Errorf("%v: exit code %d\n%s", c.args, code, out)
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%v: no %q in\n%s", c.args, want, out)
			}
		}
	}
}

// The same file on real frames: the certificate says that every sample and every counter is what
// it is in virtual time.
func TestRealFrames(t *testing.T) {
	require.Root(t)
	name, _, scenario := copies(t)
	dir := t.TempDir()
	if code, out := run(t, "rocelab", "run", scenario, "--real", "--out", dir); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, name+"-incast-real.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r suite.Record
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Certificates) != 1 || !r.Certificates[0].Certificate.Valid || !r.Holds() {
		t.Errorf("%+v %+v", r.Certificates, r.Claims)
	}
}

// A lab comes up, tells what its NICs have, and takes another preset while it runs.
func TestUp(t *testing.T) {
	require.Root(t)
	name, topology, _ := copies(t)
	up := program(t, "rocelab", "up", topology)
	out, err := up.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	up.Stderr = &errs
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = up.Process.Signal(syscall.SIGTERM)
		if err := up.Wait(); err != nil {
			t.Errorf("up: %v\n%s", err, errs.String())
		}
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, "is up") {
		t.Fatalf("%q, %v\n%s", line, err, errs.String())
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "nic aimd textbook 0 decrease=0.5 step=100Mb/s interval=55µs min_rate=10Mb/s"},
		{[]string{"aimd", "--preset", "timid"}, ""},
		{nil, "nic aimd timid 0 decrease=0.5 step=10Mb/s interval=55µs min_rate=10Mb/s"},
	} {
		args := append([]string{"nic", "cc", "h1", "--lab", name}, c.args...)
		code, out := run(t, "rocelab", args...)
		if got := strings.Join(strings.Fields(out), " "); code != 0 ||
			!strings.Contains(got, c.want) {
			t.Errorf("%v: exit code %d, want %q\n%s", args, code, c.want, out)
		}
	}
}
