package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/rocelab/rocelab/deploy/result"
)

// The table is for a terminal of 100 columns.
const (
	tableColumns  = 100
	columnGap     = 3
	minRunColumn  = 14
	maxRunColumn  = 22
	unitColumns   = 4 // of "Gb/s"
	minLabelWidth = 26
	maxLabelWidth = 40
	checkName     = 40 // columns of a check's name in the certificate
	checkText     = 20 // and of its value and limit
)

// Table prints all runs side by side, in blocks if they do not fit, and then the certificate of
// each. It is plain ASCII; whatever else is in a name shows as a question mark.
func Table(w io.Writer, r *result.Result) error {
	out := bufio.NewWriter(w)
	heading(out, r)
	if len(r.Runs) == 0 {
		fmt.Fprintln(out, "no run was made")
	}
	for rest := *r; len(rest.Runs) > 0; {
		block := rest
		block.Runs = rest.Runs[:fitting(rest.Runs)]
		rest.Runs = rest.Runs[len(block.Runs):]
		printBlock(out, &block)
	}
	for i := range r.Runs {
		certificate(out, &r.Runs[i])
	}
	return out.Flush()
}

func heading(out *bufio.Writer, r *result.Result) {
	title := r.Scenario.Name
	if r.Scenario.Description != "" {
		title += ": " + r.Scenario.Description
	}
	for _, line := range wrap(title, tableColumns) {
		fmt.Fprintln(out, line)
	}
	var parts []string
	for _, s := range settings(&r.Scenario) {
		parts = append(parts, s.Name+" "+s.Value)
	}
	for _, line := range wrap(strings.Join(parts, ", "), tableColumns) {
		fmt.Fprintln(out, line)
	}
}

// fitting is how many runs, at least one, stand beside the labels.
func fitting(runs []result.Run) int {
	width := minLabelWidth
	for n := range runs {
		width += columnGap + runWidth(&runs[n])
		if width > tableColumns && n > 0 {
			return n
		}
	}
	return len(runs)
}

func runWidth(run *result.Run) int {
	return min(max(len(ascii(runName(run))), len(ascii(run.Algorithm)), minRunColumn), maxRunColumn)
}

// printBlock prints the rows for runs that fit beside each other.
func printBlock(out *bufio.Writer, r *result.Result) {
	all := sections(r)
	label, widths := layout(all, r)
	total := label
	for _, w := range widths {
		total += columnGap + w
	}
	fmt.Fprintln(out)
	printNames(out, r, label, widths)
	fmt.Fprintln(out, strings.Repeat("-", total))
	for i, s := range all {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintln(out, clip(s.Title, total))
		for _, row := range s.Rows {
			line := fmt.Sprintf("%-*s", label, clip("  "+row.Label, label))
			for i, cell := range row.Cells {
				line += fmt.Sprintf("%*s", columnGap+widths[i], align(cell, widths[i]))
			}
			fmt.Fprintln(out, strings.TrimRight(line, " "))
		}
	}
	fmt.Fprintln(out, strings.Repeat("-", total))
}

// align puts the unit of a number into columns of its own, so that digits stand below digits.
func align(cell string, width int) string {
	number, unit, ok := strings.Cut(cell, " ")
	if !ok || len(unit) > unitColumns {
		number, unit = cell, ""
	}
	if text := fmt.Sprintf("%s %-*s", number, unitColumns, unit); len(text) <= width {
		return ascii(text)
	}
	return clip(cell, width)
}

// layout returns the columns of the labels and of each run.
func layout(all []section, r *result.Result) (label int, widths []int) {
	label = minLabelWidth
	widths = make([]int, len(r.Runs))
	for i := range r.Runs {
		widths[i] = runWidth(&r.Runs[i])
	}
	used := 0
	for _, w := range widths {
		used += columnGap + w
	}
	for _, s := range all {
		for _, row := range s.Rows {
			label = max(label, len(ascii("  "+row.Label)))
		}
	}
	return max(minLabelWidth, min(label, maxLabelWidth, tableColumns-used)), widths
}

// printNames prints the names of the runs, in several lines where they are long.
func printNames(out *bufio.Writer, r *result.Result, label int, widths []int) {
	names, height := make([][]string, len(r.Runs)), 0
	for i := range r.Runs {
		names[i] = wrap(runName(&r.Runs[i]), widths[i])
		height = max(height, len(names[i]))
	}
	for line := range height {
		text := fmt.Sprintf("%*s", label, "")
		for i, lines := range names {
			word := ""
			if at := line - (height - len(lines)); at >= 0 {
				word = lines[at]
			}
			text += fmt.Sprintf("%*s", columnGap+widths[i], word)
		}
		fmt.Fprintln(out, strings.TrimRight(text, " "))
	}
}

// certificate prints the verdict on a run and every check that led to it.
func certificate(out *bufio.Writer, run *result.Run) {
	failed := 0
	for _, c := range run.Certificate.Checks {
		if !c.OK {
			failed++
		}
	}
	head := fmt.Sprintf("%s: %s", runName(run), verdict(run.Certificate))
	switch n := len(run.Certificate.Checks); {
	case n == 0:
		head += " (nothing was checked)"
	case failed > 0:
		head += fmt.Sprintf(" (%d of %d checks failed)", failed, n)
	default:
		head += fmt.Sprintf(" (%d checks passed)", n)
	}
	fmt.Fprintln(out)
	for _, line := range wrap("Fidelity of "+head, tableColumns) {
		fmt.Fprintln(out, line)
	}
	for _, c := range run.Certificate.Checks {
		mark := "ok"
		if !c.OK {
			mark = "FAILED"
		}
		printCheck(out, mark, c)
	}
}

// printCheck prints one line, or more where a text is too long for its column.
func printCheck(out *bufio.Writer, mark string, c result.Check) {
	name, value := wrap(c.Name, checkName), wrap(c.Value, checkText)
	limit := wrap("limit "+c.Limit, checkText)
	if c.Limit == "" {
		limit = nil
	}
	for i := range max(len(name), len(value), len(limit)) {
		at := func(lines []string) string {
			if i < len(lines) {
				return lines[i]
			}
			return ""
		}
		line := fmt.Sprintf("  %-6s  %-*s  %*s   %s", mark, checkName, at(name),
			checkText, at(value), at(limit))
		fmt.Fprintln(out, strings.TrimRight(line, " "))
		mark = ""
	}
}
