package accept

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/netspace"
)

// upStar brings up the shipped star topology under a name of the test's own.
func upStar(t *testing.T) (lab string, c *command) {
	t.Helper()
	return upStarWith(t, "")
}

// upStarWith is upStar with more keys in the topology.
func upStarWith(t *testing.T, more string) (lab string, c *command) {
	t.Helper()
	lab = labName(t)
	text, err := os.ReadFile("../../deploy/topologies/star.yaml")
	if err != nil {
		t.Fatal(err)
	}
	topology := strings.Replace(string(text), "name: star", "name: "+lab, 1)
	topology = strings.Replace(topology, "metrics_port: 9465", "metrics_port: 0", 1) + more
	file := filepath.Join(t.TempDir(), "star.yaml")
	if err := os.WriteFile(file, []byte(topology), 0o644); err != nil {
		t.Fatal(err)
	}
	c = start(t, "rocelab", "up", file)
	c.until(t, "is up")
	return lab, c
}

// Traffic that is not RoCE goes on to the hosts' kernels, so TCP tools work on the same links.
func TestKernelTrafficCrossesTheLab(t *testing.T) {
	lab, c := upStar(t)
	const size = 100_000
	var l net.Listener
	err := netspace.Do(lab+"-h2", func() (err error) {
		l, err = net.Listen("tcp4", "10.0.0.2:5001")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := make(chan int64, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			got <- -1
			return
		}
		defer conn.Close()
		n, err := io.Copy(io.Discard, conn)
		if err != nil {
			n = -1
		}
		got <- n
	}()
	err = netspace.Do(lab+"-h1", func() error {
		conn, err := net.DialTimeout("tcp4", "10.0.0.2:5001", 30*time.Second)
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.Write(make([]byte, size))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := <-got; n != size {
		t.Errorf("%d bytes arrived, want %d", n, size)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := c.end(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, c.err.String())
	}
	nothingLeft(t, lab)
}

func TestSecondLabOfTheSameNameIsRefused(t *testing.T) {
	lab, c := upStar(t)
	code, _, errs := run(t, "rocelab", short(lab, t.TempDir())...)
	if code != 3 || !strings.Contains(errs, "a lab of that name is running") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	if code, _, errs := run(t, "rocelab", "down", lab); code != 3 ||
		!strings.Contains(errs, "is running") {
		t.Errorf("down of a running lab: exit code %d\n%s", code, errs)
	}
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	c.end(t)
	nothingLeft(t, lab)
}

func TestTopologyFaultsAreNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bad.yaml")
	text := "name: Bad\nnodes:\n  - {name: sw0, kind: router}\nlinks:\n" +
		"  - {endpoints: [\"h1:eth0\", \"sw0:swp1\"], rate: 40Gb/s, delay: 0s}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, errs := run(t, "rocelab", "up", file)
	for _, want := range []string{":1: name: ", ":3: nodes[0].kind: ",
		":5: links[0].endpoints[0]: no node \"h1\"", ":5: links[0].delay: must be positive"} {
		if !strings.Contains(errs, file+want) {
			t.Errorf("the fault %q is not named:\n%s", want, errs)
		}
	}
	if code == 0 {
		t.Error("a bad topology is accepted")
	}
}

// The daemons of a lab are the rocelab that brought it up, whatever else is beside it or in PATH,
// and lists of processes show what they are.
func TestDaemonsAreTheSameProgram(t *testing.T) {
	lab, _ := upStar(t)
	for node, kind := range map[string]string{"sw0": "switchd", "h1": "nicd"} {
		proc := fmt.Sprintf("/proc/%d", daemonPid(t, lab, node))
		exe, err := os.Readlink(proc + "/exe")
		if err != nil || exe != filepath.Join(bin, "rocelab") {
			t.Errorf("%s runs %s, %v", node, exe, err)
		}
		comm, err := os.ReadFile(proc + "/comm")
		if err != nil || string(comm) != kind+"\n" {
			t.Errorf("%s is called %q, %v", node, comm, err)
		}
	}
}

// A second Ctrl-C does not wait for daemons that do not end, and leaves nothing all the same.
func TestSecondInterruptLeavesNothing(t *testing.T) {
	lab, c := upStar(t)
	for _, node := range []string{"sw0", "h1", "h2", "h3", "h4"} {
		if err := syscall.Kill(daemonPid(t, lab, node), syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	interrupt := func() {
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
	}
	interrupt()
	c.until(t, "interrupted: cleaning up")
	interrupt()
	code := c.end(t)
	if code != 130 || !strings.Contains(c.err.String(), "interrupted again: ending at once") {
		t.Errorf("exit code %d\n%s", code, c.err.String())
	}
	nothingLeft(t, lab)
}
