package sonic

import (
	"errors"
	"fmt"
	"slices"
)

// parser collects what is wrong and what says nothing.
type parser struct {
	faults  []Fault
	remarks []Remark
	others  map[string]int // fields of other features in PORT, by name
}

func (p *parser) fault(table, key, field string, err error) {
	p.faults = append(p.faults, Fault{table, key, field, err.Error()})
}

func (p *parser) remark(r Remark) { p.remarks = append(p.remarks, r) }

// Parse turns texts into Tables. The faults are every value that cannot be read and every reference
// that leads nowhere; Tables is then not to be used.
func Parse(raw Raw) (*Tables, []Remark, []Fault) {
	t, p := new(Tables), &parser{others: make(map[string]int)}
	kinds := schemas()
	for _, table := range sorted(raw) {
		of := slices.DeleteFunc(slices.Clone(kinds), func(s schema) bool {
			return s.name() != table
		})
		if len(of) == 0 {
			p.remark(Remark{Table: table, Unknown: true,
				Text: fmt.Sprintf("not a QoS table: %s left to other features",
					count(len(raw[table])))})
			continue
		}
		for _, key := range sorted(raw[table]) {
			i := slices.IndexFunc(of, func(s schema) bool { return s.takes(key) })
			if i < 0 {
				p.fault(table, key, "", errors.New("no such key in this table"))
				continue
			}
			of[i].read(t, key, raw[table][key], p)
		}
	}
	for _, name := range sorted(p.others) {
		p.remark(Remark{Table: "PORT", Field: name,
			Text: fmt.Sprintf("not QoS: %s left to other features", count(p.others[name]))})
	}
	p.faults = append(p.faults, t.Validate()...)
	return t, append(p.remarks, t.Remarks()...), p.faults
}

func count(n int) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}

// Read reads a config_db.json. The error names every fault, one a line.
func Read(text []byte) (*Tables, []Remark, error) {
	raw, err := ReadJSON(text)
	if err != nil {
		return nil, nil, err
	}
	t, remarks, faults := Parse(raw)
	if len(faults) > 0 {
		all := make([]error, len(faults))
		for i, f := range faults {
			all[i] = f
		}
		return nil, remarks, errors.Join(all...)
	}
	return t, remarks, nil
}
