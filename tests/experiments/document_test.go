package experiments

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/deploy/papers"
	"github.com/rocelab/rocelab/deploy/report"
)

// TestDocument: docs/papers.md has a section for every experiment, and for nothing else. It is
// written by 'rocelab report DIR --markdown docs/papers.md'.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "papers.md"))
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if id, ok := strings.CutPrefix(line, "## "); ok {
			there[strings.TrimSpace(id)] = true
		}
	}
	for _, e := range papers.All() {
		if !there[e.ID] {
			t.Errorf("docs/papers.md has no section %s: run it and write the document anew", e.ID)
		}
		delete(there, e.ID)
	}
	for id := range there {
		t.Errorf("docs/papers.md tells of %s, which there is not", id)
	}
}

// The verdicts in docs/papers.md, which `make nightly` compares with its own, are all read: as many
// as the document says at its head and in its list.
func TestDocumentIsReadForComparison(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "papers.md"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := report.ReadMarkdown(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	held, claims := 0, 0
	for _, s := range all {
		holds := 0
		for _, c := range s.Claims {
			if c.Holds {
				holds++
			}
		}
		held, claims = held+holds, claims+len(s.Claims)
		row := fmt.Sprintf(" | %s | %d of %d |\n", s.Mode, holds, len(s.Claims))
		listed := false
		for line := range strings.Lines(string(text)) {
			listed = listed || strings.HasPrefix(line, "| ["+s.ID+"](") &&
				strings.HasSuffix(line, row)
		}
		if !listed && !s.Failed {
			t.Errorf("%s: no row ends in %q", s.ID, row)
		}
	}
	if want := fmt.Sprintf(": %d of %d claims hold.", held, claims); claims == 0 ||
		!strings.Contains(string(text), want) {
		t.Errorf("the document does not say%s", want)
	}
}
