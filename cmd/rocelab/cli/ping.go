package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/nicd/rping"
)

func pingCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "ping [NIC ADDRESS]",
		Short: "ping over RDMA, as rping does",
		Long: `ping sends texts that the other end reads and writes back, as rping of
rdma-core does, which may be the other end. With rping's options it prints what rping prints;
with the name of a NIC and an address it prints round-trip times, as ping does, in the NIC's
virtual time.

  rocelab ping -s -P --nic h2          # the server, for one client after the other
  rocelab ping h1 10.0.0.2             # round-trip times
  rocelab ping -c -a 10.0.0.2 -v -C 5 --nic h1`,
		Args: cobra.MaximumNArgs(2),
	}
	name := labFlag(c)
	f := c.Flags()
	conf := rping.Config{}
	nic := f.String("nic", "", "the `NIC`: its name in a lab or the path of its verbs socket")
	f.BoolVarP(&conf.Server, "server", "s", false, "be the server")
	client := f.BoolP("client", "c", false, "be the client")
	address := f.StringP("address", "a", "", "`address` of the server")
	f.Uint16VarP(&conf.Port, "port", "p", rping.DefaultPort, "`port` of the connection manager")
	f.IntVarP(&conf.Count, "count", "C", 0, "`pings`; 0: until interrupted")
	f.IntVarP(&conf.Size, "size", "S", rping.DefaultSize, "`bytes` a ping")
	f.BoolVarP(&conf.Verbose, "verbose", "v", false, "print what comes back")
	f.BoolVarP(&conf.Validate, "validate", "V", false, "compare what comes back")
	f.BoolVarP(&conf.Debug, "debug", "d", false, "tell what is done")
	f.BoolVarP(&conf.Persistent, "persistent", "P", false, "a server for one client after another")
	f.DurationVar(&conf.Patience, "patience", 10*time.Second, "real `time` to wait for an answer")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if len(args) > 0 {
			*nic = args[0]
		}
		if len(args) > 1 {
			*address = args[1]
		}
		friendly := len(args) == 2
		if !friendly && conf.Server == *client {
			return usageError{errors.New("give a NIC and an address, or -s for a server, or -c " +
				"for a client")}
		}
		if *address != "" {
			if conf.Address, err = netip.ParseAddr(*address); err != nil {
				return usageError{fmt.Errorf("address: %w", err)}
			}
		}
		d, err := openNIC(*name, *nic)
		if err != nil {
			return err
		}
		defer d.Close()
		if !friendly {
			return rping.Run(c.Context(), d, conf, c.OutOrStdout())
		}
		r := rounds{w: c.OutOrStdout(), c: &conf}
		conf.Round, conf.Validate = r.add, true
		fmt.Fprintf(r.w, "PING %v over RDMA: %d bytes of text\n", conf.Address, conf.Size)
		err = rping.Run(c.Context(), d, conf, c.OutOrStdout())
		r.summary()
		if r.n > 0 && interrupted(c.Context()) {
			return nil
		}
		return err
	}
	return c
}

// interrupted reports whether the user ended it.
func interrupted(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), errInterrupted)
}

// rounds sums up round-trip times as ping does.
type rounds struct {
	w            io.Writer
	c            *rping.Config
	n            int
	min, max     time.Duration
	sum, squares float64
}

func (r *rounds) add(ping int, took time.Duration) {
	fmt.Fprintf(r.w, "%d bytes from %v: seq=%d time=%.3f ms\n", r.c.Size, r.c.Address, ping,
		milliseconds(float64(took)))
	if r.n == 0 || took < r.min {
		r.min = took
	}
	r.max = max(r.max, took)
	r.n++
	r.sum += float64(took)
	r.squares += float64(took) * float64(took)
}

func milliseconds(ns float64) float64 { return ns / float64(time.Millisecond) }

func (r *rounds) summary() {
	fmt.Fprintf(r.w, "--- %v ping statistics ---\n%d pings answered\n", r.c.Address, r.n)
	if r.n == 0 {
		return
	}
	mean := r.sum / float64(r.n)
	deviation := math.Sqrt(max(r.squares/float64(r.n)-mean*mean, 0))
	fmt.Fprintf(r.w, "rtt min/avg/max/mdev = %.3f/%.3f/%.3f/%.3f ms\n",
		milliseconds(float64(r.min)), milliseconds(mean), milliseconds(float64(r.max)),
		milliseconds(deviation))
}
