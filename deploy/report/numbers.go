package report

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/rocelab/rocelab/deploy/suite"
)

// printTables prints what an experiment tabulates, each column as wide as it must be.
func printTables(out *bufio.Writer, tables []suite.Table) {
	for _, t := range tables {
		fmt.Fprintf(out, "\n%s\n", ascii(t.Title))
		widths := make([]int, len(t.Columns))
		rows := append([][]string{t.Columns}, t.Rows...)
		for _, row := range rows {
			for i, cell := range row {
				widths[i] = max(widths[i], len(ascii(cell)))
			}
		}
		for _, row := range rows {
			var b strings.Builder
			for i, cell := range row {
				if i == 0 {
					fmt.Fprintf(&b, "%-*s", widths[i], ascii(cell))
					continue
				}
				fmt.Fprintf(&b, "  %*s", widths[i], ascii(cell))
			}
			fmt.Fprintln(out, strings.TrimRight(b.String(), " "))
		}
	}
}
