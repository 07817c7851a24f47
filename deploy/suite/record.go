package suite

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rocelab/rocelab/deploy/result"
)

// RecordSchema is raised when a field of Record changes its meaning or goes away.
const RecordSchema = 1

// Record is an experiment that was run in one mode, with what it shows.
type Record struct {
	SchemaVersion int    `json:"schema_version"`
	ID            string `json:"id"`
	Paper         string `json:"paper"` // its key
	PaperTitle    string `json:"paper_title"`
	Where         string `json:"figure"` // in the paper, a table or a section as well
	Title         string `json:"title"`
	Mode          Mode   `json:"mode"`

	Seeds      []uint64      `json:"seeds"`
	Short      bool          `json:"short,omitempty"`    // the least that tells
	Dilation   float64       `json:"dilation,omitempty"` // that was asked for
	Parameters []result.Line `json:"parameters"`         // of all cells
	Cells      int           `json:"cells"`
	Hash       string        `json:"hash"` // of the hashes of all cells

	Verdict
	Certificates []Certified `json:"certificates,omitempty"`
	Shorter      string      `json:"shorter,omitempty"`

	// Errors says which cells failed. Then there is no verdict.
	Errors []string `json:"errors,omitempty"`

	CPUSeconds  float64 `json:"cpu_seconds"`  // of all cells, also those of earlier runs
	RealSeconds float64 `json:"real_seconds"` // likewise; cells run side by side
	Version     string  `json:"version"`
}

// Certified is a cell's run on real frames.
type Certified struct {
	Cell        string             `json:"cell"`
	Certificate result.Certificate `json:"certificate"`
	Clock       *result.Clock      `json:"clock,omitempty"`
}

// Judged says whether there is something to hold: a claim, or an error in place of one.
func (r *Record) Judged() bool { return len(r.Claims) > 0 || len(r.Errors) > 0 }

// Holds reports whether all claims do.
func (r *Record) Holds() bool {
	return len(r.Errors) == 0 &&
		!slices.ContainsFunc(r.Claims, func(c Claim) bool { return !c.Holds })
}

// Command is what a user types to run it again.
func (r *Record) Command() string {
	text := "rocelab run " + r.ID
	if r.Mode == Real {
		text += " --real"
	}
	if len(r.Seeds) > 0 {
		text += fmt.Sprintf(" --seed %d --seeds %d", r.Seeds[0], len(r.Seeds))
	}
	if r.Short {
		text += " --short"
	}
	if r.Dilation > 0 {
		text += fmt.Sprintf(" --dilation %v", r.Dilation)
	}
	return text
}

// fileIn is where a suite's folder keeps it.
func (r *Record) fileIn(dir string) string {
	return filepath.Join(dir, r.ID+"-"+string(r.Mode)+".json")
}

// Load reads all records in a suite's folder, by id and mode.
func Load(dir string) ([]*Record, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("look for results in %s: %w", dir, err)
	}
	var out []*Record
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read a result: %w", err)
		}
		r := new(Record)
		if err := json.Unmarshal(text, r); err != nil {
			return nil, fmt.Errorf("read a result: %s: %w", name, err)
		}
		if r.SchemaVersion != RecordSchema || r.fileIn(dir) != name {
			return nil, fmt.Errorf("read a result: %s is not one of this version", name)
		}
		out = append(out, r)
	}
	return out, nil
}

// newRecord describes an experiment that has not been judged.
func newRecord(e *Experiment, o Options) *Record {
	r := &Record{SchemaVersion: RecordSchema, ID: e.ID, Paper: e.Paper.Key,
		PaperTitle: e.Paper.Title, Where: e.Where, Title: e.Title, Mode: o.Mode, Short: o.Short,
		Parameters: []result.Line{}, Shorter: e.Shorter, Version: codeVersion()}
	o.Each(func(seed uint64) { r.Seeds = append(r.Seeds, seed) })
	return r
}

// add takes in what the cells found.
func (r *Record) add(cells []*finished) {
	h := sha256.New()
	for _, c := range cells {
		fmt.Fprintf(h, "%s %s\n", c.Key.Cell, c.Outcome.Hash)
		r.CPUSeconds += c.CPUSeconds
		r.RealSeconds += c.RealSeconds
		if c.Outcome.Certificate != nil {
			r.Certificates = append(r.Certificates, Certified{c.Key.Cell, *c.Outcome.Certificate,
				c.Outcome.Clock})
		}
	}
	r.Cells, r.Hash = len(cells), hex.EncodeToString(h.Sum(nil)[:16])
	r.Parameters = parameters(cells)
}

// parameters lists each name once, with all values that cells had.
func parameters(cells []*finished) []result.Line {
	names, values := []string{}, map[string][]string{}
	for _, c := range cells {
		for _, p := range c.Outcome.Parameters {
			if _, ok := values[p.Name]; !ok {
				names = append(names, p.Name)
			}
			if !slices.Contains(values[p.Name], p.Value) {
				values[p.Name] = append(values[p.Name], p.Value)
			}
		}
	}
	lines := make([]result.Line, len(names))
	for i, name := range names {
		lines[i] = result.Line{Name: name, Value: listed(values[name])}
	}
	return lines
}

// listed joins a few values, and of many tells the ends.
func listed(values []string) string {
	const few = 6
	if n := len(values); n > few {
		return fmt.Sprintf("%s, %s, ... %s (%d values)", values[0], values[1], values[n-1], n)
	}
	return strings.Join(values, ", ")
}
