package sonic

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// schema is how one kind of row is read and written.
type schema interface {
	name() string
	takes(key string) bool
	// expand turns a key as SONiC writes it into the keys that Tables has.
	expand(key string) ([]string, error)
	read(t *Tables, key string, fields map[string]string, p *parser)
	// write puts every row into raw; fields that have their default only if all says so.
	write(t *Tables, raw Raw, all bool)
}

// keyForm says what the key of a row is made of.
type keyForm struct {
	only   string // the one key, if not empty
	expand func(key string) ([]string, error)
}

// The forms of keys.
var (
	byName = keyForm{expand: func(k string) ([]string, error) { return []string{k}, nil }}
	byPort = keyForm{expand: expandPorts}
	bySlot = keyForm{expand: expandSlots}
)

func only(key string) keyForm {
	return keyForm{only: key, expand: func(k string) ([]string, error) { return []string{k}, nil }}
}

// expandPorts reads "Ethernet0" and "Ethernet0,Ethernet4".
func expandPorts(key string) ([]string, error) {
	ports := split(key)
	if len(ports) == 0 || strings.Contains(key, "|") {
		return nil, fmt.Errorf("key %q: want a port, or ports with commas", key)
	}
	return ports, nil
}

// expandSlots reads "Ethernet0|3", "Ethernet0|3-4" and "Ethernet0,Ethernet4|3-4".
func expandSlots(key string) (slots []string, err error) {
	list, indices, found := strings.Cut(key, "|")
	ports := split(list)
	if !found || len(ports) == 0 || strings.Contains(indices, "|") {
		return nil, fmt.Errorf("key %q: want port|index, as Ethernet0|3-4", key)
	}
	low, high, isRange := strings.Cut(indices, "-")
	first, err := parseNumber(low, 0, Indices-1)
	if err != nil {
		return nil, fmt.Errorf("key %q: %w", key, err)
	}
	last := first
	if isRange {
		if last, err = parseNumber(high, first, Indices-1); err != nil {
			return nil, fmt.Errorf("key %q: %w", key, err)
		}
	}
	for _, port := range ports {
		for i := first; i <= last; i++ {
			slots = append(slots, Slot(port, i))
		}
	}
	return slots, nil
}

// records is a table whose rows have named fields.
type records[R any] struct {
	table   string
	keys    keyForm
	rows    func(*Tables) *map[string]R
	fresh   R // a row with the model's defaults
	fields  []field[R]
	stated  []string          // fields written also with their default: SONiC's is another, or none
	ignored map[string]string // fields of SONiC without meaning here, and why
	others  map[string]bool   // fields of other features; remarked on once for all rows
}

func (s *records[R]) name() string { return s.table }

func (s *records[R]) takes(key string) bool { return s.keys.only == "" || s.keys.only == key }

func (s *records[R]) expand(key string) ([]string, error) { return s.keys.expand(key) }

func (s *records[R]) read(t *Tables, key string, fields map[string]string, p *parser) {
	row := s.fresh
	for _, name := range sorted(fields) {
		i := slices.IndexFunc(s.fields, func(f field[R]) bool { return f.name == name })
		why, known := s.ignored[name]
		switch {
		case i >= 0:
			if err := s.fields[i].set(&row, fields[name]); err != nil {
				p.fault(s.table, key, name, err)
			}
		case known:
			p.remark(Remark{Table: s.table, Key: key, Field: name, Text: why})
		case s.others[name]:
			p.others[name]++
		case name == "NULL": // how SONiC writes a row without fields
		default:
			p.remark(Remark{Table: s.table, Key: key, Field: name, Unknown: true,
				Text: "not known here"})
		}
	}
	keys, err := s.keys.expand(key)
	if err != nil {
		p.fault(s.table, key, "", err)
		return
	}
	add(s.rows(t), s.table, keys, p, func() R { return row })
}

// add puts a row under each key; a key that is there already is a fault.
func add[R any](rows *map[string]R, table string, keys []string, p *parser, row func() R) {
	if *rows == nil {
		*rows = make(map[string]R)
	}
	for _, key := range keys {
		if _, twice := (*rows)[key]; twice {
			p.fault(table, key, "", errors.New("is given twice"))
			continue
		}
		(*rows)[key] = row()
	}
}

func (s *records[R]) write(t *Tables, raw Raw, all bool) {
	fresh := s.fresh
	for key, row := range *s.rows(t) {
		out := raw.row(s.table, key)
		for _, f := range s.fields {
			if text := f.get(&row); text != "" && (all || text != f.get(&fresh) ||
				slices.Contains(s.stated, f.name)) {
				out[f.name] = text
			}
		}
	}
}

// pairs is a table whose rows map code points.
type pairs struct {
	table    string
	rows     func(*Tables) *map[string]Map
	from, to int // how many code points
}

func (s *pairs) name() string                        { return s.table }
func (s *pairs) takes(string) bool                   { return true }
func (s *pairs) expand(key string) ([]string, error) { return []string{key}, nil }

func (s *pairs) read(t *Tables, key string, fields map[string]string, p *parser) {
	m := make(Map)
	for _, name := range sorted(fields) {
		if name == "NULL" {
			continue
		}
		from, err := parseNumber(name, 0, s.from-1)
		if err != nil {
			p.fault(s.table, key, name, err)
			continue
		}
		to, err := parseNumber(fields[name], 0, s.to-1)
		if err != nil {
			p.fault(s.table, key, name, err)
			continue
		}
		if _, twice := m[uint8(from)]; twice {
			p.fault(s.table, key, name, errors.New("is given twice"))
		}
		m[uint8(from)] = uint8(to)
	}
	add(s.rows(t), s.table, []string{key}, p, func() Map { return m })
}

func (s *pairs) write(t *Tables, raw Raw, _ bool) {
	for key, m := range *s.rows(t) {
		out := raw.row(s.table, key)
		for from, to := range m {
			out[strconv.Itoa(int(from))] = strconv.Itoa(int(to))
		}
	}
}

// cables is CABLE_LENGTH, whose fields are ports.
type cables struct{}

func (cables) name() string                        { return "CABLE_LENGTH" }
func (cables) takes(string) bool                   { return true }
func (cables) expand(key string) ([]string, error) { return []string{key}, nil }

func (s cables) read(t *Tables, key string, fields map[string]string, p *parser) {
	row := make(Cables)
	for _, port := range sorted(fields) {
		n, err := parseMetres(fields[port])
		if err != nil {
			p.fault(s.name(), key, port, err)
		}
		row[port] = n
	}
	add(&t.Cables, s.name(), []string{key}, p, func() Cables { return row })
}

func (s cables) write(t *Tables, raw Raw, _ bool) {
	for key, row := range t.Cables {
		out := raw.row(s.name(), key)
		for port, n := range row {
			out[port] = strconv.Itoa(n) + "m"
		}
	}
}
