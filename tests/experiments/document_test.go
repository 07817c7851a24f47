package experiments

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/deploy/papers"
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
