package nicd

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/qp"
)

// Every value of a personality that is not the book's has a source, and every source is one of a
// value.
func TestPersonalitySources(t *testing.T) {
	names := Personalities()
	if !slices.Contains(names, BookPersonality) || len(names) < 6 {
		t.Fatalf("personalities %v", names)
	}
	for _, name := range names {
		p, err := LoadPersonality(name)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for i := 0; i < len(p.Params.Content); i += 2 {
			keys = append(keys, p.Params.Content[i].Value)
		}
		for _, key := range keys {
			if len(p.Sources[key]) < 10 {
				t.Errorf("%s: %s has no source", name, key)
			}
		}
		for key := range p.Sources {
			if !slices.Contains(keys, key) {
				t.Errorf("%s: there is a source of %s, which is not set", name, key)
			}
		}
		if _, err := decode("personality: " + name); p.About == "" || err != nil {
			t.Errorf("%s (%s): %v", name, p.About, err)
		}
	}
}

// Each key of the parameters reaches the machine.
func TestPersonalityParams(t *testing.T) {
	book, base := nic.Book(), bookParams()
	if base.machine() != book {
		t.Errorf("%+v, want %+v", base.machine(), book)
	}
	v := reflect.ValueOf(&base).Elem()
	for i := range v.NumField() {
		p := bookParams()
		f := reflect.ValueOf(&p).Elem().Field(i)
		switch f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Uint8:
			f.SetUint(1)
		default:
			f.SetInt(77)
		}
		if p.machine() == book {
			t.Errorf("%s does not reach the machine", v.Type().Field(i).Name)
		}
	}
}

// A personality is a name, or a name with values of its own; cnp_interval stands above both.
func TestPersonalityConfig(t *testing.T) {
	for text, want := range map[string]nic.CNPConfig{
		"": {Interval: 50 * time.Microsecond},
		"personality: connectx5": {Interval: 4 * time.Microsecond, Scope: nic.ScopePort,
			Spacing: 333, OnNAK: true},
		"personality: {name: connectx5, params: {cnp_delay: 2us, cnp_scope: ip}}": {
			Interval: 4 * time.Microsecond, Scope: nic.ScopeIP, Delay: 2 * time.Microsecond,
			Spacing: 333, OnNAK: true},
		"personality: {name: book, params: {cnp_interval: 9us}}\ncnp_interval: 7us": {
			Interval: 7 * time.Microsecond},
	} {
		c, err := decode(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		m, err := c.Machine()
		if err != nil || m.CNP != want {
			t.Errorf("%q: %+v, %v", text, m.CNP, err)
		}
		written, err := yaml.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		again := Default()
		err = yaml.Unmarshal(written, &again)
		if err != nil || again.behaviour() != c.behaviour() {
			t.Errorf("%q is written as %+v and read as %+v, %v", text, c.Personality,
				again.Personality, err)
		}
	}
	c, err := decode("personality: {name: book, params: {recovery: go_back_0, nak_delay: 1us}}")
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Machine()
	want := qp.Personality{Recovery: qp.GoBack0, NAKDelay: time.Microsecond}
	if err != nil || m.QP.Personality != want {
		t.Errorf("%+v, %v", m.QP.Personality, err)
	}
}

func TestPersonalityFaults(t *testing.T) {
	for text, want := range map[string]string{
		"personality: nobody":                         `f:6: personality: no personality "nobody": want`,
		"personality: {names: book}":                  "unknown key names",
		"personality:\n  params:\n    cnp: 1":         "f:8: personality.params.cnp: unknown",
		"personality: {params: {cnp_delay: 1s}}":      "params.cnp_delay: 1s is longer",
		"personality: {params: {cnp_scope: x}}":       "params.cnp_scope: x is no value",
		"personality: {params: {cnp_interval: -1us}}": "params.cnp_interval: -1µs is",
		"personality: {params: {nak_delay: -1us}}":    "params.nak_delay: -1µs is",
	} {
		if _, err := decode(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
