package daemon

import (
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Resolver is a configuration that names other files, or that must know whether a key is in its
// file at all. Resolve runs after decoding and before Validate.
type Resolver interface {
	Resolve(Source) []Fault
}

// Source is the text that a configuration was read from.
type Source struct {
	Dir  string // of the file; relative names are relative to it
	root *yaml.Node
}

// Part is the source of settings that stand somewhere inside the file.
func (s Source) Part(node *yaml.Node) Source { return Source{s.Dir, node} }

// Path is where a file named in the configuration is.
func (s Source) Path(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	full, err := filepath.Abs(filepath.Join(s.Dir, name))
	if err != nil {
		return filepath.Join(s.Dir, name) // the working directory is gone; opening will say so
	}
	return full
}

// Given reports whether the file has the key, as in "wred_profile.ecn".
func (s Source) Given(path string) bool { return s.at(path) != nil }

// Under is the part of the source below a key: its Given starts there.
func (s Source) Under(path string) Source { return Source{s.Dir, s.at(path)} }

func (s Source) at(path string) *yaml.Node {
	node := s.root
	if node != nil && node.Kind == yaml.DocumentNode && len(node.Content) > 0 {
		node = node.Content[0]
	}
	for step := range strings.SplitSeq(path, ".") {
		node = child(node, step)
	}
	return node
}

// child is the value of a key of a mapping, or nil.
func child(node *yaml.Node, key string) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}
