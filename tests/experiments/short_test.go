package experiments

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/deploy/papers"
	"github.com/rocelab/rocelab/deploy/report"
	"github.com/rocelab/rocelab/deploy/suite"
)

var update = flag.Bool("update", false, "rewrite the golden table")

// TestShort: no cell of any experiment fails, and every claim stands where it stood, with the same
// number to three digits. Virtual time is deterministic, so a number that moves was moved.
func TestShort(t *testing.T) {
	chosen, err := suite.Select(papers.All(), suite.Virtual, []string{suite.All})
	if err != nil {
		t.Fatal(err)
	}
	s := suite.Suite{Experiments: chosen, Options: suite.Options{Mode: suite.Virtual,
		Short: true, Seeds: 1}}
	records, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	for _, r := range records {
		for _, e := range r.Errors {
			t.Errorf("%s: %s", r.ID, e)
		}
		fmt.Fprintf(&table, "%s\n", r.ID)
		for _, c := range r.Claims {
			holds := "holds"
			if !c.Holds {
				holds = "DOES NOT HOLD"
			}
			number := strings.TrimSpace(report.Digits(c.Ours, 3) + " " + c.Unit)
			fmt.Fprintf(&table, "  %s\n    %s (%s): %s\n", c.Text, number, c.Rule, holds)
		}
	}
	golden(t, filepath.Join("testdata", "short.txt"), table.String())
}

// golden tells of each claim that moved, came or went.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	is, was := claims(got), claims(string(text))
	for _, claim := range slices.Sorted(maps.Keys(is)) {
		if before, ok := was[claim]; !ok {
			t.Errorf("%s has no %s\n%s", name, claim, is[claim])
		} else if before != is[claim] {
			t.Errorf("%s\nwas %s\nis  %s", claim, before, is[claim])
		}
		delete(was, claim)
	}
	for _, claim := range slices.Sorted(maps.Keys(was)) {
		t.Errorf("%s has %s, which is no more", name, claim)
	}
	if !t.Failed() && got != string(text) {
		t.Errorf("the order of %s is another: with -update it is as it should be", name)
	}
}

// claims reads the table: the number of each claim, by its experiment and text.
func claims(table string) map[string]string {
	numbers := map[string]string{}
	id, claim := "", ""
	for line := range strings.Lines(table) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "    "):
			numbers[claim] += strings.TrimSpace(line)
		case strings.HasPrefix(line, "  "):
			claim = id + ": " + strings.TrimSpace(line)
		default:
			id = line
		}
	}
	return numbers
}
