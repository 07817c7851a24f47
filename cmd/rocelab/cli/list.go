package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/deploy/suite"
)

// listed is an experiment as 'rocelab list' tells of it.
type listed struct {
	ID     string       `json:"id"`
	Paper  string       `json:"paper"`
	Where  string       `json:"figure"`
	Title  string       `json:"title"`
	Modes  []suite.Mode `json:"modes"`
	Seeds  int          `json:"seeds"`
	States []state      `json:"states,omitempty"` // in the folder asked for
}

// state is how the claims of an experiment stand in a mode.
type state struct {
	Mode   suite.Mode `json:"mode"`
	Holds  int        `json:"claims_that_hold"`
	Claims int        `json:"claims"`
	Failed bool       `json:"failed,omitempty"`
}

func (s state) String() string {
	if s.Failed {
		return fmt.Sprintf("%s: failed", s.Mode)
	}
	return fmt.Sprintf("%s: %d of %d hold", s.Mode, s.Holds, s.Claims)
}

func listCommand(all func() []suite.Experiment) *cobra.Command {
	var dir string
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "tell which measurements of the papers can be reproduced",
		Long: `list prints every experiment: its id for 'rocelab run', where the paper has it, the
modes that it runs in, and with --out how its claims stand in a folder that 'rocelab run' left.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			experiments, err := list(all(), dir)
			if err != nil {
				return statusError{err, exitFailed}
			}
			if asJSON {
				return writeJSON(c.OutOrStdout(), experiments)
			}
			return printList(c.OutOrStdout(), experiments)
		},
	}
	c.Flags().StringVarP(&dir, "out", "o", "", "`folder` of a run")
	c.Flags().BoolVarP(&asJSON, "json", "j", false, "print JSON")
	return c
}

func list(all []suite.Experiment, dir string) (out []listed, err error) {
	states := map[string][]state{}
	if dir != "" {
		records, err := suite.Load(dir)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			s := state{Mode: r.Mode, Claims: len(r.Claims), Failed: len(r.Errors) > 0}
			for _, claim := range r.Claims {
				if claim.Holds {
					s.Holds++
				}
			}
			states[r.ID] = append(states[r.ID], s)
		}
	}
	for _, e := range all {
		out = append(out, listed{ID: e.ID, Paper: e.Paper.Key, Where: e.Where, Title: e.Title,
			Modes: e.Modes, Seeds: e.Seeds, States: states[e.ID]})
	}
	return out, nil
}

func printList(w io.Writer, experiments []listed) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tPAPER\tWHERE\tMODES\tCLAIMS")
	for _, e := range experiments {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", e.ID, e.Paper, e.Where, joined(e.Modes, " "),
			joined(e.States, ", "))
	}
	return t.Flush()
}

func joined[T any](values []T, separator string) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, separator)
}
