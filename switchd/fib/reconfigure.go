package fib

// Reconfigure changes the bounds and keeps every entry: one that is too old by the new age is found
// no more, and a table that holds more than the new bound takes in nothing until it holds less.
// Ports stay.
func (t *Table) Reconfigure(cfg Config) {
	if cfg.Max == 0 {
		cfg.Max = DefaultMax
	}
	if cfg.Age == 0 {
		cfg.Age = DefaultAge
	}
	t.age = cfg.Age
	if cfg.Max == t.max {
		return
	}
	old := t.slots
	t.max = cfg.Max
	t.slots = make([]slot, slotsFor(max(cfg.Max, t.used)))
	t.sweepAt = 0
	for i := range old {
		if old[i].key != 0 {
			t.slots[t.find(old[i].key)] = old[i]
		}
	}
}
