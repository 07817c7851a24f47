package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/labs"
	"github.com/rocelab/rocelab/deploy/show"
)

// showOptions are what all show and clear commands take.
type showOptions struct {
	lab      string
	switches []string
	json     bool
	show.Filter
}

// viewer answers one show command about one switch.
type viewer func(context.Context, *show.Source, *showOptions) (show.Block, error)

func showCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "show",
		Short: "show the state of a running lab's switches, in SONiC's layouts",
		Long: `show prints what SONiC's command line prints on a switch, for every switch of a
running lab or those chosen with --switch. Arguments after the command are ports, as with --port.
Counters count since the last 'rocelab clear' of this user. Times are virtual.

Every command takes --json: one object with schema_version, numbers as numbers. Commands may be
abbreviated, as in 'rocelab sh pri wat sh'.`,
	}
	o := new(showOptions)
	o.flags(c)
	f := c.PersistentFlags()
	f.BoolVarP(&o.json, "json", "j", false, "print one JSON object")
	f.BoolVarP(&o.NonZero, "nonzero", "n", false, "leave out rows of zeros (also -nz)")
	f.StringArrayVarP(&o.Ports, "port", "p", nil, "only this `port`; may be repeated")
	tree := &commandTree{root: c, about: showGroups}
	for _, v := range stateViews {
		tree.add(v.path, v.about, o.command(viewState(v.counters, v.block)))
	}
	tree.add("buffer", "buffer pools and profiles",
		o.command(viewBuffer(show.Pools|show.BufferProfiles)))
	tree.add("buffer information", "buffer pools and profiles",
		o.command(viewBuffer(show.Pools|show.BufferProfiles)))
	tree.add("buffer profile", "buffer profiles", o.command(viewBuffer(show.BufferProfiles)))
	tree.add("buffer pool", "buffer pools; below: watermarks", o.command(viewBuffer(show.Pools)))
	tree.add("ecn", "WRED and ECN profiles, as ecnconfig -l", o.command(viewECN))
	tree.add("drift", "where the running configuration is not the desired one", o.command(
		func(ctx context.Context, s *show.Source, _ *showOptions) (show.Block, error) {
			return s.Drift(ctx)
		}))
	tree.addLeaf("pfc", o.pfcCounters())
	tree.addLeaf("pfcwd", o.pfcwdStats())
	tree.addLeaf("interfaces", o.interfaceCounters())
	tree.addLeaf("", o.events())
	tree.addLeaf("", o.deadlock())
	tree.addLeaf("", o.pingmesh())
	tree.addForwarding(o)
	tree.addRDMA(o)
	return c
}

// showGroups are the commands that only have others below them.
var showGroups = map[string]string{
	"pfc":                                 "priority-based flow control",
	"pfcwd":                               "the PFC storm watchdog",
	"priority-group":                      "ingress priority groups",
	"priority-group watermark":            "the most that was stored since it was cleared",
	"priority-group persistent-watermark": "the other watermark, cleared on its own",
	"priority-group drop":                 "packets that priority groups refused",
	"queue":                               "egress queues",
	"queue watermark":                     "the most that was stored since it was cleared",
	"queue persistent-watermark":          "the other watermark, cleared on its own",
	"buffer":                              "buffer pools and profiles",
	"buffer_pool":                         "watermarks of buffer pools",
	"headroom-pool":                       "watermarks of headroom",
	"interfaces":                          "ports",
	"rdma":                                "the NICs of the hosts",
	"ip":                                  "IPv4",
	"ipv6":                                "IPv6",
}

func (o *showOptions) flags(c *cobra.Command) {
	f := c.PersistentFlags()
	f.StringVar(&o.lab, "lab", "", "`name` of the lab; not needed while only one runs")
	f.StringArrayVar(&o.switches, "switch", nil,
		"only this `switch`; may be repeated; default: all")
}

// sources are the chosen switches of the lab.
func (o *showOptions) sources() (*labs.Lab, []*show.Source, error) {
	l, err := labs.Find(o.lab)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range o.switches {
		if n, err := l.Node(name); err != nil {
			return nil, nil, usageError{err}
		} else if n.Kind != lab.Switch {
			return nil, nil, usageError{fmt.Errorf("%s is a %s, not a switch", name, n.Kind)}
		}
	}
	var list []*show.Source
	for _, n := range l.Nodes {
		if n.Kind != lab.Switch || (len(o.switches) > 0 && !slices.Contains(o.switches, n.Name)) {
			continue
		}
		client, err := l.Client(n.Name)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, &show.Source{Name: n.Name, Client: client, Close: client.Close,
			Cache: filepath.Join(l.Dir, "cache", strconv.Itoa(os.Getuid()))})
	}
	if len(list) == 0 {
		return nil, nil, fmt.Errorf("lab %s has no switch", l.Name)
	}
	return l, list, nil
}

// ask has every chosen switch answer.
func (o *showOptions) ask(c *cobra.Command, view viewer) (*show.Answer, error) {
	l, sources, err := o.sources()
	if err != nil {
		return nil, err
	}
	path := strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
	answer := &show.Answer{Lab: l.Name, Command: path}
	for _, s := range sources {
		defer s.Close()
		block, err := view(c.Context(), s, o)
		if errors.As(err, new(*show.NoPort)) || errors.As(err, new(*show.NoAddress)) {
			err = usageError{err}
		}
		if err != nil {
			return nil, err
		}
		answer.Blocks = append(answer.Blocks, block)
	}
	return answer, nil
}

func (o *showOptions) print(c *cobra.Command, answer *show.Answer) error {
	if o.json {
		return answer.JSON(c.OutOrStdout())
	}
	return answer.Text(c.OutOrStdout())
}

// command is a show command that takes ports as arguments.
func (o *showOptions) command(view viewer) *cobra.Command {
	return &cobra.Command{
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			o.Ports = append(o.Ports, args...)
			answer, err := o.ask(c, view)
			if err != nil {
				return err
			}
			return o.print(c, answer)
		},
	}
}
