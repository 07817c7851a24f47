package fib

import (
	"errors"
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// AddStatic puts an address behind a port for good.
func (t *Table) AddStatic(mac wire.MAC, port dataplane.PortID) error {
	if mac.IsMulticast() {
		return fmt.Errorf("static entry %v: a group address has no port", mac)
	}
	key := keyOf(mac)
	s := &t.slots[t.find(key)]
	if s.key == 0 {
		if t.used == t.max {
			return errors.New("static entry: the MAC table is full")
		}
		s = t.place(key)
		t.used++
	}
	*s = slot{key: key, port: port, static: true}
	return nil
}

// Remove takes out an address, learnt or static. It reports whether it was there.
func (t *Table) Remove(mac wire.MAC) bool {
	i := t.find(keyOf(mac))
	if t.slots[i].key == 0 {
		return false
	}
	t.remove(i)
	return true
}

// Flush forgets everything that was learnt (SONiC: fdbclear).
func (t *Table) Flush() { t.removeIf(func(s *slot) bool { return !s.static }) }

// FlushPort forgets what was learnt on a port, as when its link goes down.
func (t *Table) FlushPort(port dataplane.PortID) {
	t.removeIf(func(s *slot) bool { return s.port == port && !s.static })
}

// Walk calls fn with every entry that Lookup would find, in the order of the table.
func (t *Table) Walk(now unit.Time, fn func(Entry)) {
	for i := range t.slots {
		if s := &t.slots[i]; s.key != 0 && !t.tooOld(now, s) {
			fn(s.entry())
		}
	}
}

// SetAge changes the age at which entries are too old, also of those that are there. It must be
// positive.
func (t *Table) SetAge(age time.Duration) { t.age = age }

// Age is the age at which an entry is too old.
func (t *Table) Age() time.Duration { return t.age }
