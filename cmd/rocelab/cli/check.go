package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/deploy/check"
)

func checkCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "warn where a switch configuration can drop in a lossless class",
		Long: `check reads a switch's YAML file, a topology file or a SONiC config_db.json and
names every inequality that does not hold, with its numbers: where a frame of a lossless class can
be dropped, paused before it is marked, or never marked. It exits with 0 if there is none, 1 if
there are warnings, 2 if the file cannot be read.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := check.File(args[0])
			if err != nil {
				return usageError{err}
			}
			if err := printReport(c.OutOrStdout(), r, asJSON); err != nil {
				return err
			}
			if len(r.Warnings) > 0 {
				return errFound
			}
			return nil
		},
	}
	c.Flags().BoolVarP(&asJSON, "json", "j", false, "print JSON")
	return c
}

func printReport(w io.Writer, r *check.Report, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	for _, remark := range r.Remarks {
		fmt.Fprintln(w, "note   ", remark)
	}
	for _, warning := range r.Warnings {
		fmt.Fprintln(w, "warning", warning)
	}
	if len(r.Warnings) == 0 {
		fmt.Fprintf(w, "%s: %d checks of %d switches, no warning\n", r.File, len(r.Checks),
			len(r.Switches))
	}
	return nil
}
