package suite

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// shown is what stands on a terminal, by line, after bytes were written to it. It knows what a
// screen uses: new lines, returns, and to erase from the cursor to the end of the line.
func shown(text string) []string {
	lines, column := []string{""}, 0
	for len(text) > 0 {
		last := len(lines) - 1
		switch {
		case strings.HasPrefix(text, "\x1b[K"):
			lines[last] = lines[last][:column]
			text = text[len("\x1b[K"):]
			continue
		case text[0] == '\r':
			column = 0
		case text[0] == '\n':
			lines, column = append(lines, ""), 0
		default:
			line := []byte(lines[last])
			if column == len(line) {
				line = append(line, 0)
			}
			line[column] = text[0]
			lines[last] = string(line)
			column++
		}
		text = text[1:]
	}
	return lines
}

// Whatever comes in whatever order: the lines that stay are whole and in their order, and below
// them is what was drawn last.
func TestScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		s := screen{out: &out}
		var stay, drawn string
		check := func(what, drawn string) {
			whole := stay[:strings.LastIndexByte(stay, '\n')+1]
			want := strings.Split(whole+drawn, "\n")
			if got := shown(out.String()); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%s: %q, want %q", what, got, want)
			}
		}
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "draw") {
				drawn = rapid.StringMatching("[a-z0-9 ]{0,20}").Draw(t, "line")
				s.draw(drawn)
			} else {
				text := rapid.StringMatching("[A-Z\n]{0,12}").Draw(t, "text")
				if n, err := s.Write([]byte(text)); n != len(text) || err != nil {
					t.Fatalf("wrote %d of %d, %v", n, len(text), err)
				}
				stay += text
			}
			check("under way", drawn)
		}
		s.close()
		if !strings.HasSuffix(stay, "\n") && stay != "" {
			want := strings.Split(stay, "\n")
			if got := shown(out.String()); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("closed: %q, want %q", got, want)
			}
			return
		}
		check("closed", "")
	})
}

// On a terminal what ended has no line of its own; what a cell logs has, and the line that is drawn
// is gone at the end.
func TestTerminal(t *testing.T) {
	var told bytes.Buffer
	p := &Progress{Out: &told, Columns: 80}
	log := slog.New(slog.NewTextHandler(p, &slog.HandlerOptions{ReplaceAttr: func(_ []string,
		a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	var f fake
	e := f.experiment("one")
	e.Cells = func(Options) []Cell {
		return []Cell{{Name: "c", Run: func(_ context.Context, env Env) (Outcome, error) {
			p.on().draw("0/1 cells: one c")
			env.Log.Warn("no room", "port", 3)
			if got := shown(told.String()); len(got) != 2 || got[1] != "0/1 cells: one c" {
				t.Errorf("after a warning: %q", got)
			}
			return Outcome{Numbers: map[string]float64{"value": 1}}, nil
		}}}
	}
	run(t, &Suite{Experiments: []Experiment{e}, Progress: p, Log: log})
	want := []string{"level=WARN msg=\"no room\" port=3", ""}
	if got := shown(told.String()); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("in the end %q, want %q", got, want)
	}
}
