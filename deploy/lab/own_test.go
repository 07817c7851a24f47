package lab

import (
	"maps"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd"
)

// ownNIC is the NIC of h1 with settings of its own over those of all, and what is wrong with them.
func ownNIC(t *testing.T, all, own string) (c nicd.Config, faults string) {
	t.Helper()
	top := Star("own", 2, 40*unit.GbPerSecond, time.Microsecond)
	if err := yaml.Unmarshal([]byte(all), &top.NIC); err != nil {
		t.Fatal(err)
	}
	for i := range top.Nodes {
		if n := &top.Nodes[i]; n.Name == "h1" {
			var doc yaml.Node
			if err := yaml.Unmarshal([]byte(own), &doc); err != nil {
				t.Fatal(err)
			}
			n.NIC = *doc.Content[0]
			c = top.NICConfig(*n)
		}
	}
	for _, f := range top.Validate() {
		faults += f.Path + ": " + f.Problem + "\n"
	}
	return c, faults
}

// What a node says of congestion control stands over what is said for all, each of the params for
// itself, but nothing stays of what belongs to another algorithm.
func TestOwnCongestionControl(t *testing.T) {
	const all = "cc: {algorithm: ldcp, preset: draft_quarter, params: {alpha: 0.5, beta: 0.25}}"
	three := nicd.CCConfig{Algorithm: "ldcp", Preset: "draft_quarter",
		Params: map[string]any{"alpha": 0.5, "beta": 0.25}}
	for own, want := range map[string]nicd.CCConfig{
		"burst: 3000B":          three,
		"cc: {}":                three,
		"cc: {algorithm: ldcp}": three,
		"cc: {preset: draft}":   {Algorithm: "ldcp", Preset: "draft", Params: three.Params},
		"cc: {params: {}}":      three,
		"cc: {params: {alpha: 0.75, eta: 0.25}}": {Algorithm: "ldcp", Preset: "draft_quarter",
			Params: map[string]any{"alpha": 0.75, "beta": 0.25, "eta": 0.25}},
		// timely has an alpha and a beta as well, of another meaning.
		"cc: {algorithm: timely}": {Algorithm: "timely"},
		"cc: {algorithm: timely, params: {beta: 0.75}}": {Algorithm: "timely",
			Params: map[string]any{"beta": 0.75}},
	} {
		c, faults := ownNIC(t, all, own)
		if faults != "" || c.CC.Algorithm != want.Algorithm || c.CC.Preset != want.Preset ||
			!maps.Equal(c.CC.Params, want.Params) {
			t.Errorf("%s: %+v, want %+v; %s", own, c.CC, want, faults)
		}
	}
	for own, want := range map[string]string{
		"cc: {algorithm: dcqcn, params: {gamma: 1}}": "gamma: unknown parameter of dcqcn",
		"cc: {algorithms: dcqcn}":                    "unknown key algorithms",
	} {
		if _, faults := ownNIC(t, all, own); !strings.Contains(faults, want) {
			t.Errorf("%s: %q, want %q", own, faults, want)
		}
	}
}

// So with a personality; one that is named alone has no params.
func TestOwnPersonality(t *testing.T) {
	const all = "personality: {name: connectx5, params: {cnp_delay: 2us}}"
	for own, want := range map[string]nicd.PersonalityConfig{
		"burst: 3000B": {Name: "connectx5",
			Params: map[string]any{"cnp_delay": "2us"}},
		"personality: book":         {Name: "book"},
		"personality: {name: book}": {Name: "book"},
		"personality: {params: {cnp_scope: ip}}": {Name: "connectx5",
			Params: map[string]any{"cnp_delay": "2us", "cnp_scope": "ip"}},
	} {
		c, faults := ownNIC(t, all, own)
		if faults != "" || c.Personality.Name != want.Name ||
			!maps.Equal(c.Personality.Params, want.Params) {
			t.Errorf("%s: %+v, want %+v; %s", own, c.Personality, want, faults)
		}
	}
}
