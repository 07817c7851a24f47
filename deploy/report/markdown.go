package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rocelab/rocelab/deploy/suite"
)

// Markdown writes every claim, where we stand and why we differ where we do: the document that
// stands in the repository. It has nothing that changes from run to run in virtual time.
func Markdown(w io.Writer, records []*suite.Record, left []suite.Unfinished) error {
	out := bufio.NewWriter(w)
	held, all := 0, 0
	for _, r := range records {
		all += len(r.Claims)
		for _, c := range r.Claims {
			if c.Holds {
				held++
			}
		}
	}
	fmt.Fprintf(out, `# The papers, reproduced

What the papers measured beside what rocelab measures: %d of %d claims hold. A claim that does not
hold is listed as such, with our number. "+-" is half of the 95 %% confidence interval over seeds
(Student's t).

`+"`make experiments`"+` runs everything in virtual time and leaves a report with figures in
experiments-out; `+"`rocelab run ID`"+` runs one. This file is written by
`+"`rocelab report experiments-out --markdown docs/papers.md`"+`.

`, held, all)
	if len(left) > 0 {
		fmt.Fprint(out, "The run was interrupted. Not judged, because not every cell was run:\n\n")
		for _, line := range unfinishedLines(records, left) {
			fmt.Fprintf(out, "- %s\n", line)
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out, "| experiment | in the paper | mode | claims that hold |\n|---|---|---|---|")
	groups := byExperiment(records)
	for _, g := range groups {
		for _, r := range g {
			fmt.Fprintf(out, "| [%s](#%s) | %s | %s | %s |\n", r.ID, r.ID, cell(r.Paper+" "+
				r.Where), r.Mode, standing(r))
		}
	}
	for _, g := range groups {
		fmt.Fprintf(out, "\n## %s\n\n%s %s, %s.\n", g[0].ID, g[0].Title, g[0].PaperTitle,
			g[0].Where)
		for _, r := range g {
			markdownRecord(out, r)
		}
	}
	return out.Flush()
}

func standing(r *suite.Record) string {
	if len(r.Errors) > 0 {
		return "failed"
	}
	n := len(slices.DeleteFunc(slices.Clone(r.Claims), func(c suite.Claim) bool {
		return !c.Holds
	}))
	return fmt.Sprintf("%d of %d", n, len(r.Claims))
}

func markdownRecord(out *bufio.Writer, r *suite.Record) {
	mode := virtualText
	if r.Mode == suite.Real {
		mode = realText
	}
	fmt.Fprintf(out, "\n%s, seeds %s:\n\n", mode, seedText(r.Seeds))
	if len(r.Errors) > 0 {
		first, _, _ := strings.Cut(r.Errors[0], "\n")
		fmt.Fprintf(out, "%s%s\n", failedText, first)
		return
	}
	fmt.Fprintf(out, "%s\n|---|---|---|---|---|\n", claimHead)
	for _, c := range r.Claims {
		verdict := missedText
		if c.Holds {
			verdict = holdsText
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", cell(c.Text), cell(orNothing(c.Paper)),
			cell(ours(&c)), cell(c.Rule), verdict)
	}
	if r.Shorter != "" || len(r.Notes) > 0 {
		fmt.Fprintln(out)
	}
	if r.Shorter != "" {
		fmt.Fprintf(out, "- Shorter than the paper: %s\n", r.Shorter)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(out, "- %s\n", note)
	}
}

// cell keeps a text inside its cell of a table.
func cell(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "\n", " ", "<", "&lt;").Replace(s)
}
