package show

import (
	"encoding/json"
	"io"

	"github.com/rocelab/rocelab/switchd/deadlock"
)

// Deadlock is `show deadlock`: the cycles of pauses among all switches of a lab.
type Deadlock struct {
	Lab    string
	Report deadlock.Report
}

// JSON writes the answer as one object.
func (d *Deadlock) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		SchemaVersion int    `json:"schema_version"`
		Lab           string `json:"lab"`
		Command       string `json:"command"`
		deadlock.Report
	}{SchemaVersion, d.Lab, "show deadlock", d.Report})
}

// Text writes the answer for people: each cycle with its ports, what it began with, and its
// victims.
func (d *Deadlock) Text(w io.Writer) error {
	_, err := io.WriteString(w, d.Report.String())
	return err
}
