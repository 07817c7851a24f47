package cli

import (
	"context"
	"net/netip"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/deploy/show"
)

// addForwarding adds what shows the MAC table, neighbours and routes.
func (t *commandTree) addForwarding(o *showOptions) {
	t.add("mac", "the MAC table", o.command(
		func(ctx context.Context, s *show.Source, o *showOptions) (show.Block, error) {
			return s.MACs(ctx, &o.Filter)
		}))
	t.addLeaf("", o.neighbours("arp", "IPv4 neighbours", false))
	t.addLeaf("", o.neighbours("ndp", "IPv6 neighbours", true))
	t.addLeaf("", o.routes("IPv4 routes, as ip route", false))
	t.addLeaf("ip", o.routes("IPv4 routes", false))
	t.addLeaf("ipv6", o.routes("IPv6 routes", true))
}

// address is an optional argument; not valid if it is not there.
func address(args []string) (addr netip.Addr, err error) {
	if len(args) == 0 {
		return addr, nil
	}
	if addr, err = netip.ParseAddr(args[0]); err != nil {
		return addr, usageError{&show.NoAddress{Text: args[0]}}
	}
	return addr, nil
}

func (o *showOptions) neighbours(name, about string, ndp bool) *cobra.Command {
	return &cobra.Command{
		Use: name + " [ADDRESS]", Short: about, Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			only, err := address(args)
			if err != nil {
				return err
			}
			answer, err := o.ask(c, func(ctx context.Context, s *show.Source,
				_ *showOptions) (show.Block, error) {
				return s.Neighbours(ctx, ndp, only)
			})
			if err != nil {
				return err
			}
			return o.print(c, answer)
		},
	}
}

func (o *showOptions) routes(about string, ipv6 bool) *cobra.Command {
	return &cobra.Command{
		Use: "route [ADDRESS|PREFIX]", Short: about, Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			to := ""
			if len(args) > 0 {
				to = args[0]
			}
			answer, err := o.ask(c, func(ctx context.Context, s *show.Source,
				_ *showOptions) (show.Block, error) {
				return s.Routes(ctx, ipv6, to)
			})
			if err != nil {
				return err
			}
			return o.print(c, answer)
		},
	}
}

// clearForwarding adds what forgets learnt addresses and neighbours.
func (t *commandTree) clearForwarding(o *showOptions) {
	for _, n := range []struct {
		name, about string
		ndp         bool
	}{{"arp", "IPv4 neighbours, or one", false}, {"ndp", "IPv6 neighbours, or one", true}} {
		c := &cobra.Command{Use: n.name + " [ADDRESS]", Short: n.about, Args: cobra.MaximumNArgs(1)}
		c.RunE = func(c *cobra.Command, args []string) error {
			only, err := address(args)
			if err != nil {
				return err
			}
			return o.does(func(ctx context.Context, s *show.Source) error {
				return s.ClearNeighbours(ctx, n.ndp, only)
			}).RunE(c, nil)
		}
		t.addLeaf("", c)
	}
	t.add("fdb all", "of all ports", o.does(func(ctx context.Context, s *show.Source) error {
		return s.FlushMACs(ctx, "")
	}))
	port := &cobra.Command{Use: "port PORT", Short: "of one port", Args: cobra.ExactArgs(1)}
	port.RunE = func(c *cobra.Command, args []string) error {
		return o.does(func(ctx context.Context, s *show.Source) error {
			if _, err := s.State(ctx, &show.Filter{Ports: args}); err != nil {
				return usageError{err}
			}
			return s.FlushMACs(ctx, args[0])
		}).RunE(c, nil)
	}
	t.addLeaf("fdb", port)
}
