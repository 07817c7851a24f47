package suite

import (
	"github.com/rocelab/rocelab/deploy/result"
	"github.com/rocelab/rocelab/deploy/scenario"
)

// Outcome is what a cell found. It has a JSON form from which it can be read back.
type Outcome struct {
	Cell       string             `json:"cell"`
	Parameters []result.Line      `json:"parameters,omitempty"` // effective values, for the reader
	Numbers    map[string]float64 `json:"numbers,omitempty"`    // finite
	Series     map[string]Series  `json:"series,omitempty"`
	// Hash is of everything that happened in the run: equal hashes are equal runs. A cell in
	// which nothing happens but this outcome, as a calculator's, leaves it empty.
	Hash string `json:"hash,omitempty"`
	// Certificate of a run on real frames, which has been compared with its twin in virtual time.
	Certificate *result.Certificate `json:"certificate,omitempty"`
	Clock       *result.Clock       `json:"clock,omitempty"`
	// Violations is how many frames lossless classes have lost without a fault that was asked for.
	Violations uint64 `json:"lossless_violations,omitempty"`
}

// Take takes over from a run what tells how far it can be trusted.
func (o *Outcome) Take(r *scenario.Run) {
	o.Hash, o.Clock, o.Certificate, o.Violations = r.Hash, r.Clock, r.Certificate, r.Violations()
}

// Series is a curve. X and Y are of equal length.
type Series struct {
	X []float64 `json:"x"`
	Y []float64 `json:"y"`
}

// Verdict is what an experiment shows.
type Verdict struct {
	Claims  []Claim  `json:"claims"`
	Tables  []Table  `json:"tables,omitempty"`
	Figures []Figure `json:"figures,omitempty"`
	// Notes say why we differ where we do, and what the model leaves out. Sentences.
	Notes []string `json:"notes,omitempty"`
}

// Table is numbers side by side. Every row has as many cells as there are columns.
type Table struct {
	Title   string     `json:"title"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// Claim is a sentence of the paper with its evidence.
type Claim struct {
	Text  string `json:"text"`            // the sentence, in our words
	Paper string `json:"paper,omitempty"` // the paper's number as printed; empty if it has none
	// Ours is our number in Unit, as the mean over seeds if there are several.
	Ours float64 `json:"ours"`
	Unit string  `json:"unit,omitempty"` // "Gb/s", "KB", "%", ...; empty for a plain number
	// Interval holds the mean with 95 % confidence (Student's t over seeds); nil with one seed.
	Interval *[2]float64 `json:"confidence_interval,omitempty"`
	Rule     string      `json:"tolerance"` // when it holds: "Jain index > 0.99"
	Holds    bool        `json:"holds"`
}

// Figure is drawn like one of the paper's.
type Figure struct {
	Title  string  `json:"title"` // "Figure 8: throughput of the four flows"
	X      Axis    `json:"x"`
	Y      Axis    `json:"y"`
	Curves []Curve `json:"curves"`
}

// Axis is one of a figure's.
type Axis struct {
	Label string `json:"label"`
	Unit  string `json:"unit,omitempty"`
	Log   bool   `json:"log,omitempty"`
	// Names label the places 0, 1, 2, ... of an axis of categories.
	Names []string `json:"names,omitempty"`
}

// Curve is drawn in a figure.
type Curve struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	From Origin `json:"from"`
	Series
	// Low and High are the ends of an error bar or a band at each X; both or none.
	Low  []float64 `json:"low,omitempty"`
	High []float64 `json:"high,omitempty"`
}

// Kind is how a curve is drawn.
type Kind string

// The kinds of curves.
const (
	Line   Kind = "line"
	Step   Kind = "step" // keeps its value until the next X, as cumulative distributions do
	Points Kind = "points"
	Bars   Kind = "bars" // side by side with those of other curves at the same X
)

// Origin is whose numbers a curve shows.
type Origin string

// Where curves come from.
const (
	Ours    Origin = "ours"  // in the mode of the run
	Twin    Origin = "twin"  // our virtual time, beside real frames
	Model   Origin = "model" // a fluid model or an equation
	Printed Origin = "paper" // numbers that the paper prints
)
