package suite

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// All is the pattern for every experiment that runs in the mode asked for.
const All = "all"

// Select returns the experiments that the patterns name, in the order of all: an id, a shell
// pattern as "dcqcn-*", or All. A single experiment that does not run in the mode is refused;
// patterns pass over it.
func Select(all []Experiment, m Mode, patterns []string) ([]Experiment, error) {
	chosen := make([]bool, len(all))
	for _, pattern := range patterns {
		matched := false
		for i, e := range all {
			ok, err := path.Match(pattern, e.ID)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", pattern, err)
			}
			if !ok && pattern != All {
				continue
			}
			if slices.Contains(e.Modes, m) {
				chosen[i], matched = true, true
			} else if e.ID == pattern {
				return nil, fmt.Errorf("%s does not run in mode %s", e.ID, m)
			}
		}
		if !matched {
			return nil, unknown(all, m, pattern)
		}
	}
	var out []Experiment
	for i, ok := range chosen {
		if ok {
			out = append(out, all[i])
		}
	}
	return out, nil
}

func unknown(all []Experiment, m Mode, pattern string) error {
	if pattern == All {
		return fmt.Errorf("no experiment runs in mode %s", m)
	}
	if strings.ContainsAny(pattern, "*?[") {
		return fmt.Errorf("no experiment of mode %s is like %s", m, pattern)
	}
	var near []string
	for _, e := range all {
		if strings.Contains(e.ID, pattern) || edits(pattern, e.ID) <= len(e.ID)/3 {
			near = append(near, e.ID)
		}
	}
	if len(near) == 0 {
		return fmt.Errorf("no experiment %s: 'rocelab list' prints all", pattern)
	}
	return fmt.Errorf("no experiment %s; there is %s", pattern, strings.Join(near, ", "))
}

// edits is how many letters must be added, removed or changed to make one word the other:
// Levenshtein's distance.
func edits(a, b string) int {
	row := make([]int, len(b)+1) // distances of what is before i of a to all beginnings of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
