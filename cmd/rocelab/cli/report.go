package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/deploy/report"
	"github.com/rocelab/rocelab/deploy/result"
	"github.com/rocelab/rocelab/deploy/suite"
)

func reportCommand() *cobra.Command {
	var markdown, against string
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "write the report of what 'rocelab run --out DIR' found",
		Long: `report makes DIR/report.html of the numbers in DIR: a page that needs no network and
no program but a browser. --markdown writes the claims as text too.

With --against it compares how the claims stand with another folder, or with a document that
--markdown has written, prints those that stand differently, are new or are gone, and exits with
3 if there are any.`,
		Example: "  rocelab report experiments-out\n" +
			"  rocelab report experiments-out --against docs/papers.md",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			f, err := loadFolder(args[0])
			if err == nil {
				err = f.write(c.OutOrStdout(), markdown)
			}
			if err != nil {
				return statusError{err, exitFailed}
			}
			if against == "" {
				return nil
			}
			return f.against(c.OutOrStdout(), against)
		},
	}
	c.Flags().StringVar(&markdown, "markdown", "", "`file` for the claims in Markdown")
	c.Flags().StringVar(&against, "against", "",
		"`file or folder` with the verdicts that are expected")
	return c
}

// folder is what a run has left.
type folder struct {
	dir     string
	records []*suite.Record
	left    []suite.Unfinished
}

func loadFolder(dir string) (f folder, err error) {
	f.dir = dir
	if f.records, err = suite.Load(dir); err != nil {
		return f, err
	}
	if f.left, err = suite.LoadUnfinished(dir); err == nil && len(f.records) == 0 {
		err = fmt.Errorf("there is no result in %s", dir)
	}
	return f, err
}

// write leaves the page, and the claims in Markdown if a file is named for them.
func (f *folder) write(w io.Writer, markdown string) error {
	if err := report.WriteSuite(f.dir, f.records, f.left); err != nil {
		return err
	}
	fmt.Fprintln(w, "report  ", filepath.Join(f.dir, report.ReportFile))
	if markdown == "" {
		return nil
	}
	err := result.WriteFile(markdown, func(w io.Writer) error {
		return report.Markdown(w, f.records, f.left)
	})
	if err == nil {
		fmt.Fprintln(w, "claims  ", markdown)
	}
	return err
}

// finished are the records but for those in whose place a run has left something unfinished.
func (f *folder) finished() (out []*suite.Record) {
	for _, r := range f.records {
		if !slices.ContainsFunc(f.left, func(u suite.Unfinished) bool { return u.Is(r) }) {
			out = append(out, r)
		}
	}
	return out
}

// errChanged ends a comparison that found something.
var errChanged = errors.New("not every claim stands as expected")

// against compares the verdicts with those of a document or of another folder.
func (f *folder) against(w io.Writer, than string) error {
	before, err := standings(than)
	if err != nil {
		return statusError{err, exitFailed}
	}
	c := report.Compare(before, report.Standings(f.finished()))
	fmt.Fprintln(w)
	if err := c.Print(w, than); err != nil {
		return statusError{err, exitFailed}
	}
	if len(c.Changes) > 0 {
		return statusError{errChanged, exitClaims}
	}
	return nil
}

// standings are the verdicts of a document or a folder.
func standings(name string) ([]report.Standing, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		f, err := loadFolder(name)
		return report.Standings(f.finished()), err
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	all, err := report.ReadMarkdown(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return all, nil
}
