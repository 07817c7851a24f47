package sonic

import "fmt"

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
