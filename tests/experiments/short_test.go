package experiments

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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

// golden compares line by line, so that what moved can be seen.
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
	is, was := strings.Split(got, "\n"), strings.Split(string(text), "\n")
	for i := range max(len(is), len(was)) {
		var one, other string
		if i < len(is) {
			one = is[i]
		}
		if i < len(was) {
			other = was[i]
		}
		if one != other {
			t.Errorf("line %d of %s:\n%s\nis now\n%s", i+1, name, other, one)
		}
	}
}
