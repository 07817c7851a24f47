package report

import "strings"

// ascii replaces what a plain terminal may not have.
func ascii(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == 'µ' || r == 'μ':
			return 'u'
		case r < ' ' || r > '~':
			return '?'
		}
		return r
	}, s)
}

// clip shortens s to at most width columns and shows that it did.
func clip(s string, width int) string {
	s = ascii(s)
	if len(s) <= width {
		return s
	}
	return s[:width-2] + ".."
}

// wrap breaks s at spaces into lines of at most width columns, and inside a word that is longer.
// There is always a first line.
func wrap(s string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(ascii(s)) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
		for len(line) > width {
			lines, line = append(lines, line[:width]), line[width:]
		}
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}
