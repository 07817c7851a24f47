package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Fault is one thing wrong with a configuration.
type Fault struct {
	Path    string // of the field, as in "ports[1].rate"
	Problem string
}

// Validator judges a decoded configuration. It returns every fault and changes nothing.
type Validator interface {
	Validate() []Fault
}

// Load reads a YAML file over the defaults already in cfg. Unknown keys are refused, then cfg
// judges itself; the error lists every fault with file, line and field path.
func Load(path string, cfg Validator) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	return Decode(path, text, cfg)
}

// Decode is Load on bytes; name stands for the file in errors.
func Decode(name string, text []byte, cfg Validator) error {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(cfg); err != nil && !errors.Is(err, io.EOF) {
		return decodeError(name, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: more than one YAML document", name)
	}
	faults := cfg.Validate()
	if len(faults) == 0 {
		return nil
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var all []error
	for _, f := range faults {
		all = append(
			all,
			fmt.Errorf("%s:%d: %s: %s", name, lineOf(&root, f.Path), f.Path, f.Problem),
		)
	}
	return errors.Join(all...)
}

var (
	yamlLine    = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)
	yamlUnknown = regexp.MustCompile(`^field (\S+) not found in type \S+$`)
)

// decodeError turns the decoder's text into file:line: problem, one line each.
func decodeError(name string, err error) error {
	lines := []string{err.Error()}
	var typeErr *yaml.TypeError
	if errors.As(err, &typeErr) {
		lines = typeErr.Errors
	}
	var all []error
	for _, l := range lines {
		m := yamlLine.FindStringSubmatch(l)
		if m == nil {
			all = append(all, fmt.Errorf("%s: %s", name, l))
			continue
		}
		problem := m[2]
		if u := yamlUnknown.FindStringSubmatch(problem); u != nil {
			problem = "unknown key " + u[1]
		}
		all = append(all, fmt.Errorf("%s:%s: %s", name, m[1], problem))
	}
	return errors.Join(all...)
}

// lineOf finds the line of a field path; of its nearest parent if the field is not in the file.
func lineOf(root *yaml.Node, path string) int {
	node := root
	if node.Kind == yaml.DocumentNode && len(node.Content) > 0 {
		node = node.Content[0]
	}
	line := max(node.Line, 1)
	isSeparator := func(r rune) bool { return strings.ContainsRune(".[]", r) }
	for _, step := range strings.FieldsFunc(path, isSeparator) {
		var next *yaml.Node
		switch node.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(node.Content); i += 2 {
				if node.Content[i].Value == step {
					line, next = node.Content[i].Line, node.Content[i+1]
				}
			}
		case yaml.SequenceNode:
			if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(node.Content) {
				next = node.Content[i]
				line = next.Line
			}
		}
		if next == nil {
			return line
		}
		node = next
	}
	return line
}
