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
	if cfg.Max != t.max {
		t.max, t.sweepAt = cfg.Max, 0
	}
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
