package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/thresholds"
)

// bytesFlag makes unit.Bytes a flag.
type bytesFlag struct{ *unit.Bytes }

func (f bytesFlag) Set(s string) error { return f.UnmarshalText([]byte(s)) }
func (f bytesFlag) Type() string       { return "size" }

// thresholdInput is a switch and a link of it.
type thresholdInput struct {
	switched thresholds.Section4
	port     thresholds.Hardware
	delay    time.Duration
	asJSON   bool
}

func thresholdsCommand() *cobra.Command {
	in := thresholdInput{switched: thresholds.Paper(),
		port: thresholds.Hardware{Rate: 40 * unit.GbPerSecond, Cable: 300}, delay: time.Microsecond}
	c := &cobra.Command{
		Use:   "thresholds",
		Short: "compute headroom, t_PFC and t_ECN, with their derivation",
		Long: `thresholds prints, line by line, how the buffer of a lossless switch must be
divided: [DCQCN] section 4's t_flight, t_PFC and t_ECN; the headroom of a real port by SONiC's
formula; and the headroom on one of our emulated links. Without flags it is the switch of the
paper. (The paper prints 0.85 KB as the static bound of t_ECN; its formula gives 24.47 KB / 32 =
0.76 KB. Both are less than a frame.)`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := in.validate(); err != nil {
				return usageError{err}
			}
			return in.print(c.OutOrStdout())
		},
	}
	f := c.Flags()
	f.Var(rateFlag{&in.port.Rate}, "rate", "rate of the link")
	f.IntVar(&in.port.Cable, "cable", in.port.Cable, "length of a real cable in `metres`")
	f.DurationVar(&in.delay, "delay", in.delay, "propagation delay of an emulated link")
	f.Var(bytesFlag{&in.switched.MTU}, "mtu", "largest frame")
	f.DurationVar(&in.port.Response, "peer", in.port.Response,
		"time the peer takes to obey; 0: IEEE 802.3 31B.3.7 for a real one, at once for ours")
	f.Var(bytesFlag{&in.port.Cell}, "cell", "cell of the memory; 0: bytes")
	f.Float64Var(&in.port.Small, "small", 0,
		"`percent` of packets of 64 bytes, which fill cells badly")
	f.Var(bytesFlag{&in.switched.Buffer}, "buffer", "shared buffer, B")
	f.IntVar(&in.switched.Ports, "ports", in.switched.Ports, "ports, n")
	f.IntVar(&in.switched.Priorities, "priorities", in.switched.Priorities, "lossless priorities")
	f.Var(bytesFlag{&in.switched.Flight}, "flight", "headroom of a port and priority, t_flight")
	f.Float64Var(&in.switched.Beta, "beta", in.switched.Beta,
		"of the dynamic threshold (alpha = beta/8)")
	f.BoolVarP(&in.asJSON, "json", "j", false, "print JSON")
	return c
}

func (in *thresholdInput) validate() error {
	s := &in.switched
	switch {
	case in.port.Rate <= 0:
		return fmt.Errorf("--rate %v: want it positive", in.port.Rate)
	case in.port.Cable < 0 || in.delay < 0 || in.port.Response < 0:
		return fmt.Errorf("--cable, --delay and --peer must not be negative")
	case s.MTU < 64:
		return fmt.Errorf("--mtu %v: want at least 64", s.MTU)
	case s.Ports < 1 || s.Priorities < 1 || s.Priorities > 8:
		return fmt.Errorf("--ports %d, --priorities %d: want at least 1 port and 1 to 8 priorities",
			s.Ports, s.Priorities)
	case !(s.Beta > 0) || !(in.port.Small >= 0 && in.port.Small <= 100):
		return fmt.Errorf("--beta must be positive, --small 0 to 100")
	case s.Buffer <= unit.Bytes(s.Ports*s.Priorities)*s.Flight:
		return fmt.Errorf("--buffer %v: headroom alone takes %v", s.Buffer,
			unit.Bytes(s.Ports*s.Priorities)*s.Flight)
	}
	return nil
}

func (in *thresholdInput) print(w io.Writer) error {
	in.port.MTU, in.port.Lossless = in.switched.MTU, in.switched.MTU
	ours := thresholds.Emulated{Rate: in.port.Rate, Delay: in.delay, Frame: in.switched.MTU,
		Reverse: in.switched.MTU, Reaction: in.port.Response, Cell: in.port.Cell}
	all := []*thresholds.Derivation{in.switched.Derive(), in.port.Derive(), ours.Derive()}
	reach := in.port.Reach(in.switched.Flight)
	if in.asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(struct {
			SchemaVersion int                      `json:"schema_version"`
			Derivations   []*thresholds.Derivation `json:"derivations"`
			ReachMetres   int                      `json:"t_flight_reach_metres"`
		}{1, all, reach})
	}
	for _, d := range all {
		fmt.Fprintln(w, d)
	}
	if reach >= 0 {
		fmt.Fprintf(w, "t_flight of %v is enough for a real cable of %d m\n", in.switched.Flight,
			reach)
	} else {
		fmt.Fprintf(w, "t_flight of %v is not enough for any real cable\n", in.switched.Flight)
	}
	return nil
}
