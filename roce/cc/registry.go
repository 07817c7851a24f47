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

// entry is one line of the registry. Presets returns a pointer to fresh parameters, which a
// configuration may then change field by field; nil if it knows no such preset.
type entry struct {
	name    string
	presets []string // the first is the default
	params  func(preset string) Params
}

// registry has one line per algorithm.
var registry = []entry{
	{"dcqcn", dcqcnPresets, newDCQCNParams},
	{"dctcp", []string{"rfc8257"}, newDCTCPParams},
	{"dcqcn_plus", []string{"thesis"}, newDCQCNPlusParams},
	{"hpcc", []string{"sigcomm19"}, newHPCCParams},
	{"ldcp", []string{"draft"}, newLDCPParams},
	{"ldcp_probe", []string{"draft"}, newLDCPProbeParams},
	{"none", []string{"line_rate"}, newNoneParams},
	{"qcn", []string{"baseline", "netfpga"}, newQCNParams},
	{"swift", []string{"sigcomm20"}, newSwiftParams},
	{"timely", []string{"sigcomm15"}, newTIMELYParams},
}

// Names lists the algorithms in alphabetical order.
func Names() []string {
	names := make([]string, len(registry))
	for i, e := range registry {
		names[i] = e.name
	}
	slices.Sort(names)
	return names
}

// DefaultPreset is the preset that NewParams takes if none is named; empty if there is no such
// algorithm.
func DefaultPreset(algorithm string) string {
	for _, e := range registry {
		if e.name == algorithm {
			return e.presets[0]
		}
	}
	return ""
}

// NewParams returns the parameters of an algorithm by name, with the values of a preset; an
// empty preset is the algorithm's default.
func NewParams(algorithm, preset string) (Params, error) {
	for _, e := range registry {
		if e.name != algorithm {
			continue
		}
		if preset == "" {
			preset = e.presets[0]
		}
		if !slices.Contains(e.presets, preset) {
			return nil, fmt.Errorf("%s has no preset %q: want one of %s", algorithm, preset,
				strings.Join(e.presets, ", "))
		}
		return e.params(preset), nil
	}
	return nil, fmt.Errorf("no algorithm %q: want one of %s", algorithm,
		strings.Join(Names(), ", "))
}
