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

const pingHelp = `ping sends texts that the other end reads and writes back, as rping of
rdma-core does, which may be the other end. With rping's options it prints what rping prints;
with the name of a NIC and an address it prints round-trip times, as ping does.

Times are in the NIC's virtual time: the lab's, of which a second lasts as many real ones as the
dilation says, or without a lab the NIC's own. A round trip has in it what the two programs take
to answer. That is real time, so it is the less of virtual time the slower the lab runs. That a
lab's clock waits for whoever is late changes no round trip; what the clock of a NIC without a lab
lost is not in them, and a warning tells how much it was.

  rocelab ping -s -P --nic h2          # the server, for one client after the other
  rocelab ping h1 10.0.0.2             # round-trip times
  rocelab ping -c -a 10.0.0.2 -v -C 5 --nic h1`

func pingCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "ping [NIC ADDRESS]",
		Short: "ping over RDMA, as rping does",
		Long:  pingHelp,
		Args:  cobra.MaximumNArgs(2),
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
		r := rounds{w: c.OutOrStdout(), warn: c.ErrOrStderr(), c: &conf}
		conf.Round, conf.Validate = r.add, true
		r.begin()
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
	w, warn      io.Writer
	c            *rping.Config
	n            int
	min, max     time.Duration
	sum, squares float64
	lost         time.Duration // by the NIC's clock meanwhile
}

func (r *rounds) begin() {
	fmt.Fprintf(r.w, "PING %v over RDMA: %d bytes of text, times in the NIC's virtual time\n",
		r.c.Address, r.c.Size)
}

func (r *rounds) add(t rping.Trip) {
	took := t.Took
	fmt.Fprintf(r.w, "%d bytes from %v: seq=%d time=%.3f ms\n", r.c.Size, r.c.Address, t.Ping,
		milliseconds(float64(took)))
	if r.n == 0 || took < r.min {
		r.min = took
	}
	r.max = max(r.max, took)
	r.n++
	r.sum += float64(took)
	r.squares += float64(took) * float64(took)
	r.lost += t.Lost
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
	if r.lost > 0 {
		fmt.Fprintf(r.warn, "WARNING: the NIC's clock lost %v in these %v; by the wall clock the "+
			"average is %.3f ms\n", r.lost, time.Duration(r.sum),
			milliseconds((r.sum+float64(r.lost))/float64(r.n)))
	}
}
