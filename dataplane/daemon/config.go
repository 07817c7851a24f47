package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	if err := strict(name, text, cfg); err != nil {
		return err
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var faults []Fault
	if r, ok := cfg.(Resolver); ok {
		faults = r.Resolve(Source{filepath.Dir(name), &root})
	}
	if faults = append(faults, cfg.Validate()...); len(faults) == 0 {
		return nil
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

// Merge reads a part of a document over cfg, which does not judge itself yet; name stands for the
// part in errors, whose lines count from its first. Unknown keys are refused.
func Merge(name string, part *yaml.Node, cfg any) error {
	text, err := yaml.Marshal(part)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return strict(name, text, cfg)
}

// maxScalars bounds how many unreadable values one error lists.
const maxScalars = 20

// strict decodes one document and refuses unknown keys. The decoder stops at the first value that
// a type's own reader refuses, and does not say where it is; such a value is looked up, blanked,
// and the rest read again, so that all are named.
func strict(name string, text []byte, cfg any) error {
	var all []error
	text = bytes.Clone(text)
	for range maxScalars {
		dec := yaml.NewDecoder(bytes.NewReader(text))
		dec.KnownFields(true)
		err := dec.Decode(cfg)
		switch {
		case err == nil:
			if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
				all = append(all, fmt.Errorf("%s: more than one YAML document", name))
			}
			return errors.Join(all...)
		case errors.Is(err, io.EOF): // an empty file
			return errors.Join(all...)
		}
		at, path, ok := culprit(text, err)
		if !ok {
			return errors.Join(append(all, decodeError(name, err))...)
		}
		all = append(all, fmt.Errorf("%s:%d: %s: %w", name, at.Line, path, err))
		if !blank(text, at) {
			break
		}
	}
	return errors.Join(all...)
}

// culprit finds the value that an error without a line quotes.
func culprit(text []byte, err error) (at *yaml.Node, path string, ok bool) {
	var root yaml.Node
	if yamlLine.MatchString(err.Error()) || yaml.Unmarshal(text, &root) != nil {
		return nil, "", false
	}
	at, path = find(&root, "", func(n *yaml.Node) bool {
		return n.Value != "" && strings.Contains(err.Error(), strconv.Quote(n.Value))
	})
	return at, path, at != nil
}

// find returns the first scalar value that matches, with its field path.
func find(n *yaml.Node, path string, match func(*yaml.Node) bool) (*yaml.Node, string) {
	switch n.Kind {
	case yaml.ScalarNode:
		if match(n) {
			return n, path
		}
	case yaml.DocumentNode:
		return find(n.Content[0], path, match)
	case yaml.SequenceNode:
		for i, c := range n.Content {
			if at, p := find(c, fmt.Sprintf("%s[%d]", path, i), match); at != nil {
				return at, p
			}
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			p := strings.TrimPrefix(path+"."+n.Content[i].Value, ".")
			if at, p := find(n.Content[i+1], p, match); at != nil {
				return at, p
			}
		}
	}
	return nil, ""
}

// blank overwrites a value in the text with null, keeping all lines and columns.
func blank(text []byte, at *yaml.Node) bool {
	line := text
	for range at.Line - 1 {
		_, line, _ = bytes.Cut(line, []byte("\n"))
	}
	value := line[min(at.Column-1, len(line)):]
	if at.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 && len(value) > 0 {
		value[0] = ' '
		value = value[1:]
	}
	if !bytes.HasPrefix(value, []byte(at.Value)) {
		return false
	}
	for i := range at.Value {
		value[i] = ' '
	}
	value[0] = '~'
	if rest := value[len(at.Value):]; len(rest) > 0 && (rest[0] == '"' || rest[0] == '\'') {
		rest[0] = ' '
	}
	return true
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
