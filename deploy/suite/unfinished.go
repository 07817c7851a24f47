package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rocelab/rocelab/deploy/result"
)

// Unfinished is an experiment of which a run that was interrupted has left cells to be run. Nothing
// is judged by less than all of them.
type Unfinished struct {
	ID    string `json:"id"`
	Mode  Mode   `json:"mode"`
	Cells int    `json:"cells"` // that are finished, and kept if anything is
	Of    int    `json:"of"`
}

func (u Unfinished) String() string {
	return fmt.Sprintf("%s (%s): %d of %d cells", u.ID, u.Mode, u.Cells, u.Of)
}

// Is says whether u is about the experiment of a record, in its mode.
func (u Unfinished) Is(r *Record) bool { return u.ID == r.ID && u.Mode == r.Mode }

// Unfinished lists what the run has left, in the order of the experiments; nothing unless Run was
// interrupted.
func (s *Suite) Unfinished() []Unfinished { return s.unfinished }

// unfinishedOf is what a run has left of its experiments.
func (s *Suite) unfinishedOf(trials []*trial) (list []Unfinished) {
	for _, t := range trials {
		if s.records[t.index] != nil {
			continue
		}
		u := Unfinished{ID: t.ID, Mode: s.Options.Mode, Of: len(t.cells)}
		for _, c := range t.cells {
			if c != nil {
				u.Cells++
			}
		}
		list = append(list, u)
	}
	return list
}

// unfinishedFile is where a suite's folder keeps the list. It stands with the cells, because what
// stands beside them are records.
func unfinishedFile(dir string) string { return filepath.Join(dir, "cells", "unfinished.json") }

// LoadUnfinished reads what runs into a folder have left.
func LoadUnfinished(dir string) (list []Unfinished, err error) {
	text, err := os.ReadFile(unfinishedFile(dir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil:
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("read what is unfinished in %s: %w", dir, err)
	}
	return list, nil
}

// keepUnfinished writes the list. What other runs have left, of other experiments or in another
// mode, stays on it.
func (s *Suite) keepUnfinished(trials []*trial) error {
	list, err := LoadUnfinished(s.Dir)
	if err != nil || len(list)+len(s.unfinished) == 0 {
		return err
	}
	list = slices.DeleteFunc(list, func(u Unfinished) bool {
		return u.Mode == s.Options.Mode &&
			slices.ContainsFunc(trials, func(t *trial) bool { return t.ID == u.ID })
	})
	list = append(list, s.unfinished...)
	name := unfinishedFile(s.Dir)
	if len(list) == 0 {
		return os.Remove(name)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("make the folder of the cells: %w", err)
	}
	return result.WriteJSON(name, list)
}
