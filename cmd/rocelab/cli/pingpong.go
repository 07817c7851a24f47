package cli

import (
	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/nicd/pingpong"
)

func pingpongCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "pingpong [HOST]",
		Short: "ibv_rc_pingpong, ibv_ud_pingpong and ibv_srq_pingpong of rdma-core",
		Long: `pingpong sends a message to and fro, as the ibv_*_pingpong programs of
rdma-core do, either of which may be the other end (give them -g, the index of their address).
Without HOST it is the server.`,
		Args: cobra.MaximumNArgs(1),
	}
	name := labFlag(c)
	f := c.Flags()
	nic := f.StringP("nic", "d", "", "the `NIC`: its name in a lab or the path of its verbs socket")
	ud := f.Bool("ud", false, "as ibv_ud_pingpong: datagrams")
	srq := f.Bool("srq", false, "as ibv_srq_pingpong: several QPs with one receive queue")
	d := pingpong.Defaults(pingpong.RC)
	port := f.Uint16P("port", "p", d.Port, "TCP `port` to listen on or connect to")
	size := f.IntP("size", "s", 0, "`bytes` a message; default: 4096, with --ud 1024")
	mtu := f.IntP("mtu", "m", d.MTU, "path MTU in `bytes`")
	depth := f.IntP("rx-depth", "r", d.RxDepth, "receives posted")
	iterations := f.IntP("iters", "n", d.Iterations, "`messages`, over all QPs")
	qps := f.IntP("num-qp", "q", 0, "queue pairs with --srq; default: 16")
	six := f.Bool("ipv6", false, "use an IPv6 address")
	check := f.BoolP("check", "c", false, "the client compares what comes back")
	patience := f.Duration("patience", d.Patience,
		"real `time` without progress after which to give up")
	c.MarkFlagsMutuallyExclusive("ud", "srq")
	c.RunE = func(c *cobra.Command, args []string) error {
		kind := pingpong.RC
		switch {
		case *ud:
			kind = pingpong.UD
		case *srq:
			kind = pingpong.SRQ
		}
		conf := pingpong.Defaults(kind)
		conf.Port, conf.MTU, conf.RxDepth, conf.Iterations = *port, *mtu, *depth, *iterations
		conf.IPv6, conf.Check, conf.Patience = *six, *check, *patience
		if *size > 0 {
			conf.Size = *size
		}
		if *qps > 0 {
			conf.QPs = *qps
		}
		if len(args) == 1 {
			conf.Server = args[0]
		}
		if err := conf.Validate(); err != nil {
			return usageError{err}
		}
		dev, err := openNIC(*name, *nic)
		if err != nil {
			return err
		}
		defer dev.Close()
		return pingpong.Run(c.Context(), dev, conf, c.OutOrStdout(), c.ErrOrStderr())
	}
	return c
}
