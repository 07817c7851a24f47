package show

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rocelab/rocelab/switchd"
)

// SchemaVersion is the version of every JSON object here. It rises when a key changes its meaning
// or goes; new keys may come without. Counters are JSON numbers: those above 2^53 lose digits in
// tools that read numbers as doubles, as jq does.
const SchemaVersion = 1

// Block is what a command says about one switch. It marshals to JSON.
type Block interface {
	// Text is the block in SONiC's layout, lines ended.
	Text() string
	// About is the part that all blocks have.
	About() *Head
}

// Head is the part that all blocks have.
type Head struct {
	Switch    string `json:"switch"`
	VirtualNs int64  `json:"virtual_ns"` // the lab's time of the state
	// ClearedAt is the time of the clear since which the block counts; nil: since the start.
	ClearedAt *time.Time `json:"cleared_at,omitempty"`
}

// About implements Block.
func (h *Head) About() *Head { return h }

// cached is the line that SONiC prints before counters that were cleared, or nothing.
func (h *Head) cached(prefix string) string {
	if h.ClearedAt == nil {
		return ""
	}
	return fmt.Sprintf("%sLast cached time was %s\n", prefix,
		h.ClearedAt.Format("2006-01-02 15:04:05.000000"))
}

func head(st *switchd.State) Head { return Head{Switch: st.Name, VirtualNs: st.VirtualNs} }

// Answer is a whole command's.
type Answer struct {
	Lab, Command string
	Blocks       []Block
}

// JSON writes the answer as one object.
func (a *Answer) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		SchemaVersion int     `json:"schema_version"`
		Lab           string  `json:"lab"`
		Command       string  `json:"command"`
		Switches      []Block `json:"switches"`
	}{SchemaVersion, a.Lab, a.Command, a.Blocks})
}

// Text writes the blocks. Where there are several, each is headed by the name of its switch, as
// SONiC heads those of several ASICs by their namespaces.
func (a *Answer) Text(w io.Writer) error {
	var b strings.Builder
	for i, block := range a.Blocks {
		if len(a.Blocks) > 1 {
			if i > 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "Switch %s\n", block.About().Switch)
		}
		b.WriteString(block.Text())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// NoPort says that a switch does not have a port that was asked for.
type NoPort struct{ Switch, Port string }

func (e *NoPort) Error() string { return fmt.Sprintf("switch %s has no port %q", e.Switch, e.Port) }

// Filter says what of a switch is shown.
type Filter struct {
	Ports   []string // of the switch; none: all
	NonZero bool     // leave out rows in which every counter is 0
}

// Apply leaves the chosen ports in st, in natural order of their names. A port that the switch does
// not have is named.
func (f *Filter) Apply(st *switchd.State) error {
	slices.SortFunc(st.Ports, func(a, b switchd.PortState) int { return natural(a.Name, b.Name) })
	if len(f.Ports) == 0 {
		return nil
	}
	for _, name := range f.Ports {
		if !slices.ContainsFunc(st.Ports, func(p switchd.PortState) bool {
			return p.Name == name
		}) {
			return &NoPort{st.Name, name}
		}
	}
	st.Ports = slices.DeleteFunc(st.Ports, func(p switchd.PortState) bool {
		return !slices.Contains(f.Ports, p.Name)
	})
	return nil
}
