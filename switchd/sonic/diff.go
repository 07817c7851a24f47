package sonic

// Difference is a field whose running value is not the desired one. An empty value means that the
// field, or its whole row, is not there.
type Difference struct {
	Table   string `json:"table"`
	Key     string `json:"key"`
	Field   string `json:"field"`
	Desired string `json:"desired"`
	Running string `json:"running"`
}

// String is "TABLE|key|field: desired X, running Y".
func (d Difference) String() string {
	return place(d.Table, d.Key, d.Field) + ": desired " + shown(d.Desired) + ", running " +
		shown(d.Running)
}

func shown(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// Diff compares two configurations field by field, defaults filled in, in the order of table, key
// and field. A row without fields on one side only is told with the field empty.
func Diff(desired, running *Tables) (list []Difference) {
	want, have := desired.Raw(true), running.Raw(true)
	for _, table := range sorted(union(want, have)) {
		for _, key := range sorted(union(want[table], have[table])) {
			a, inWant := want[table][key]
			b, inHave := have[table][key]
			if inWant != inHave && len(a)+len(b) == 0 {
				list = append(list, Difference{Table: table, Key: key,
					Desired: presence(inWant), Running: presence(inHave)})
			}
			for _, field := range sorted(union(a, b)) {
				if a[field] != b[field] {
					list = append(list, Difference{table, key, field, a[field], b[field]})
				}
			}
		}
	}
	return list
}

func presence(there bool) string {
	if there {
		return "an empty row"
	}
	return ""
}

func union[V any](a, b map[string]V) map[string]bool {
	m := make(map[string]bool)
	for k := range a {
		m[k] = true
	}
	for k := range b {
		m[k] = true
	}
	return m
}
