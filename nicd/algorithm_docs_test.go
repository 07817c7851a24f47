package nicd

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// docs/congestion-control.md has a section for every algorithm, with its presets, and every
// parameter with its default.
func TestAlgorithmsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/congestion-control.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range algorithms.Names() {
		_, section, ok := strings.Cut(string(text), "\n### "+name+"\n")
		if !ok {
			t.Errorf("%s has no section", name)
			continue
		}
		section, _, _ = strings.Cut(section, "\n## ")
		section, _, _ = strings.Cut(section, "\n### ")
		if !strings.Contains(string(text), "| [`"+name+"`](#"+name+") |") {
			t.Errorf("%s is not in the table", name)
		}
		for _, p := range algorithms.Presets(name) {
			if !strings.Contains(section, "`"+p+"`") && name != "ldcp_probe" { // "as ldcp"
				t.Errorf("%s: preset %s", name, p)
			}
		}
		params, err := algorithms.Params(name, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range appendParameters(nil, "", params) {
			row := fmt.Sprintf("\n| `%s` | %s |", p.Name, p.Value)
			if !strings.Contains(section, row) {
				t.Errorf("%s: no row %q", name, row)
			}
		}
	}
}

// An unknown algorithm is answered with those that there are, and with the section that says how to
// add one, which there is.
func TestUnknownAlgorithmIsExplained(t *testing.T) {
	_, err := decode("cc: {algorithm: mine}")
	for _, want := range append(algorithms.Names(), ownAlgorithm) {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	text, err := os.ReadFile("../docs/congestion-control.md")
	if err != nil {
		t.Fatal(err)
	}
	_, title, _ := strings.Cut(ownAlgorithm, `"`)
	title, _, _ = strings.Cut(title, `"`)
	if !strings.Contains(string(text), "\n## "+title+"\n") {
		t.Errorf("docs/congestion-control.md has no section %q", title)
	}
}
