package thresholds

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Line is one step of a derivation.
type Line struct {
	Name    string  `json:"name"`
	Formula string  `json:"formula"`
	Numbers string  `json:"numbers,omitempty"` // the formula with its values
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`
	Note    string  `json:"note,omitempty"`
	bound   bool    // Value is an upper bound: digits are cut off, not rounded
}

// Derivation is how a result was found.
type Derivation struct {
	Title  string  `json:"title"`
	Source string  `json:"source"`
	Lines  []Line  `json:"lines"`
	Result float64 `json:"result"` // of the last line
	Unit   string  `json:"unit"`
}

// add appends a step and returns its value.
func (d *Derivation) add(name, formula, numbers string, value float64, unit string) float64 {
	d.Lines = append(d.Lines, Line{Name: name, Formula: formula, Numbers: numbers, Value: value,
		Unit: unit})
	d.Result, d.Unit = value, unit
	return value
}

// atMost is add for an upper bound.
func (d *Derivation) atMost(name, formula, numbers string, value float64, unit string) float64 {
	d.add(name, formula, numbers, value, unit)
	d.Lines[len(d.Lines)-1].bound = true
	return value
}

// note explains the latest step.
func (d *Derivation) note(format string, args ...any) {
	d.Lines[len(d.Lines)-1].Note = fmt.Sprintf(format, args...)
}

// String is the derivation as text: name = formula = numbers = value.
func (d *Derivation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  (%s)\n", d.Title, d.Source)
	wide := 0
	for _, l := range d.Lines {
		wide = max(wide, utf8.RuneCountInString(l.Name))
	}
	for _, l := range d.Lines {
		pad := strings.Repeat(" ", wide-utf8.RuneCountInString(l.Name))
		fmt.Fprintf(&b, "  %s%s = %s", l.Name, pad, l.Formula)
		if l.Numbers != "" && l.Numbers != l.Formula {
			fmt.Fprintf(&b, "\n  %s = %s", strings.Repeat(" ", wide), l.Numbers)
		}
		value := l.Value
		if l.bound {
			value = math.Floor(value*100) / 100
		}
		fmt.Fprintf(&b, " = %s %s\n", number(value), l.Unit)
		if l.Note != "" {
			fmt.Fprintf(&b, "  %s   %s\n", strings.Repeat(" ", wide), l.Note)
		}
	}
	return b.String()
}

// number prints a value with at most two decimals.
func number(v float64) string {
	text := strconv.FormatFloat(v, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
