package papers

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/deploy/suite"
)

var idForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// TestAll: every experiment can be listed, chosen and run.
func TestAll(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range All() {
		if !idForm.MatchString(e.ID) || seen[e.ID] || e.ID == suite.All {
			t.Errorf("id %q: twice, or not lower case with hyphens", e.ID)
		}
		seen[e.ID] = true
		if e.Paper.Key == "" || e.Paper.Title == "" || e.Where == "" || e.Seeds < 1 ||
			!strings.HasSuffix(e.Title, ".") || len(e.Modes) == 0 {
			t.Errorf("%s lacks something: %+v", e.ID, e)
		}
		// Whoever asks for another seed gets runs of its own, or the same where chance has no part.
		for _, mode := range e.Modes {
			one, two := names(e, mode, 1), names(e, mode, 2)
			for _, name := range one {
				if !slices.Contains(two, name) {
					t.Errorf("%s: cell %s is gone when a seed is added", e.ID, name)
				}
			}
			// On real frames one seed may be all that there is time for.
			if mode == suite.Virtual && e.Seeds > 1 && len(two) <= len(one) {
				t.Errorf("%s: no cell is added with a seed: is the seed in the name?", e.ID)
			}
		}
	}
}

func names(e suite.Experiment, m suite.Mode, seeds int) (out []string) {
	for _, c := range e.Cells(suite.Options{Mode: m, Seed: 1, Seeds: seeds}) {
		out = append(out, c.Name)
	}
	return out
}
