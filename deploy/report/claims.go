package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/rocelab/rocelab/deploy/suite"
)

// Claims prints for each record its claims beside what the paper says: plain ASCII, for a terminal
// of 100 columns.
func Claims(w io.Writer, records []*suite.Record) error {
	out := bufio.NewWriter(w)
	held, all := 0, 0
	for i, r := range records {
		if i > 0 {
			fmt.Fprintln(out)
		}
		for _, line := range wrap(sectionTitle(r), tableColumns) {
			fmt.Fprintln(out, line)
		}
		for _, e := range r.Errors {
			first, _, _ := strings.Cut(e, "\n")
			for _, line := range wrap("ERROR "+first, tableColumns) {
				fmt.Fprintln(out, line)
			}
		}
		for _, text := range provenance(r) {
			for _, line := range wrap(text, tableColumns) {
				fmt.Fprintln(out, line)
			}
		}
		if len(r.Claims) > 0 {
			claimLine(out, "claim", "paper", "ours", "rule", "holds")
		}
		for _, c := range r.Claims {
			claimLine(out, c.Text, orNothing(c.Paper), ours(&c), c.Rule, yesNo(c.Holds))
			if all++; c.Holds {
				held++
			}
		}
		printTables(out, r.Tables)
	}
	if all > 0 {
		fmt.Fprintf(out, "\n%d of %d claims hold\n", held, all)
	}
	return out.Flush()
}

// provenance says which runs the claims are judged by. A hash stands for all that happened in
// them: it is the same wherever and whenever they are run again.
func provenance(r *suite.Record) (lines []string) {
	if r.Cells > 0 && len(r.Errors) == 0 {
		lines = append(lines, fmt.Sprintf("seeds %s, %s, hash %s", seedText(r.Seeds),
			counted(r.Cells, "run"), r.Hash))
	}
	line, failed := certificates(r.Certificates)
	if line != "" {
		lines = append(lines, "certificates: "+line)
	}
	for _, f := range failed {
		lines = append(lines, "INVALID "+f.Cell+": "+f.Text)
	}
	return lines
}

// counted prints a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func sectionTitle(r *suite.Record) string {
	if r.Paper == "" {
		return fmt.Sprintf("%s (%s)", r.ID, r.Mode) // a user's own
	}
	return fmt.Sprintf("%s (%s %s, %s)", r.ID, r.Paper, r.Where, r.Mode)
}

// claimColumns are the widths of a claim's columns; with the gaps they make tableColumns.
var claimColumns = [...]int{36, 14, 20, 17, 5}

const claimGap = 2

// claimLine prints the texts of a claim beside each other.
func claimLine(out *bufio.Writer, texts ...string) { columnLine(out, claimColumns[:], texts...) }

// columnLine prints texts beside each other, each wrapped in its column.
func columnLine(out *bufio.Writer, widths []int, texts ...string) {
	columns, height := make([][]string, len(widths)), 0
	for i, text := range texts {
		columns[i] = wrap(text, widths[i])
		height = max(height, len(columns[i]))
	}
	for row := range height {
		var b strings.Builder
		for i, lines := range columns {
			cell := ""
			if row < len(lines) {
				cell = lines[row]
			}
			fmt.Fprintf(&b, "%-*s", widths[i]+claimGap, cell)
		}
		fmt.Fprintln(out, strings.TrimRight(b.String(), " "))
	}
}

func yesNo(holds bool) string {
	if holds {
		return "yes"
	}
	return "NO"
}

func orNothing(s string) string {
	if s == "" {
		return none
	}
	return s
}

// ours prints our number of a claim with its interval and unit.
func ours(c *suite.Claim) string {
	text := Digits(c.Ours, 4)
	if c.Interval != nil {
		if half := (c.Interval[1] - c.Interval[0]) / 2; half > 0 {
			text += " +- " + Digits(half, 2)
		}
	}
	return withUnit(text, c.Unit)
}

// Digits prints a number with so many significant digits, and those before the point, without
// trailing zeros; only what is very large or very small gets an exponent.
func Digits(v float64, n int) string {
	size := math.Abs(v)
	if size != 0 && (size < 1e-3 || size >= 1e9) {
		return strconv.FormatFloat(v, 'g', n, 64)
	}
	if size >= math.Pow10(n-1) {
		return countNumber(v)
	}
	decimals := n - 1
	if size != 0 {
		decimals = n - 1 - int(math.Floor(math.Log10(size)))
	}
	return trimZeros(strconv.FormatFloat(v, 'f', decimals, 64))
}

// countNumber prints a whole number with its thousands apart.
func countNumber(v float64) string {
	text := countText(uint64(math.Round(math.Abs(v))))
	if v < 0 {
		return "-" + text
	}
	return text
}
