package fib

import "slices"

// Reconfigure changes the bounds and keeps every entry: one that is too old by the new age is found
// no more, and a table that holds more than the new bound takes in nothing until it holds less.
// Static entries that the configuration had and has no more go. Ports stay.
func (t *Table) Reconfigure(cfg Config) {
	if cfg.Max == 0 {
		cfg.Max = DefaultMax
	}
	if cfg.Age == 0 {
		cfg.Age = DefaultAge
	}
	t.age = cfg.Age
	t.resize(cfg.Max)
	for _, e := range t.static {
		if s := &t.slots[t.find(keyOf(e.MAC))]; s.static && s.port == e.Port &&
			!slices.Contains(cfg.Static, e) {
			t.Remove(e.MAC)
		}
	}
	t.static = slices.Clone(cfg.Static)
	for _, e := range t.static {
		if err := t.AddStatic(e.MAC, e.Port); err != nil {
			t.Stats.Full++ // Addresses that were learnt have the room.
		}
	}
}

// resize makes room for another number of entries.
func (t *Table) resize(entries int) {
	if entries == t.max {
		return
	}
	old := t.slots
	t.max = entries
	t.slots = make([]slot, slotsFor(max(entries, t.used)))
	t.sweepAt = 0
	for i := range old {
		if old[i].key != 0 {
			t.slots[t.find(old[i].key)] = old[i]
		}
	}
}
