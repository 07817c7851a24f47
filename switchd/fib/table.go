package fib

import (
	"errors"
	"fmt"
	"math/bits"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// Config bounds a table. Zero values take the defaults.
type Config struct {
	Ports int
	Max   int           // entries; DefaultMax
	Age   time.Duration // of entries not seen again; DefaultAge
}

// The defaults.
const (
	DefaultMax = 16384
	DefaultAge = 300 * time.Second // IEEE 802.1Q-2022 table 8-6
)

// Table maps addresses to ports.
//
// It is a hash table with open addressing and linear probing; removing an entry moves back those
// that probed past it, so there are no tombstones and a lookup ends at the first empty slot.
type Table struct {
	Stats Stats

	age       time.Duration
	max, used int
	slots     []slot
	flood     dataplane.PortSet
	sweepAt   unit.Time // when a full table may be swept again
}

// Stats counts what operators ask for.
type Stats struct {
	Learnt, Moved, Aged uint64
	Full                uint64 // addresses that were not learnt for lack of room
}

// Entry is one address.
type Entry struct {
	MAC    wire.MAC
	Port   dataplane.PortID
	Static bool
	Seen   unit.Time // last, if not static
}

type slot struct {
	Entry
	taken bool
}

// New makes an empty table that floods to every port.
func New(cfg Config) *Table {
	if cfg.Max == 0 {
		cfg.Max = DefaultMax
	}
	if cfg.Age == 0 {
		cfg.Age = DefaultAge
	}
	// At most half full, so that probes are short.
	t := &Table{age: cfg.Age, max: cfg.Max, slots: make([]slot, 1<<bits.Len(uint(2*cfg.Max-1)))}
	for port := range cfg.Ports {
		t.flood.Add(dataplane.PortID(port))
	}
	return t
}

// Lookup returns the port behind an address; false if none is known and the frame is flooded.
func (t *Table) Lookup(now unit.Time, mac wire.MAC) (dataplane.PortID, bool) {
	s := &t.slots[t.find(mac)]
	if !s.taken || t.tooOld(now, s) {
		return 0, false
	}
	return s.Port, true
}

// Learn notes that mac was the source of a frame from port. Group addresses are no sources, and a
// static entry stays where it is.
func (t *Table) Learn(now unit.Time, mac wire.MAC, port dataplane.PortID) {
	if mac.IsMulticast() {
		return
	}
	s := &t.slots[t.find(mac)]
	switch {
	case s.taken && s.Static:
	case s.taken:
		if s.Port != port {
			t.Stats.Moved++
		}
		s.Port, s.Seen = port, now
	case t.used < t.max || t.sweep(now):
		s = &t.slots[t.find(mac)] // The sweep may have moved the place.
		*s = slot{Entry{MAC: mac, Port: port, Seen: now}, true}
		t.used++
		t.Stats.Learnt++
	default:
		t.Stats.Full++
	}
}

// AddStatic puts an address behind a port for good.
func (t *Table) AddStatic(mac wire.MAC, port dataplane.PortID) error {
	if mac.IsMulticast() {
		return fmt.Errorf("static entry %v: a group address has no port", mac)
	}
	s := &t.slots[t.find(mac)]
	if !s.taken {
		if t.used == t.max {
			return errors.New("static entry: the MAC table is full")
		}
		t.used++
	}
	*s = slot{Entry{MAC: mac, Port: port, Static: true}, true}
	return nil
}

// FlushPort forgets what was learnt on a port, as when its link goes down.
func (t *Table) FlushPort(port dataplane.PortID) {
	t.removeIf(func(e *Entry) bool { return e.Port == port && !e.Static })
}

// Flood is the set of ports that unknown and group addresses go to, the ingress port excepted.
func (t *Table) Flood() *dataplane.PortSet { return &t.flood }

// Len is the number of entries, those included that are too old but still in their place.
func (t *Table) Len() int { return t.used }

// Walk calls fn with every entry that Lookup would find, in the order of the table.
func (t *Table) Walk(now unit.Time, fn func(Entry)) {
	for i := range t.slots {
		if s := &t.slots[i]; s.taken && !t.tooOld(now, s) {
			fn(s.Entry)
		}
	}
}

func (t *Table) tooOld(now unit.Time, s *slot) bool {
	return !s.Static && now.Sub(s.Seen) > t.age
}

// sweepPause keeps a full table from being swept for every frame.
const sweepPause = time.Second

// sweep removes what is too old and reports whether there is room now.
func (t *Table) sweep(now unit.Time) bool {
	if now < t.sweepAt {
		return false
	}
	t.sweepAt = now.Add(sweepPause)
	before := t.used
	t.removeIf(func(e *Entry) bool { return !e.Static && now.Sub(e.Seen) > t.age })
	t.Stats.Aged += uint64(before - t.used)
	return t.used < t.max
}

// removeIf removes the entries that match. What moves back into the freed slot is looked at there;
// what moves round from the table's start to its end has been looked at.
func (t *Table) removeIf(match func(*Entry) bool) {
	for i := range t.slots {
		for t.slots[i].taken && match(&t.slots[i].Entry) {
			t.remove(i)
		}
	}
}

// remove empties slot i and closes the gap for those that probed past it.
func (t *Table) remove(i int) {
	mask := len(t.slots) - 1
	t.used--
	for j := (i + 1) & mask; t.slots[j].taken; j = (j + 1) & mask {
		home := t.home(t.slots[j].MAC)
		// The entry at j may fill the gap at i unless its home lies in (i, j].
		if (j-home)&mask >= (j-i)&mask {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = slot{}
}

// find returns the slot of an address, or the empty one where it would go.
func (t *Table) find(mac wire.MAC) int {
	mask := len(t.slots) - 1
	i := t.home(mac)
	for t.slots[i].taken && t.slots[i].MAC != mac {
		i = (i + 1) & mask
	}
	return i
}

// home is where the search for an address starts. Addresses of a lab differ in few bits, which a
// multiplication spreads.
func (t *Table) home(mac wire.MAC) int {
	key := uint64(mac[0])<<40 | uint64(mac[1])<<32 | uint64(mac[2])<<24 |
		uint64(mac[3])<<16 | uint64(mac[4])<<8 | uint64(mac[5])
	key *= 0x9e3779b97f4a7c15 // 2^64 / golden ratio
	return int(key >> 32 & uint64(len(t.slots)-1))
}
