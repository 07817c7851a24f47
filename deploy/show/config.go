package show

import (
	"maps"
	"slices"
	"strings"

	"github.com/rocelab/rocelab/switchd"
	"github.com/rocelab/rocelab/switchd/sonic"
)

// Profiles is `show buffer information`, `show buffer pool`, `show buffer profile` and `show ecn`:
// rows of configuration tables as the switch runs them, defaults filled in.
type Profiles struct {
	Head
	Pools    []Profile `json:"pools,omitempty"`    // BUFFER_POOL
	Profiles []Profile `json:"profiles,omitempty"` // BUFFER_PROFILE, or WRED_PROFILE
}

// Profile is a row. Fields and values are as in a config_db.json, where all values are texts.
type Profile struct {
	Name   string            `json:"name"`
	Fields map[string]string `json:"fields"`
}

// Part chooses tables.
type Part int

// The parts of `show buffer`.
const (
	Pools Part = 1 << iota
	BufferProfiles
)

// NewBuffer shows the parts of a configuration.
func NewBuffer(h Head, raw sonic.Raw, parts Part) *Profiles {
	b := &Profiles{Head: h}
	if parts&Pools != 0 {
		b.Pools = rows(raw["BUFFER_POOL"])
	}
	if parts&BufferProfiles != 0 {
		b.Profiles = rows(raw["BUFFER_PROFILE"])
	}
	return b
}

// NewECN is `show ecn` (ecnconfig -l).
func NewECN(h Head, raw sonic.Raw) *Profiles {
	return &Profiles{Head: h, Profiles: rows(raw["WRED_PROFILE"])}
}

func rows(table map[string]map[string]string) []Profile {
	list := []Profile{}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		list = append(list, Profile{name, table[name]})
	}
	return list
}

// Text implements Block. Fields are in alphabetic order, SONiC's being that of its database.
func (b *Profiles) Text() string {
	var out strings.Builder
	for _, part := range []struct {
		title string
		list  []Profile
	}{{"Pool", b.Pools}, {"Profile", b.Profiles}} {
		for _, p := range part.list {
			t := left("", "")
			for _, field := range slices.Sorted(maps.Keys(p.Fields)) {
				t.row(field, p.Fields[field])
			}
			out.WriteString(part.title + ": " + p.Name + "\n" + t.bare() + "\n")
		}
	}
	return out.String()
}

// Drift is `show drift`: where the running configuration is not the desired one.
type Drift struct {
	Head
	switchd.Drift
}

// NewDrift shows differences.
func NewDrift(h Head, d *switchd.Drift) *Drift {
	b := &Drift{h, *d}
	if b.Differences == nil {
		b.Differences = []sonic.Difference{}
	}
	return b
}

// Text implements Block. SONiC has no such command; a value that is not there is "-".
func (b *Drift) Text() string {
	if len(b.Differences) == 0 && b.Error == "" {
		return "no drift\n"
	}
	t := left("Table", "Key", "Field", "Desired", "Running")
	for _, d := range b.Differences {
		t.row(orDash(d.Table), orDash(d.Key), orDash(d.Field), orDash(d.Desired),
			orDash(d.Running))
	}
	text := t.String()
	if b.Error != "" {
		text += "the desired configuration cannot be read: " + b.Error + "\n"
	}
	return text
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
