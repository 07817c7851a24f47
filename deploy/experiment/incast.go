package experiment

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/result"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/roce/ib"
)

// Incast is N senders writing to one receiver behind one switch.
type Incast struct {
	Lab          string // name of the lab
	Senders      int
	Rate         unit.Rate
	Delay        time.Duration
	MessageBytes int64
	PathMTU      int           // 256 to 4096 bytes of payload a packet
	Duration     time.Duration // virtual, of each run
	Warmup       time.Duration // virtual, left out of goodput and fairness
	Dilation     float64       // fixed k; 0 lets the machine choose
	Dir          string        // where captures go
	Frames       uint64        // captured at most in each run; 0 for no capture
	MetricsPort  int           // of the first daemon, the others follow; 0 for none
	Runs         []RunConfig
	Faults       []lab.Fault // what goes wrong
}

// RunConfig is one run of the scenario.
type RunConfig struct {
	Name      string // "PFC alone"
	Algorithm string // of package cc
}

// DefaultIncast is the scenario of `make demo`: [DCQCN] section 6.1's parameters on a small star.
func DefaultIncast() Incast {
	return Incast{Lab: "demo", Senders: 4, Rate: 40 * unit.GbPerSecond, Delay: time.Microsecond,
		MessageBytes: 1e6, PathMTU: 1024, Frames: 20_000,
		Duration: 60 * time.Millisecond, Warmup: 20 * time.Millisecond,
		Runs: []RunConfig{{"PFC alone", "none"}, {"DCQCN", "dcqcn"}}}
}

const (
	finestSample = 50 * time.Microsecond
	mostSamples  = 4000
	queueDepth   = 4 // messages outstanding per flow
)

// Run executes the scenario. Progress goes to out, a line a second; log gets what an operator
// should know.
func (in Incast) Run(ctx context.Context, out io.Writer, log *slog.Logger) (*result.Result, error) {
	res := &result.Result{SchemaVersion: result.SchemaVersion, Version: daemon.Version(),
		Started: time.Now().Format(time.RFC3339), Machine: machine(), Scenario: in.scenario()}
	for _, cfg := range in.Runs {
		fmt.Fprintf(out, "\n%s: %d senders to one receiver, %v links of %v, RDMA WRITE of %v\n",
			cfg.Name, in.Senders, in.Rate, in.Delay, unit.Bytes(in.MessageBytes))
		run, err := in.once(ctx, cfg, out, log)
		if err != nil {
			return nil, fmt.Errorf("run %q: %w", cfg.Name, err)
		}
		res.Runs = append(res.Runs, *run)
	}
	return res, nil
}

func (in *Incast) scenario() result.Scenario {
	return result.Scenario{
		Name: fmt.Sprintf("incast-%d", in.Senders),
		Description: fmt.Sprintf(
			"%d:1 incast of RDMA WRITEs through one switch, real frames over AF_XDP",
			in.Senders,
		),
		Senders:      in.Senders,
		LinkRateBps:  int64(in.Rate),
		LinkDelayNs:  in.Delay.Nanoseconds(),
		MessageBytes: in.MessageBytes,
		PathMTU:      in.PathMTU,
		Bottleneck:   "sw0:" + in.bottleneck(),
		Queue:        scenario.DataQueue,
		Command:      in.command(),
	}
}

// command runs the scenario again.
func (in *Incast) command() string {
	text := fmt.Sprintf("rocelab demo --senders %d --rate %v --delay %v --duration %v --warmup %v",
		in.Senders, in.Rate, in.Delay, in.Duration, in.Warmup)
	if in.PathMTU != DefaultIncast().PathMTU {
		text += fmt.Sprintf(" --mtu %d", in.PathMTU)
	}
	for _, f := range in.Faults {
		text += fmt.Sprintf(" --fault '%v'", f)
	}
	return text
}

// interval is the time between samples: as fine as DCQCN's timers, or as the length of the run
// allows.
func (in *Incast) interval() time.Duration {
	d := finestSample
	for in.Duration/d > mostSamples {
		d *= 2
	}
	return d
}

// bottleneck is the switch port of the receiver, which is the last host.
func (in *Incast) bottleneck() string { return fmt.Sprintf("swp%d", in.Senders+1) }

func (in *Incast) host(i int) string { return fmt.Sprintf("h%d", i+1) }

func machine() result.Machine {
	m := result.Machine{CPUs: runtime.NumCPU(), Go: runtime.Version()}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	return m
}

func (in *Incast) once(ctx context.Context, cfg RunConfig, out io.Writer, log *slog.Logger,
) (*result.Run, error) {
	s := &session{Incast: in, cfg: cfg, out: out, last: make(map[string]uint64)}
	r, err := s.scenario().Real(ctx, scenario.RealOptions{Log: log, Ready: s.capture,
		Second: s.progress, Ended: s.ended})
	if err != nil {
		return nil, err
	}
	return s.result(r), nil
}

// topology is the lab of a run.
func (in *Incast) topology(cfg RunConfig) lab.Topology {
	t := lab.Star(in.Lab, in.Senders+1, in.Rate, in.Delay)
	t.NIC.CC.Algorithm, t.MetricsPort = cfg.Algorithm, in.MetricsPort
	t.Faults = in.Faults
	t.NIC.MTU = in.PathMTU
	if in.PathMTU+ib.MaxOverhead > int(wire.MaxFrame(daemon.DefaultMTU)) {
		t.MTU = jumboMTU
	}
	if cfg.Algorithm == "none" {
		t.Switch.WRED.ECN = "ecn_none" // nobody would listen
	}
	if in.Dilation != 0 {
		t.Clock = lab.Clock{Start: in.Dilation, Min: in.Dilation, Max: in.Dilation}
	}
	return t
}

// jumboMTU is the MTU of devices that carry a path MTU above that of Ethernet: 4096 bytes of
// payload with all headers, rounded up as operators do.
const jumboMTU = 4500

// captureFile is the pcapng of a run, or nothing.
func (in *Incast) captureFile(cfg RunConfig) string {
	if in.Frames == 0 {
		return ""
	}
	return cfg.Algorithm + ".pcapng"
}

func (in *Incast) capturePath(cfg RunConfig) (string, error) {
	dir, err := filepath.Abs(in.Dir)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, in.captureFile(cfg)), os.MkdirAll(dir, 0o755)
}
