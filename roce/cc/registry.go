package cc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// Params are the parameters of one algorithm, and the factory of its reaction points.
type Params interface {
	// Validate returns every fault, each starting with the parameter's name in configuration.
	Validate(line unit.Rate) []error
	// New makes the reaction point of one QP.
	New(s Setup) Algorithm
	// HandlesCNP says whether a CNP has any effect; if not it counts as ignored.
	HandlesCNP() bool
	// HandlesCNM says the same of the CNMs of switches.
	HandlesCNM() bool
}

// Entry is one line of a registry: an algorithm by its name.
type Entry struct {
	Name    string
	Presets []string // names of parameter sets; the first is the default
	// Params returns a pointer to fresh parameters with the values of one of Presets, which a
	// configuration may then change field by field, by their yaml keys.
	Params func(preset string) Params
}

// Registry is algorithms by name. It is a value: With makes another one.
type Registry struct{ entries []Entry }

// builtIn has one line per algorithm of this package.
var builtIn = []Entry{
	{"dcqcn", dcqcnPresets, newDCQCNParams},
	{"dctcp", []string{"rfc8257"}, newDCTCPParams},
	{"dcqcn_plus", []string{"thesis"}, newDCQCNPlusParams},
	{"hpcc", []string{"sigcomm19"}, newHPCCParams},
	{"ldcp", ldcpPresets, newLDCPParams},
	{"ldcp_probe", ldcpPresets, newLDCPProbeParams},
	{"none", []string{"line_rate"}, newNoneParams},
	{"qcn", []string{"baseline", "netfpga"}, newQCNParams},
	{"swift", []string{"sigcomm20"}, newSwiftParams},
	{"timely", []string{"sigcomm15"}, newTIMELYParams},
}

// BuiltIn is the registry of this package's algorithms.
func BuiltIn() Registry { return Registry{builtIn} }

// With is the registry with one algorithm more. It is an error if the name is taken, or if the
// entry is not whole.
func (r Registry) With(e Entry) (Registry, error) {
	switch {
	case e.Name == "" || len(e.Presets) == 0 || e.Params == nil:
		return r, fmt.Errorf("algorithm %q: want a name, presets and parameters", e.Name)
	case r.find(e.Name) != nil:
		return r, fmt.Errorf("algorithm %s is there already", e.Name)
	}
	for _, preset := range e.Presets {
		if e.Params(preset) == nil {
			return r, fmt.Errorf("algorithm %s has no parameters for its preset %q", e.Name, preset)
		}
	}
	return Registry{append(slices.Clip(r.entries), e)}, nil
}

func (r Registry) find(name string) *Entry {
	for i := range r.entries {
		if r.entries[i].Name == name {
			return &r.entries[i]
		}
	}
	return nil
}

// Names lists the algorithms in alphabetical order.
func (r Registry) Names() []string {
	names := make([]string, len(r.entries))
	for i := range r.entries {
		names[i] = r.entries[i].Name
	}
	slices.Sort(names)
	return names
}

// Presets lists the presets of an algorithm, the default first; nil if there is no such algorithm.
func (r Registry) Presets(algorithm string) []string {
	if e := r.find(algorithm); e != nil {
		return slices.Clone(e.Presets)
	}
	return nil
}

// Params returns the parameters of an algorithm by name, with the values of a preset; an empty
// preset is the algorithm's default.
func (r Registry) Params(algorithm, preset string) (Params, error) {
	e := r.find(algorithm)
	if e == nil {
		return nil, fmt.Errorf("no algorithm %q: want one of %s", algorithm,
			strings.Join(r.Names(), ", "))
	}
	if preset == "" {
		preset = e.Presets[0]
	}
	if !slices.Contains(e.Presets, preset) {
		return nil, fmt.Errorf("%s has no preset %q: want one of %s", algorithm, preset,
			strings.Join(e.Presets, ", "))
	}
	return e.Params(preset), nil
}

// NewParams is Params of BuiltIn.
func NewParams(algorithm, preset string) (Params, error) {
	return BuiltIn().Params(algorithm, preset)
}
