package show

import (
	"strings"
	"unicode/utf8"
)

// table is a table in python-tabulate's format "simple": columns two spaces apart, at least two
// wider than their titles, a rule below the titles, no space at the end of a line.
type table struct {
	titles []string
	left   []bool // aligned to the left, as tabulate does with texts; SONiC mostly asks for right
	rows   [][]string
}

// right makes a table whose columns are all aligned to the right.
func right(titles ...string) *table {
	return &table{titles: titles, left: make([]bool, len(titles))}
}

// left makes a table whose columns are all aligned to the left.
func left(titles ...string) *table {
	t := right(titles...)
	for i := range t.left {
		t.left[i] = true
	}
	return t
}

// row adds a row. An empty one is an empty line.
func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

const (
	gap        = "  "
	titleSlack = 2 // MIN_PADDING
)

func (t *table) String() string {
	width := make([]int, len(t.titles))
	for i, title := range t.titles {
		width[i] = utf8.RuneCountInString(title) + titleSlack
	}
	var b strings.Builder
	t.widen(width)
	t.line(&b, width, t.titles)
	t.line(&b, width, rules(width))
	for _, r := range t.rows {
		t.line(&b, width, r)
	}
	return b.String()
}

// bare is the table without titles, between two rules: how SONiC lists the fields of a profile.
func (t *table) bare() string {
	width := make([]int, len(t.titles))
	var b strings.Builder
	t.widen(width)
	t.line(&b, width, rules(width))
	for _, r := range t.rows {
		t.line(&b, width, r)
	}
	t.line(&b, width, rules(width))
	return b.String()
}

func (t *table) widen(width []int) {
	for _, r := range t.rows {
		for i, cell := range r {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
}

func rules(width []int) (cells []string) {
	for _, n := range width {
		cells = append(cells, strings.Repeat("-", n))
	}
	return cells
}

func (t *table) line(b *strings.Builder, width []int, cells []string) {
	var line strings.Builder
	for i, cell := range cells {
		if i > 0 {
			line.WriteString(gap)
		}
		pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
		if t.left[i] {
			line.WriteString(cell + pad)
		} else {
			line.WriteString(pad + cell)
		}
	}
	b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}
