package sonic

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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

// Raw is the tables as texts, one row for each port and index. Fields that have their default are
// in it only if all says so.
func (t *Tables) Raw(all bool) Raw {
	raw := make(Raw)
	for _, s := range schemas() {
		s.write(t, raw, all)
	}
	return raw
}

// Export is the tables as SONiC writes them: "Ethernet0|3-4" for neighbouring groups or queues
// that are alike.
func (t *Tables) Export() []byte {
	raw := t.Raw(false)
	for _, table := range slotTables {
		if rows := raw[table]; rows != nil {
			raw[table] = joinSlots(rows)
		}
	}
	return raw.JSON()
}

var slotTables = []string{"BUFFER_PG", "BUFFER_QUEUE", "QUEUE"}

// joinSlots puts equal rows of neighbouring indices under one key.
func joinSlots(rows map[string]map[string]string) map[string]map[string]string {
	out := make(map[string]map[string]string)
	for _, key := range sorted(rows) {
		port, first, ok := SplitSlot(key)
		if !ok {
			panic("sonic: a key that is no slot: " + key)
		}
		if before, there := rows[Slot(port, first-1)]; there && same(before, rows[key]) {
			continue // it is in the range that began earlier
		}
		last := first
		for {
			next, there := rows[Slot(port, last+1)]
			if !there || !same(next, rows[key]) {
				break
			}
			last++
		}
		if last > first {
			key = fmt.Sprintf("%s|%d-%d", port, first, last)
		}
		out[key] = rows[Slot(port, first)]
	}
	return out
}

func same(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}

// Clone returns tables that share nothing with t.
func (t *Tables) Clone() *Tables {
	c, p := new(Tables), new(parser)
	for _, s := range schemas() {
		raw := make(Raw)
		s.write(t, raw, false)
		for _, key := range sorted(raw[s.name()]) {
			s.read(c, key, raw[s.name()][key], p)
		}
	}
	if len(p.faults) > 0 {
		panic(fmt.Sprintf("sonic: tables that do not read back: %v", p.faults))
	}
	return c
}

// Set returns tables in which one field has another value; the empty value takes the field out.
// The key may be any that SONiC takes, as "Ethernet0|3-4". Table names may be in lower case.
func (t *Tables) Set(table, key, field, value string) (*Tables, []Fault) {
	table = strings.ToUpper(table)
	fault := func(problem string) (*Tables, []Fault) {
		return nil, []Fault{{table, key, field, problem}}
	}
	if field == "" {
		return fault("no field is named")
	}
	for _, s := range schemas() {
		if s.name() != table || !s.takes(key) {
			continue
		}
		keys, err := s.expand(key)
		if err != nil {
			return fault(err.Error())
		}
		raw := t.Raw(false)
		for _, k := range keys {
			raw.put(table, k, field, value)
			if value == "" {
				delete(raw[table][k], field)
			}
		}
		return reparse(raw, table, key, field)
	}
	return fault("no such table")
}

// reparse accepts only what is read without a remark about the field itself.
func reparse(raw Raw, table, key, field string) (*Tables, []Fault) {
	t, remarks, faults := Parse(raw)
	for _, r := range remarks {
		if r.Table == table && r.Field == field && r.Key != "" {
			faults = append(faults, Fault{table, key, field, r.Text})
			break
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return t, nil
}
