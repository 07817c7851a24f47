package nicd

import (
	"bytes"
	"embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/qp"
)

// BookPersonality is the name of nic.Book.
const BookPersonality = "book"

// personalityFiles has one file for each kind of NIC whose behaviour somebody has published.
//
//go:embed personalities/*.yaml
var personalityFiles embed.FS

// PersonalityParams are the values of a personality, by their keys.
type PersonalityParams struct {
	CNPInterval        time.Duration `yaml:"cnp_interval"`
	CNPScope           nic.CNPScope  `yaml:"cnp_scope"`
	CNPDelay           time.Duration `yaml:"cnp_delay"`
	CNPSpacing         time.Duration `yaml:"cnp_spacing"`
	CNPOnNAK           bool          `yaml:"cnp_on_nak"`
	AckCoalescePackets int           `yaml:"ack_coalesce_packets"`
	AckCoalesceDelay   time.Duration `yaml:"ack_coalesce_delay"`
	NAKDelay           time.Duration `yaml:"nak_delay"`
	RetransmitDelay    time.Duration `yaml:"retransmit_delay"`
	OutOfOrder         qp.OutOfOrder `yaml:"out_of_order"`
	Recovery           qp.Recovery   `yaml:"recovery"`
}

// machine is the personality with these values.
func (p *PersonalityParams) machine() nic.Personality {
	return nic.Personality{
		CNP: nic.CNPConfig{Interval: p.CNPInterval, Scope: p.CNPScope, Delay: p.CNPDelay,
			Spacing: p.CNPSpacing, OnNAK: p.CNPOnNAK},
		Transport: qp.Personality{
			AckCoalesce: qp.AckCoalesce{Packets: p.AckCoalescePackets, Delay: p.AckCoalesceDelay},
			NAKDelay:    p.NAKDelay, RetransmitDelay: p.RetransmitDelay, OutOfOrder: p.OutOfOrder,
			Recovery: p.Recovery},
	}
}

// bookParams are the values of nic.Book.
func bookParams() PersonalityParams {
	b := nic.Book()
	t := &b.Transport
	return PersonalityParams{CNPInterval: b.CNP.Interval, CNPScope: b.CNP.Scope,
		CNPDelay: b.CNP.Delay, CNPSpacing: b.CNP.Spacing, CNPOnNAK: b.CNP.OnNAK,
		AckCoalescePackets: t.AckCoalesce.Packets, AckCoalesceDelay: t.AckCoalesce.Delay,
		NAKDelay: t.NAKDelay, RetransmitDelay: t.RetransmitDelay, OutOfOrder: t.OutOfOrder,
		Recovery: t.Recovery}
}

// Personality is a documented kind of NIC. What no source tells is the book's.
type Personality struct {
	Name    string            `yaml:"-"`
	About   string            `yaml:"about"`
	Params  yaml.Node         `yaml:"params"`  // those of which a source tells
	Sources map[string]string `yaml:"sources"` // where each of them is published, by its key
}

// Personalities lists the names, in alphabetical order.
func Personalities() (names []string) {
	files, _ := personalityFiles.ReadDir("personalities") // it is part of the program
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return names
}

// LoadPersonality reads one by its name.
func LoadPersonality(name string) (p Personality, err error) {
	if !slices.Contains(Personalities(), name) {
		return p, fmt.Errorf("no personality %q: want one of %s", name,
			strings.Join(Personalities(), ", "))
	}
	text, err := personalityFiles.ReadFile(path.Join("personalities", name+".yaml"))
	if err != nil {
		return p, err
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	err = dec.Decode(&p)
	p.Name = name
	return p, err
}

// Values are the values of the personality, over the book's.
func (p *Personality) Values() (v PersonalityParams, err error) {
	v = bookParams()
	if p.Params.IsZero() {
		return v, nil
	}
	return v, daemon.Merge(p.Name, &p.Params, &v)
}

// List is all values of the personality, in the order of PersonalityParams.
func (p *Personality) List() ([]daemon.Parameter, error) {
	v, err := p.Values()
	return appendParameters(nil, "", v), err
}

// PersonalityConfig chooses a personality, and values that differ from it. A name alone may stand
// for it in a file.
type PersonalityConfig struct {
	Name   string         `yaml:"name"`
	Params map[string]any `yaml:"params,omitempty"`
}

// UnmarshalYAML reads a name, or a name with params. Params of the name that is there stand over
// its params; another name, and a name alone, has none but those that come with it.
func (c *PersonalityConfig) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*c = PersonalityConfig{Name: n.Value}
		return nil
	}
	type plain PersonalityConfig // without this method
	var own plain
	if err := daemon.Merge("personality", n, &own); err != nil {
		return err
	}
	if own.Name == "" || own.Name == c.Name {
		own = plain{c.Name, over(own.Params, c.Params)}
	}
	*c = PersonalityConfig(own)
	return nil
}

// MarshalYAML writes what UnmarshalYAML reads.
func (c PersonalityConfig) MarshalYAML() (any, error) {
	if len(c.Params) == 0 {
		return c.Name, nil
	}
	type plain PersonalityConfig
	return plain(c), nil
}

// resolve returns the values, and what is wrong with the choice.
func (c *PersonalityConfig) resolve() (v PersonalityParams, faults []daemon.Fault) {
	p, err := LoadPersonality(c.Name)
	if err == nil {
		v, err = p.Values()
	}
	if err != nil {
		return bookParams(), []daemon.Fault{{Path: "personality", Problem: err.Error()}}
	}
	// One at a time, so that each fault has its own path.
	for _, key := range slices.Sorted(maps.Keys(c.Params)) {
		text, err := yaml.Marshal(map[string]any{key: c.Params[key]})
		if err == nil {
			dec := yaml.NewDecoder(bytes.NewReader(text))
			dec.KnownFields(true)
			err = dec.Decode(&v)
		}
		if err == nil {
			continue
		}
		problem := fmt.Sprintf("%v is no value for it", c.Params[key])
		if strings.Contains(err.Error(), "not found in type") {
			problem = "unknown parameter of a personality"
		}
		faults = append(faults, daemon.Fault{Path: "personality.params." + key, Problem: problem})
	}
	return v, faults
}
