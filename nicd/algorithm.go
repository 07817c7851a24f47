package nicd

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/cc"
)

// CCConfig chooses an algorithm, a preset of its parameters, and values that differ from those.
type CCConfig struct {
	Algorithm string         `yaml:"algorithm" json:"algorithm"`
	Preset    string         `yaml:"preset,omitempty" json:"preset,omitempty"` // default if empty
	Params    map[string]any `yaml:"params,omitempty" json:"params,omitempty"`
}

// algorithms is the congestion control that configurations may name: what this module has, and
// what the program registered when it started. Nothing changes it later.
var algorithms = cc.BuiltIn()

// RegisterAlgorithm adds a congestion control algorithm to those that configurations and control
// calls may name. It is for init functions: it panics if the entry is not whole or its name is
// taken, as registering twice is a mistake in the program.
func RegisterAlgorithm(e cc.Entry) {
	more, err := algorithms.With(e)
	if err != nil {
		panic("nicd: " + err.Error())
	}
	algorithms = more
}

// congestionControl puts the algorithms into the machine's configuration, as far as they can be
// told, and returns what is wrong with the others.
func (c *Config) congestionControl(n *nic.Config) (faults []daemon.Fault) {
	params, faults := c.CC.resolve("cc")
	if params != nil {
		n.CC = params
	}
	for _, tc := range slices.Sorted(maps.Keys(c.TCToCCMap)) {
		path, own := fmt.Sprintf("tc_to_cc_map.%d", tc), c.TCToCCMap[tc]
		if tc >= wire.Priorities {
			faults = append(faults, daemon.Fault{Path: path, Problem: "a traffic class is 0 to 7"})
			continue
		}
		params, wrong := own.resolve(path)
		faults = append(faults, wrong...)
		if params != nil {
			n.ClassCC[tc] = params
		}
	}
	return faults
}

// ownAlgorithm says what to do about an algorithm that is not there.
const ownAlgorithm = `; to run one of your own, build a rocelab that knows it: "An algorithm of ` +
	`your own" in docs/congestion-control.md`

// resolve returns the parameters of the preset with the changes on top, nil if there is no such
// algorithm or preset. Faults have paths below that of the choice.
func (c *CCConfig) resolve(path string) (params cc.Params, faults []daemon.Fault) {
	params, err := algorithms.Params(c.Algorithm, c.Preset)
	if err != nil {
		f := daemon.Fault{Path: path + ".preset", Problem: err.Error()}
		if algorithms.Presets(c.Algorithm) == nil {
			f.Path, f.Problem = path+".algorithm", f.Problem+ownAlgorithm
		}
		return nil, []daemon.Fault{f}
	}
	// One at a time, so that each fault has its own path.
	for _, key := range slices.Sorted(maps.Keys(c.Params)) {
		text, err := yaml.Marshal(map[string]any{key: c.Params[key]})
		if err == nil {
			dec := yaml.NewDecoder(bytes.NewReader(text))
			dec.KnownFields(true)
			err = dec.Decode(params)
		}
		if err != nil {
			faults = append(faults, daemon.Fault{Path: path + ".params." + key,
				Problem: c.explain(key, err)})
		}
	}
	return params, faults
}

// explain says what is wrong with one parameter without the decoder's line, which is not the
// file's.
func (c *CCConfig) explain(key string, err error) string {
	if strings.Contains(err.Error(), "not found in type") {
		return "unknown parameter of " + c.Algorithm
	}
	text := fmt.Sprintf("%v is no value for it", c.Params[key])
	if !errors.As(err, new(*yaml.TypeError)) {
		text += ": " + err.Error() // the type's own reader says why
	}
	return text
}

// preset is the name of the preset, also of one that is not named.
func (c *CCConfig) preset() string {
	if list := algorithms.Presets(c.Algorithm); c.Preset == "" && list != nil {
		return list[0]
	}
	return c.Preset
}

// Parameters are the effective settings of congestion control and of the personality, for results
// to carry.
func (c *Config) Parameters() []daemon.Parameter {
	list := []daemon.Parameter{{Name: "personality", Value: c.Personality.Name}}
	list = appendParameters(list, "", c.behaviour())
	list = append(list, c.CC.list("cc.")...)
	for _, tc := range slices.Sorted(maps.Keys(c.TCToCCMap)) {
		own := c.TCToCCMap[tc]
		list = append(list, own.list(fmt.Sprintf("tc_to_cc_map.%d.", tc))...)
	}
	return list
}

// list is the algorithm, the preset, and all parameters.
func (c *CCConfig) list(prefix string) []daemon.Parameter {
	list := []daemon.Parameter{{Name: prefix + "algorithm", Value: c.Algorithm},
		{Name: prefix + "preset", Value: c.preset()}}
	params, _ := c.resolve("")
	return appendParameters(list, prefix+"params.", params)
}
