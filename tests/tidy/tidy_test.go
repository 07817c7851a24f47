package tidy

import (
	"os"
	"testing"
)

// TestRepository holds the whole module to every rule.
func TestRepository(t *testing.T) {
	tree, err := Load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Packages) < 10 {
		t.Fatalf("found %d packages: this is not the repository", len(tree.Packages))
	}
	for _, r := range Rules {
		t.Run(r.Name, func(t *testing.T) {
			for _, f := range r.Check(tree) {
				t.Error(f)
			}
		})
	}
}
