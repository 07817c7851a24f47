package daemon

import "go.yaml.in/yaml/v3"

// Table is a map of a configuration that stands for itself where it is given: nothing of the map
// that it is read over stays, be it the default or that of all nodes. So what a file says is what
// there is, as with SONiC's maps.
type Table[K comparable, V any] map[K]V

// UnmarshalYAML reads the whole map.
func (t *Table[K, V]) UnmarshalYAML(n *yaml.Node) error {
	m := make(map[K]V)
	err := n.Decode(&m)
	*t = m
	return err
}
