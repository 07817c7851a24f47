package cli

import (
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/lab"
)

// shape is what `rocelab topology` builds a network of.
type shape struct {
	name        string
	links, core fabric.Links
	seed        uint64
	podsets     fabric.PodsetShape
	hosts, k    int
}

// network is a kind of network that `rocelab topology` knows.
type network struct {
	use, short string
	flags      func(f *pflag.FlagSet, s *shape)
	build      func(s *shape) lab.Topology
}

var networkKinds = []network{
	{"star", "hosts on one switch",
		func(f *pflag.FlagSet, s *shape) { f.IntVar(&s.hosts, "hosts", 4, "hosts") },
		func(s *shape) lab.Topology { return fabric.Star(s.name, s.hosts, s.links) }},
	{"dumbbell", "pairs of hosts on two switches with one link between them",
		func(f *pflag.FlagSet, s *shape) {
			f.IntVar(&s.hosts, "pairs", 4, "hosts on either side")
			f.Var(rateFlag{&s.core.Rate}, "core-rate", "rate of the link between the switches")
			f.DurationVar(&s.core.Delay, "core-delay", s.core.Delay, "its propagation delay")
		},
		func(s *shape) lab.Topology { return fabric.Dumbbell(s.name, s.hosts, s.links, s.core) }},
	{"parking-lot", "three flows with two bottlenecks, [DCQCN] figure 20", noFlags,
		func(s *shape) lab.Topology { return fabric.ParkingLot(s.name, s.links) }},
	{"testbed", "four ToRs, four leaves, two spines, [DCQCN] figure 2",
		func(f *pflag.FlagSet, s *shape) {
			f.IntVar(&s.hosts, "hosts-per-tor", 5, "hosts of a ToR")
		},
		func(s *shape) lab.Topology { return fabric.Testbed(s.name, s.hosts, s.links) }},
	{"two-tier", "ToRs and leaves, [RDMA at scale] figure 8",
		func(f *pflag.FlagSet, s *shape) { podFlags(f, &s.podsets, 2) },
		func(s *shape) lab.Topology {
			p := s.podsets
			return fabric.TwoTier(s.name, p.ToRs, p.Leaves, p.Hosts, s.links)
		}},
	{"podsets", "podsets of ToRs and leaves below spines, [RDMA at scale] figure 7",
		func(f *pflag.FlagSet, s *shape) {
			podFlags(f, &s.podsets, s.podsets.ToRs)
			f.IntVar(&s.podsets.Podsets, "podsets", s.podsets.Podsets, "podsets")
			f.IntVar(&s.podsets.Spines, "spines", s.podsets.Spines, "spines in all")
		},
		func(s *shape) lab.Topology { return fabric.Podsets(s.name, s.podsets, s.links) }},
	{"fat-tree", "a fat tree of switches with k ports",
		func(f *pflag.FlagSet, s *shape) { f.IntVar(&s.k, "k", 4, "ports of each switch") },
		func(s *shape) lab.Topology { return fabric.FatTree(s.name, s.k, s.links) }},
}

func noFlags(*pflag.FlagSet, *shape) {}

func podFlags(f *pflag.FlagSet, p *fabric.PodsetShape, tors int) {
	f.IntVar(&p.ToRs, "tors", tors, "ToRs of a pod")
	f.IntVar(&p.Leaves, "leaves", p.Leaves, "leaves of a pod")
	f.IntVar(&p.Hosts, "hosts-per-tor", p.Hosts, "hosts of a ToR")
}

func topologyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "topology",
		Short: "print a topology file of one of the papers' networks",
		Long: `topology prints a topology file for rocelab up: the networks of the papers'
experiments, in any size. The file is the place for everything else that a lab may have.`,
		Example: "  rocelab topology testbed --hosts-per-tor 5 > testbed.yaml\n" +
			"  rocelab up testbed.yaml",
	}
	for _, n := range networkKinds {
		c.AddCommand(networkCommand(n))
	}
	return c
}

func networkCommand(n network) *cobra.Command {
	usual := fabric.Links{Rate: 40 * unit.GbPerSecond, Delay: time.Microsecond}
	s := &shape{name: n.use, links: usual, core: usual, podsets: fabric.Figure7()}
	c := &cobra.Command{
		Use:   n.use,
		Short: n.short,
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			t, err := fabric.Try(func() lab.Topology { return n.build(s) })
			if err != nil {
				return usageError{err}
			}
			t.Seed = s.seed
			for _, f := range t.Validate() {
				return usageError{fmt.Errorf("%s: %s", f.Path, f.Problem)}
			}
			return writeTopology(c.OutOrStdout(), commandLine(c), &t)
		},
	}
	n.flags(c.Flags(), s)
	c.Flags().StringVar(&s.name, "name", s.name, "name of the lab, and prefix of its namespaces")
	c.Flags().Var(rateFlag{&s.links.Rate}, "rate", "rate of every link")
	c.Flags().DurationVar(&s.links.Delay, "delay", s.links.Delay, "propagation delay of every link")
	c.Flags().Uint64Var(&s.seed, "seed", 0, "of all dice of the lab, ECMP among them; 0: by names")
	return c
}

// commandLine is what made a file, to be found at its head.
func commandLine(c *cobra.Command) string {
	line := c.CommandPath()
	c.Flags().Visit(func(f *pflag.Flag) { line += fmt.Sprintf(" --%s %s", f.Name, f.Value) })
	return line
}

// writeTopology writes what a builder made, with a line for each host and link. Everything else is
// as by default.
func writeTopology(w io.Writer, head string, t *lab.Topology) error {
	file := struct {
		Name  string `yaml:"name"`
		Seed  uint64 `yaml:"seed,omitempty"`
		Nodes []any  `yaml:"nodes"`
		Links []any  `yaml:"links"`
	}{Name: t.Name, Seed: t.Seed}
	for _, n := range t.Nodes {
		if n.Kind == lab.Switch {
			file.Nodes = append(file.Nodes, switchEntry{n.Name, n.Kind, n.Switch})
		} else {
			file.Nodes = append(file.Nodes, line{hostEntry{n.Name, n.Kind, n.IPv4}})
		}
	}
	for _, l := range t.Links {
		file.Links = append(file.Links, line{l})
	}
	fmt.Fprintln(w, "#", head)
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	return enc.Encode(file)
}

type switchEntry struct {
	Name   string    `yaml:"name"`
	Kind   lab.Kind  `yaml:"kind"`
	Switch yaml.Node `yaml:"switch,omitempty"`
}

type hostEntry struct {
	Name string       `yaml:"name"`
	Kind lab.Kind     `yaml:"kind"`
	IPv4 netip.Prefix `yaml:"ipv4"`
}

// line is written on one.
type line struct{ of any }

func (l line) MarshalYAML() (any, error) {
	var n yaml.Node
	err := n.Encode(l.of)
	n.Style = yaml.FlowStyle
	return &n, err
}
