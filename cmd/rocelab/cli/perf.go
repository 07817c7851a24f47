package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/labs"
	"github.com/rocelab/rocelab/nicd/perftest"
	"github.com/rocelab/rocelab/nicd/rdma"
)

func perfCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "perf TEST",
		Short: "measure bandwidth and latency between two NICs, as perftest does",
		Long: `perf measures between two NICs with the options, the table and the protocol
of perftest 4.5 (ib_send_bw and the others): either end may be the real program. Without a host
a test is the server; with one it connects to the server there. All times are the NIC's virtual
time. If its clock lost time meanwhile, as it can without a lab, stderr says how much, and the
average by the wall clock.

  rocelab perf write_bw --nic h2                   # the server
  rocelab perf write_bw --nic h1 10.0.0.2          # the client

The host is where the server's program can be reached by TCP. It tells the RDMA address itself, so
with both programs on one machine localhost will do. With -R it is the server's RDMA address.`,
	}
	for _, t := range perftest.Tests() {
		c.AddCommand(perfTestCommand(t))
	}
	c.AddCommand(pingpongCommand())
	return c
}

// perfTestCommand is one of perftest's programs.
func perfTestCommand(t perftest.Test) *cobra.Command {
	c := &cobra.Command{
		Use:     t.String() + " [HOST]",
		Aliases: []string{"ib_" + t.String()},
		Short:   fmt.Sprintf("ib_%v of perftest", t),
		Args:    cobra.ArbitraryArgs,
	}
	name := labFlag(c)
	asJSON := c.Flags().BoolP("json", "j", false, "print JSON, with rates in bytes a second")
	conf := perftest.Flags(c.Flags(), t)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := conf.Finish(args); err != nil {
			return usageError{err}
		}
		d, err := openNIC(*name, conf.NIC)
		if err != nil {
			return err
		}
		defer d.Close()
		format := perftest.Table
		if *asJSON {
			format = perftest.JSON
		}
		err = perftest.Run(c.Context(), d, *conf, format, c.OutOrStdout(),
			c.ErrOrStderr())
		if errors.Is(err, perftest.ErrLimit) {
			fmt.Fprintln(c.ErrOrStderr(), "rocelab:", err)
			return errFound
		}
		return err
	}
	return c
}

// verbsSuffix is how the names of the sockets for programs end.
const verbsSuffix = ".verbs"

// openNIC opens a NIC by its name in a lab, by that of a daemon that runs by itself, or by the
// path of its socket. Without a name it opens the only one there is.
func openNIC(labName, name string) (*rdma.Device, error) {
	path, err := findNIC(labName, name)
	if err != nil {
		return nil, err
	}
	d, err := rdma.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("no NIC has its socket at %s: %s", path, available(labName))
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("NIC at %s: %w: be root or in the group that nicd's configuration "+
			"gives under programs", path, err)
	case err != nil:
		return nil, fmt.Errorf("NIC at %s: %w", path, err)
	}
	return d, nil
}

func findNIC(labName, name string) (string, error) {
	if strings.ContainsRune(name, '/') {
		return name, nil
	}
	all := sockets(labName)
	var found []string
	for _, path := range all {
		if name == "" || strings.TrimSuffix(filepath.Base(path), verbsSuffix) == name {
			found = append(found, path)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0 && name != "":
		return "", fmt.Errorf("no NIC %s: %s", name, available(labName))
	case len(found) == 0:
		return "", errors.New(available(labName))
	}
	return "", fmt.Errorf("which NIC? %s", available(labName))
}

// sockets are those of the NICs of running labs and of daemons that run by themselves.
func sockets(labName string) (all []string) {
	pattern := func(dir string) {
		found, err := filepath.Glob(filepath.Join(dir, "*"+verbsSuffix))
		if err == nil {
			all = append(all, found...)
		}
	}
	if l, err := labs.Find(labName); err == nil {
		pattern(l.Dir)
	}
	if labName == "" {
		pattern(lab.RunDir)
	}
	return all
}

// available tells which NICs can be named.
func available(labName string) string {
	var names []string
	for _, path := range sockets(labName) {
		names = append(names, strings.TrimSuffix(filepath.Base(path), verbsSuffix))
	}
	if len(names) == 0 {
		return "no NIC runs here: rocelab up FILE starts a lab, nicd -config FILE one NIC; its " +
			"socket may also be given by path, --nic /run/rocelab/NAME" + verbsSuffix
	}
	return "choose with --nic " + strings.Join(names, "|")
}
