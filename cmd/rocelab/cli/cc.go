package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/deploy/labs"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/roce/ib"
)

// ccFlags are those of rocelab nic cc.
type ccFlags struct {
	preset  string
	set     []string
	tc      uint8
	qpn     string
	inherit bool
	asJSON  bool
}

func ccCommand() *cobra.Command {
	var f ccFlags
	c := &cobra.Command{
		Use:   "cc NODE [ALGORITHM]",
		Short: "show the congestion control of a NIC, or change it while it sends",
		Long: `cc shows which congestion control a NIC of a running lab uses, and how many queue
pairs follow each choice. With an algorithm it changes the NIC's, with --tc that of a traffic
class, with --qp that of one queue pair: the narrower choice wins. Queue pairs that it concerns
begin anew, as if their flows did: at line rate, or with a first window, and with nothing learnt.

An algorithm that lives on congestion feedback is refused, and nothing is changed, if one of these
queue pairs has a peer that gives none.`,
		Example: `  rocelab nic cc h1
  rocelab nic cc h1 dcqcn --preset mlx5 --set timer=55us
  rocelab nic cc h1 ldcp --tc 4
  rocelab nic cc h1 --tc 4 --inherit`,
		Args: cobra.RangeArgs(1, 2),
	}
	name := labFlag(c)
	flags := c.Flags()
	flags.StringVar(&f.preset, "preset", "", "parameter set; default: the algorithm's first")
	flags.StringArrayVar(&f.set, "set", nil, "`KEY=VALUE`: a parameter over those of the preset")
	flags.Uint8Var(&f.tc, "tc", 0, "of the queue pairs whose data is of this traffic `class`")
	flags.StringVar(&f.qpn, "qp", "", "of the queue pair of this `number`, as 0x11")
	flags.BoolVar(&f.inherit, "inherit", false, "take back what was chosen for the class or the "+
		"queue pair")
	flags.BoolVarP(&f.asJSON, "json", "j", false, "print JSON")
	c.MarkFlagsMutuallyExclusive("tc", "qp")
	c.RunE = func(c *cobra.Command, args []string) error {
		l, err := labs.Find(*name)
		if err != nil {
			return err
		}
		if len(args) == 1 && !f.inherit {
			return showCC(c.Context(), c.OutOrStdout(), l, args[0], f.asJSON)
		}
		r, err := f.request(args[1:], flags.Changed("tc"))
		if err != nil {
			return usageError{err}
		}
		return call(c.Context(), l, args[0], http.MethodPost, "/v1/cc", r, nil)
	}
	return c
}

// request is the change that the arguments want.
func (f *ccFlags) request(algorithm []string, class bool) (r nicd.CCRequest, err error) {
	switch {
	case f.inherit && len(algorithm) > 0:
		return r, fmt.Errorf("--inherit takes a choice back: want no algorithm with it")
	case f.inherit && !class && f.qpn == "":
		return r, fmt.Errorf("--inherit: want --tc or --qp with it")
	case !f.inherit:
		r.Algorithm = algorithm[0]
	}
	r.Preset = f.preset
	if class {
		r.TC = &f.tc
	}
	if f.qpn != "" {
		var n uint32
		if _, err := fmt.Sscan(f.qpn, &n); err != nil {
			return r, fmt.Errorf("--qp %q: want a number, as 0x11", f.qpn)
		}
		qpn := ib.QPN(n)
		r.QPN = &qpn
	}
	for _, text := range f.set {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return r, fmt.Errorf("--set %q: want KEY=VALUE", text)
		}
		var v any // as a file would have it
		if err := yaml.Unmarshal([]byte(value), &v); err != nil {
			return r, fmt.Errorf("--set %s: %w", key, err)
		}
		if r.Params == nil {
			r.Params = make(map[string]any)
		}
		r.Params[key] = v
	}
	return r, nil
}

func showCC(ctx context.Context, out io.Writer, l *labs.Lab, node string, asJSON bool) error {
	var st nicd.CCStatus
	if err := call(ctx, l, node, http.MethodGet, "/v1/cc", nil, &st); err != nil {
		return err
	}
	if asJSON {
		return printJSON(out, st.Choices)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "OF\tALGORITHM\tPRESET\tQPS\tPARAMETERS")
	for i := range st.Choices {
		c := &st.Choices[i]
		algorithm := c.Algorithm
		if algorithm == "" {
			algorithm = "(its program's)"
		}
		var params []string
		for _, p := range c.Parameters {
			params = append(params, p.Name+"="+p.Value)
		}
		fmt.Fprintf(w, "%v\t%s\t%s\t%d\t%s\n", c, algorithm, c.Preset, c.QPs,
			strings.Join(params, " "))
	}
	return w.Flush()
}
