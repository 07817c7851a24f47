package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/deploy/labs"
	"github.com/rocelab/rocelab/nicd"
)

func nicCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "nic",
		Short: "kinds of NICs, and what can be done to one of a running lab",
	}
	c.AddCommand(personalitiesCommand(), restorePauseCommand(), ccCommand())
	return c
}

// bookSource stands where a value is the book's because no source tells another.
const bookSource = "by the book: no source tells"

// personalityRow is a value of a personality, as the list prints it.
type personalityRow struct {
	Personality string `json:"personality"`
	Parameter   string `json:"parameter"`
	Value       string `json:"value"`
	Source      string `json:"source"` // empty if it is the book's
}

func personalitiesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "personalities [NAME]",
		Short: "list the kinds of NICs that nicd can be, or the values of one with their sources",
		Args:  cobra.MaximumNArgs(1),
	}
	asJSON := c.Flags().BoolP("json", "j", false, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		names := nicd.Personalities()
		if len(args) == 1 {
			names = args
		}
		var rows []personalityRow
		var about []string
		for _, name := range names {
			p, err := nicd.LoadPersonality(name)
			if err != nil {
				return usageError{err}
			}
			values, err := p.List()
			if err != nil {
				return err
			}
			about = append(about, p.About)
			for _, v := range values {
				rows = append(rows, personalityRow{name, v.Name, v.Value, p.Sources[v.Name]})
			}
		}
		out := c.OutOrStdout()
		switch {
		case *asJSON:
			return json.NewEncoder(out).Encode(struct {
				SchemaVersion int              `json:"schema_version"`
				Values        []personalityRow `json:"values"`
			}{1, rows})
		case len(args) == 1:
			return printPersonality(out, about[0], rows)
		}
		return printPersonalities(out, names, about, rows)
	}
	return c
}

// printPersonality prints all values of one, and where they are from.
func printPersonality(out io.Writer, about string, rows []personalityRow) error {
	fmt.Fprintln(out, about)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		source := r.Source
		if source == "" {
			source = bookSource
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.Parameter, r.Value, source)
	}
	return w.Flush()
}

// printPersonalities prints for each the values that a source tells.
func printPersonalities(out io.Writer, names, about []string, rows []personalityRow) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i, name := range names {
		var known []string
		for _, r := range rows {
			if r.Personality == name && r.Source != "" {
				known = append(known, r.Parameter+" "+r.Value)
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", name, about[i], strings.Join(known, ", "))
	}
	return w.Flush()
}

func restorePauseCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "restore-pause NODE",
		Short: "let a NIC pause its switch again, after its watchdog has forbidden it",
		Args:  cobra.ExactArgs(1),
	}
	name := labFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		l, err := labs.Find(*name)
		if err != nil {
			return err
		}
		return call(c.Context(), l, args[0], http.MethodPost, "/v1/receive/restore", nil, nil)
	}
	return c
}
