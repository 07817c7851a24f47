package nicd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/roce/cc"
)

// CCConfig chooses an algorithm and a preset of its parameters, and changes single parameters.
type CCConfig struct {
	Algorithm string    `yaml:"algorithm"`
	Preset    string    `yaml:"preset,omitempty"`
	Params    cc.Params `yaml:"params,omitempty"`
}

// UnmarshalYAML looks the algorithm up first: it says what params can be. Without an algorithm or
// preset the default one is meant, whatever stood there before.
func (c *CCConfig) UnmarshalYAML(n *yaml.Node) error {
	if err := onlyKeys(n, "algorithm", "preset", "params"); err != nil {
		return err
	}
	raw := struct {
		Algorithm string
		Preset    string
		Params    yaml.Node
	}{Algorithm: "dcqcn"}
	if err := n.Decode(&raw); err != nil {
		return err
	}
	params, err := cc.NewParams(raw.Algorithm, raw.Preset)
	if err != nil {
		return fault(n, err.Error())
	}
	if raw.Preset == "" {
		raw.Preset = cc.DefaultPreset(raw.Algorithm)
	}
	if raw.Params.Kind != 0 {
		var known yaml.Node
		if err := known.Encode(params); err != nil {
			return err
		}
		var keys []string
		for i := 0; i < len(known.Content); i += 2 {
			keys = append(keys, known.Content[i].Value)
		}
		if err := onlyKeys(&raw.Params, keys...); err != nil {
			return err
		}
		if err := raw.Params.Decode(params); err != nil {
			return err
		}
	}
	*c = CCConfig{raw.Algorithm, raw.Preset, params}
	return nil
}

// onlyKeys refuses keys that are not among those named, as strict decoding does elsewhere.
func onlyKeys(n *yaml.Node, keys ...string) error {
	if n.Kind != yaml.MappingNode {
		return fault(n, "want a mapping")
	}
	for i := 0; i < len(n.Content); i += 2 {
		if k := n.Content[i]; !slices.Contains(keys, k.Value) {
			return fault(k, "unknown key "+k.Value)
		}
	}
	return nil
}

// fault has the form of the decoder's own errors, which carry the line.
func fault(n *yaml.Node, problem string) error {
	return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %s", n.Line, problem)}}
}

// PriorityList is a set of priorities as SONiC writes it: "3,4".
type PriorityList pfc.Set

// Set is the list as a set.
func (l PriorityList) Set() pfc.Set { return pfc.Set(l) }

// MarshalText prints the priorities with commas.
func (l PriorityList) MarshalText() ([]byte, error) { return []byte(l.Set().String()), nil }

// UnmarshalText reads priorities with commas between them; nothing is the empty set.
func (l *PriorityList) UnmarshalText(b []byte) error {
	var set pfc.Set
	for word := range strings.SplitSeq(string(b), ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		p, err := strconv.ParseUint(word, 10, 3)
		if err != nil {
			return fmt.Errorf("priorities %q: want numbers 0 to 7 with commas, as 3,4", b)
		}
		set = set.With(pfc.Priority(p))
	}
	*l = PriorityList(set)
	return nil
}
