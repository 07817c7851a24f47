package cli

import (
	"fmt"
	"io"
	"log/slog"
	"math/bits"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/experiment"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/report"
)

// rateFlag makes a unit.Rate a flag.
type rateFlag struct{ *unit.Rate }

func (f rateFlag) Set(s string) error { return f.UnmarshalText([]byte(s)) }
func (f rateFlag) Type() string       { return "rate" }

// faultsFlag makes a list of faults a flag that may be repeated.
type faultsFlag struct{ list *[]lab.Fault }

func (f faultsFlag) Set(s string) error {
	one, err := lab.ParseFault(s)
	if err == nil {
		*f.list = append(*f.list, one)
	}
	return err
}

func (f faultsFlag) Type() string   { return "fault" }
func (f faultsFlag) String() string { return "" }

func demoCommand() *cobra.Command {
	in := experiment.DefaultIncast()
	out := "demo-out"
	c := &cobra.Command{
		Use:   "demo",
		Short: "run an incast on real frames, with PFC alone and with DCQCN, and report",
		Long: `demo builds a lab of one switch and N+1 hosts and lets N of them write to the last
one by RDMA WRITE on real RoCEv2 frames over AF_XDP, first with PFC alone, then with DCQCN, and
prints both side by side. result.json, report.html and a pcapng of the bottleneck port stay in
the output folder.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if in.Senders < 1 || in.Senders > 32 {
				return fmt.Errorf("--senders %d: want 1 to 32", in.Senders)
			}
			if in.Duration <= in.Warmup {
				return fmt.Errorf(
					"--duration %v must be longer than the %v left out at the start",
					in.Duration,
					in.Warmup,
				)
			}
			if in.PathMTU < 256 || in.PathMTU > 4096 || bits.OnesCount(uint(in.PathMTU)) != 1 {
				return fmt.Errorf("--mtu %d: want 256, 512, 1024, 2048 or 4096", in.PathMTU)
			}
			return demo(c, in, out)
		},
	}
	f := c.Flags()
	f.StringVarP(&out, "out", "o", out, "output `folder`")
	f.IntVarP(&in.Senders, "senders", "n", in.Senders, "number of senders")
	f.Var(rateFlag{&in.Rate}, "rate", "rate of every link")
	f.DurationVar(&in.Delay, "delay", in.Delay, "propagation delay of every link")
	f.IntVarP(&in.PathMTU, "mtu", "m", in.PathMTU,
		"path MTU: 256, 512, 1024, 2048 or 4096 `bytes`; from 2048 on the links carry jumbo frames")
	f.DurationVar(&in.Duration, "duration", in.Duration, "virtual duration of each run")
	f.DurationVar(&in.Warmup, "warmup", in.Warmup, "virtual time left out of goodput and fairness")
	f.Float64Var(
		&in.Dilation,
		"dilation",
		in.Dilation,
		"fixed dilation factor `k`; 0: as fast as the machine keeps up",
	)
	f.Uint64Var(&in.Frames, "capture", in.Frames, "frames to capture at most in each run; 0: none")
	f.IntVar(&in.MetricsPort, "metrics-port", in.MetricsPort,
		"loopback `port` of the switch's metrics, the hosts' and the lab's follow; 0: none")
	f.Var(faultsFlag{&in.Faults}, "fault",
		"something that goes wrong, as 'sw0:swp5 drop ipid 0xff at 10ms for 5ms'; may be repeated")
	f.StringVar(&in.Lab, "name", in.Lab, "name of the lab, and prefix of its namespaces")
	return c
}

func demo(c *cobra.Command, in experiment.Incast, out string) error {
	w := c.OutOrStdout()
	log := slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
	if err := lab.Preflight(); err != nil {
		return err
	}
	fmt.Fprintf(w, "rocelab: %d:1 incast, %v links, %v delay, %v of virtual time for each run\n",
		in.Senders, in.Rate, in.Delay, in.Duration)
	in.Dir = out
	began := time.Now()
	res, err := in.Run(c.Context(), w, log)
	if err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := report.Table(w, res); err != nil {
		return err
	}
	if err := report.WriteFolder(out, res); err != nil {
		return err
	}
	where(w, out)
	fmt.Fprintf(w, "took %.0f s\n", time.Since(began).Seconds())
	for _, r := range res.Runs {
		if !r.Certificate.Valid {
			return errInvalid
		}
	}
	return nil
}

func where(w io.Writer, out string) {
	dir, err := filepath.Abs(out)
	if err != nil {
		dir = out
	}
	fmt.Fprintf(
		w,
		"\nreport   %s\nnumbers  %s\ncapture  %s (open with Wireshark)\n",
		filepath.Join(
			dir,
			"report.html",
		),
		filepath.Join(dir, "result.json"),
		filepath.Join(dir, "*.pcapng"),
	)
}
