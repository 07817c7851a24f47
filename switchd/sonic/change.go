package sonic

import "strings"

// Set returns tables in which one field has another value; the empty value takes the field out.
// The key may be any that SONiC takes, as "Ethernet0|3-4". Table names may be in lower case.
func (t *Tables) Set(table, key, field, value string) (*Tables, []Fault) {
	if field == "" {
		return nil, []Fault{{strings.ToUpper(table), key, "", "no field is named"}}
	}
	changed, faults := t.Overlay(Raw{table: {key: {field: value}}})
	if len(faults) > 0 {
		return nil, faults
	}
	return changed, nil
}

// Overlay returns tables with the fields of raw put over those of t; an empty value takes a field
// out, and a row without fields is made if it is not there. Unlike a config_db.json, raw is
// somebody's wish: a field that would say nothing is a fault. Table names may be in lower case.
func (t *Tables) Overlay(raw Raw) (*Tables, []Fault) {
	p, under := new(parser), t.Raw(false)
	kinds := schemas()
	for _, name := range sorted(raw) {
		table := strings.ToUpper(name)
		for _, key := range sorted(raw[name]) {
			s := find(kinds, table, key)
			if s == nil {
				p.faults = append(p.faults, Fault{table, key, "", "no such table or key"})
				continue
			}
			keys, err := s.expand(key)
			if err != nil {
				p.fault(table, key, "", err)
				continue
			}
			for _, k := range keys {
				overlayRow(under.row(table, k), raw[name][key])
			}
			// The row alone tells of fields without meaning and of values that cannot be read.
			p.wish(s, key, raw[name][key])
		}
	}
	if len(p.faults) > 0 {
		return nil, p.faults
	}
	over, _, faults := Parse(under)
	if len(faults) > 0 {
		return nil, faults
	}
	return over, nil
}

func find(kinds []schema, table, key string) schema {
	for _, s := range kinds {
		if s.name() == table && s.takes(key) {
			return s
		}
	}
	return nil
}

func overlayRow(under, over map[string]string) {
	for field, value := range over {
		under[field] = value
		if value == "" {
			delete(under, field)
		}
	}
}

// wish reads a row by itself; its remarks are faults.
func (p *parser) wish(s schema, key string, row map[string]string) {
	fields := make(map[string]string)
	for field, value := range row {
		if value != "" {
			fields[field] = value
		}
	}
	alone := &parser{others: make(map[string]int)}
	s.read(new(Tables), key, fields, alone)
	p.faults = append(p.faults, alone.faults...)
	for _, r := range alone.remarks {
		p.faults = append(p.faults, Fault{r.Table, r.Key, r.Field, r.Text})
	}
	for _, field := range sorted(alone.others) {
		p.faults = append(p.faults, Fault{s.name(), key, field, "not QoS"})
	}
}
