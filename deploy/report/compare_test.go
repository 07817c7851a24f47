package report

import (
	"bytes"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/deploy/suite"
)

// What Markdown writes says how everything stands.
func TestMarkdownIsReadBack(t *testing.T) {
	var b bytes.Buffer
	records := syntheticSuite()
	if err := Markdown(&b, records, nil); err != nil {
		t.Fatal(err)
	}
	got, err := ReadMarkdown(&b)
	if err != nil {
		t.Fatal(err)
	}
	// Of one experiment the document has real frames first.
	want := Standings(records)
	want[0], want[1] = want[1], want[0]
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
}

func TestClaimsAreReadBackWhateverTheySay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z|\\<>&; -]{0,20}`)
		r := record("odd", suite.Virtual)
		r.Notes = []string{"| a | note | like | a | claim |", "## odd"}
		for i := range r.Claims {
			c := &r.Claims[i]
			c.Text, c.Paper = text.Draw(t, "text"), text.Draw(t, "paper")
			c.Unit, c.Rule = text.Draw(t, "unit"), text.Draw(t, "rule")
		}
		var b bytes.Buffer
		if err := Markdown(&b, []*suite.Record{r}, nil); err != nil {
			t.Fatal(err)
		}
		got, err := ReadMarkdown(&b)
		want := Standings([]*suite.Record{r})
		for i := range want[0].Claims {
			c := &want[0].Claims[i]
			c.Ours = strings.TrimSpace(c.Ours)
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, %v\nwant\n%+v\n%s", got, err, want, b.String())
		}
	})
}

func TestReadMarkdownRefuses(t *testing.T) {
	const head = "## x\n\nIn virtual time, seeds 1:\n\n"
	for text, want := range map[string]string{
		"# Something else\n":                         "no experiment is in it",
		head + "| a | b | c | d | perhaps |\n":       "line 5: ",
		head + claimHead + "\n| a | b | c | yes |\n": "line 6: ",
	} {
		_, err := ReadMarkdown(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Everything that can become of a verdict, as it is printed.
func TestComparisonGolden(t *testing.T) {
	claims := func(texts ...string) (list []ClaimStanding) {
		for _, text := range texts {
			name, _ := strings.CutSuffix(text, "!")
			list = append(list, ClaimStanding{name, "9.2 Gb/s", name == text})
		}
		return list
	}
	before := []Standing{
		{ID: "same", Mode: suite.Virtual, Claims: claims("a", "b!")},
		{ID: "changed", Mode: suite.Virtual, Claims: claims("It stays.", "It fell, which takes a "+
			"sentence of more than one line.", "It rose.!", "It went.", "Twice.", "Twice.!")},
		{ID: "changed", Mode: suite.Real, Claims: claims("It stays.")},
		{ID: "broke", Mode: suite.Virtual, Claims: claims("a")},
		{ID: "mended", Mode: suite.Virtual, Failed: true},
		{ID: "broken", Mode: suite.Virtual, Failed: true},
		{ID: "unrun", Mode: suite.Real, Claims: claims("a")},
		{ID: "less", Mode: suite.Virtual, Claims: claims("a")},
	}
	now := []Standing{
		{ID: "same", Mode: suite.Virtual, Claims: claims("b!", "a")},
		{ID: "changed", Mode: suite.Virtual, Claims: claims("It stays.", "It fell, which takes a "+
			"sentence of more than one line.!", "It rose.", "It came.", "Twice.", "Twice.")},
		{ID: "changed", Mode: suite.Real, Claims: claims("It stays.")},
		{ID: "broke", Mode: suite.Virtual, Failed: true},
		{ID: "mended", Mode: suite.Virtual, Claims: claims("a")},
		{ID: "broken", Mode: suite.Virtual, Failed: true},
		{ID: "less", Mode: suite.Virtual, Short: true, Claims: claims("a!")},
		{ID: "fresh", Mode: suite.Virtual, Claims: claims("a!")},
	}
	c := Compare(before, now)
	if c.Claims != 5 || len(c.Changes) != 8 || len(c.Missing) != 1 || len(c.Incomparable) != 1 {
		t.Errorf("%+v", c)
	}
	var b bytes.Buffer
	if err := c.Print(&b, "docs/papers.md"); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "comparison.txt"), b.Bytes())
	for line := range strings.Lines(b.String()) {
		if len(line) > tableColumns+1 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	if c := Compare(before, before); len(c.Changes) != 0 || c.Claims != 12 {
		t.Errorf("with itself: %+v", c)
	}
}
