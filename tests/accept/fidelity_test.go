package accept

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/netspace"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/papers"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/tests/require"
)

// small is 2:1 for 3 ms with DCQCN.
func small(name string) *scenario.Scenario {
	return &scenario.Scenario{
		Topology: lab.Star(name, 3, 40*unit.GbPerSecond, time.Microsecond),
		Flows:    scenario.Many("h3", nicd.FlowRequest{}, "h1", "h2"),
		Queues:   []scenario.Queue{{Switch: "sw0", Port: "swp3", Queue: scenario.DataQueue}},
		Duration: 3 * time.Millisecond, Interval: 50 * time.Microsecond}
}

// onRealFrames runs a scenario with the programs that were built.
func onRealFrames(t *testing.T, s *scenario.Scenario, meddle func(l *lab.Lab) error) *scenario.Run {
	t.Helper()
	require.Root(t)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	o := scenario.RealOptions{}
	if meddle != nil {
		o.Ready = func(_ context.Context, l *lab.Lab) error { return meddle(l) }
	}
	r, err := s.Real(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// failed are the names of the checks that a certificate failed.
func failed(r *scenario.Run) string {
	var names []string
	for _, c := range r.Certificate.Checks {
		if !c.OK {
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, ", ")
}

// TestRealFramesAreVirtualTime: a run that nobody meddles with is certified, and is virtual time to
// the last bit of what was recorded.
func TestRealFramesAreVirtualTime(t *testing.T) {
	r := onRealFrames(t, small("fid-plain"), nil)
	if !r.Certificate.Valid {
		t.Errorf("%+v", r.Certificate)
	}
	v, err := small("fid-plain").Virtual(t.Context(), nil)
	if err != nil || v.Hash != r.Hash {
		t.Errorf("hash %s on real frames, %s in virtual time (%v)", r.Hash, v.Hash, err)
	}
}

// TestProbesAreExact: a probe of a run on real frames sees what it sees in virtual time.
func TestProbesAreExact(t *testing.T) {
	looking := func(seen *[]string) *scenario.Scenario {
		s := small("fid-probes")
		for _, at := range []time.Duration{time.Microsecond, 777_777, 2 * time.Millisecond} {
			look := func(ctx context.Context, node func(string) daemon.Caller) error {
				var state json.RawMessage
				err := node("sw0").Call(ctx, http.MethodGet, "/v1/state", nil, &state)
				*seen = append(*seen, string(state))
				return err
			}
			s.Probes = append(s.Probes, scenario.Probe{At: at, Look: look})
		}
		return s
	}
	var real, virtual []string
	if r := onRealFrames(t, looking(&real), nil); !r.Certificate.Valid {
		t.Errorf("%+v", r.Certificate)
	}
	if _, err := looking(&virtual).Virtual(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(real, virtual) {
		t.Errorf("on real frames\n%s\nin virtual time\n%s", strings.Join(real, "\n"),
			strings.Join(virtual, "\n"))
	}
}

// TestForeignFramesInvalidate: RoCE frames that no machine of the lab has sent change what happens,
// and the certificate says so.
func TestForeignFramesInvalidate(t *testing.T) {
	const frames = 300
	r := onRealFrames(t, small("fid-foreign"), func(l *lab.Lab) error {
		dice := rand.New(rand.NewPCG(1, 2))
		return netspace.Do("fid-foreign-h1", func() error { return inject("eth0", dice, frames) })
	})
	if got := failed(r); !strings.Contains(got, "differ from virtual time") {
		t.Errorf("failed checks: %q", got)
	}
}

// TestLossBelowInvalidates: frames that the kernel loses between two daemons are found.
func TestLossBelowInvalidates(t *testing.T) {
	r := onRealFrames(t, small("fid-loss"), func(l *lab.Lab) error {
		return netspace.Do("fid-loss-h2", func() error {
			dev, err := netlink.LinkByName("eth0")
			if err != nil {
				return err
			}
			return netlink.LinkSetDown(dev)
		})
	})
	if r.Certificate.Valid {
		t.Errorf("%+v", r.Certificate)
	}
}

// TestOverloadInvalidates: with a clock that waits for nobody, in real time, no machine follows 40
// Gb/s, and the certificate tells that frames were late and what became of it.
func TestOverloadInvalidates(t *testing.T) {
	s := small("fid-rigid")
	s.Topology.Clock = lab.Clock{Start: 1, Min: 1, Max: 1, Rigid: true}
	got := failed(onRealFrames(t, s, nil))
	if !strings.Contains(got, "arrivals behind a decision") ||
		!strings.Contains(got, scenario.CheckTwin) {
		t.Errorf("failed checks: %q", got)
	}
}

// TestDilationLeavesClocksOfCells: a dilation that is asked of all runs is not of those that show
// what their own clock does. A rigid clock at k = 1 is as fast as real time on any machine.
func TestDilationLeavesClocksOfCells(t *testing.T) {
	require.Root(t)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	found := 0
	for _, e := range papers.All() {
		if e.ID != "fidelity" {
			continue
		}
		for _, cell := range e.Cells(suite.Options{Mode: suite.Real, Seed: 1, Seeds: 1}) {
			if !strings.Contains(cell.Name, "rigid") {
				continue
			}
			found++
			out, err := cell.Run(ctx, suite.Env{Mode: suite.Real, Dilation: 100})
			if err != nil {
				t.Fatal(err)
			}
			if k := out.Numbers["dilation"]; k > 2 || out.Numbers["failed_checks"] == 0 {
				t.Errorf("%s: k = %v, %v failed checks", cell.Name, k,
					out.Numbers["failed_checks"])
			}
		}
	}
	if found != 1 {
		t.Errorf("%d cells with a rigid clock", found)
	}
}

// TestFullRingInvalidates: a daemon that stands still while more frames come than its rings hold.
// The kernel drops them, and the certificate tells.
func TestFullRingInvalidates(t *testing.T) {
	const frames = 20_000
	r := onRealFrames(t, small("fid-ring"), func(l *lab.Lab) error {
		pid := daemonPid(t, "fid-ring", "sw0")
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			return err
		}
		dice := rand.New(rand.NewPCG(1, 2))
		err := netspace.Do("fid-ring-h1", func() error { return inject("eth0", dice, frames) })
		return errors.Join(err, syscall.Kill(pid, syscall.SIGCONT))
	})
	if got := failed(r); !strings.Contains(got, "frames lost in sockets and rings") {
		t.Errorf("failed checks: %q", got)
	}
}
