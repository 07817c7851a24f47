package cli

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/deploy/report"
	"github.com/rocelab/rocelab/deploy/result"
	"github.com/rocelab/rocelab/deploy/suite"
)

func reportCommand() *cobra.Command {
	var markdown string
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "write the report of what 'rocelab run --out DIR' found",
		Long: `report makes DIR/report.html of the numbers in DIR: a page that needs no network and
no program but a browser. --markdown writes the claims as text too.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := writeReport(c.OutOrStdout(), args[0], markdown); err != nil {
				return statusError{err, exitFailed}
			}
			return nil
		},
	}
	c.Flags().StringVar(&markdown, "markdown", "", "`file` for the claims in Markdown")
	return c
}

func writeReport(w io.Writer, dir, markdown string) error {
	records, err := suite.Load(dir)
	if err != nil {
		return err
	}
	left, err := suite.LoadUnfinished(dir)
	if err != nil {
		return err
	}
	if len(records) == 0 {
		return fmt.Errorf("there is no result in %s", dir)
	}
	if err := report.WriteSuite(dir, records, left); err != nil {
		return err
	}
	fmt.Fprintln(w, "report  ", filepath.Join(dir, report.ReportFile))
	if markdown == "" {
		return nil
	}
	err = result.WriteFile(markdown, func(w io.Writer) error {
		return report.Markdown(w, records, left)
	})
	if err == nil {
		fmt.Fprintln(w, "claims  ", markdown)
	}
	return err
}
