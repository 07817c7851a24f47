package fib

import (
	"cmp"
	"encoding/binary"
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
	// Static are there from the start, at most Max, each of one station.
	Static []Static
}

// Static is an entry for good.
type Static struct {
	MAC  wire.MAC
	Port dataplane.PortID
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
	static    []Static  // by configuration
}

// Stats counts what operators ask for.
type Stats struct {
	Learnt, Moved, Aged uint64
	Missed              uint64 // lookups of addresses that are not known
	Full                uint64 // addresses that were not learnt for lack of room
}

// Entry is one address.
type Entry struct {
	MAC    wire.MAC
	Port   dataplane.PortID
	Static bool
	Seen   unit.Time // last, if not static
}

// slot is an entry in 24 bytes; an empty one has no key.
type slot struct {
	key    uint64
	seen   unit.Time
	port   dataplane.PortID
	static bool
}

// taken is set in the key of every address, so that none is zero.
const taken = 1 << 48

func keyOf(mac wire.MAC) uint64 {
	return taken | uint64(binary.BigEndian.Uint32(mac[0:4]))<<16 |
		uint64(binary.BigEndian.Uint16(mac[4:6]))
}

func (s *slot) entry() (e Entry) {
	binary.BigEndian.PutUint32(e.MAC[0:4], uint32(s.key>>16))
	binary.BigEndian.PutUint16(e.MAC[4:6], uint16(s.key))
	e.Port, e.Static, e.Seen = s.port, s.static, s.seen
	return e
}

// New makes an empty table that floods to every port.
func New(cfg Config) *Table {
	if cfg.Max == 0 {
		cfg.Max = DefaultMax
	}
	if cfg.Age == 0 {
		cfg.Age = DefaultAge
	}
	t := &Table{age: cfg.Age, max: cfg.Max, slots: make([]slot, slotsFor(firstEntries))}
	for port := range cfg.Ports {
		t.flood.Add(dataplane.PortID(port))
	}
	t.Reconfigure(cfg)
	return t
}

// Validate returns every fault of the static entries of a switch with so many ports.
func (c *Config) Validate(ports int) error {
	var faults []error
	if limit := cmp.Or(c.Max, DefaultMax); len(c.Static) > limit {
		faults = append(faults, fmt.Errorf("%d static addresses of at most %d", len(c.Static),
			limit))
	}
	for _, e := range c.Static {
		if e.MAC.IsMulticast() || int(e.Port) >= ports {
			faults = append(faults, fmt.Errorf("static address %v on port %d: want one station's, "+
				"on one of %d ports", e.MAC, e.Port, ports))
		}
	}
	return errors.Join(faults...)
}

// firstEntries is how many a table has room for at the start. It grows with what is in it.
const firstEntries = 32

// place is the empty slot for an address that is not in the table, which grows if need be.
func (t *Table) place(key uint64) *slot {
	if n := slotsFor(t.used + 1); n > len(t.slots) {
		old := t.slots
		t.slots = make([]slot, n)
		for i := range old {
			if old[i].key != 0 {
				t.slots[t.find(old[i].key)] = old[i]
			}
		}
	}
	return &t.slots[t.find(key)]
}

// slotsFor is twice as many as entries, so that probes are short, and a power of two.
func slotsFor(entries int) int { return 1 << bits.Len(uint(2*entries-1)) }

// Lookup returns the port behind an address; false if none is known and the frame is flooded.
func (t *Table) Lookup(now unit.Time, mac wire.MAC) (dataplane.PortID, bool) {
	port, ok := t.Peek(now, mac)
	if !ok {
		t.Stats.Missed++
	}
	return port, ok
}

// Peek is Lookup for those who only look.
func (t *Table) Peek(now unit.Time, mac wire.MAC) (dataplane.PortID, bool) {
	s := &t.slots[t.find(keyOf(mac))]
	if s.key == 0 || t.tooOld(now, s) {
		return 0, false
	}
	return s.port, true
}

// Learn notes that mac was the source of a frame from port. Group addresses are no sources, and a
// static entry stays where it is.
func (t *Table) Learn(now unit.Time, mac wire.MAC, port dataplane.PortID) {
	if mac.IsMulticast() {
		return
	}
	key := keyOf(mac)
	s := &t.slots[t.find(key)]
	switch {
	case s.static:
	case s.key != 0:
		if s.port != port {
			t.Stats.Moved++
		}
		s.port, s.seen = port, now
	case t.used < t.max || t.sweep(now):
		s = t.place(key) // The sweep may have moved the place.
		*s = slot{key: key, port: port, seen: now}
		t.used++
		t.Stats.Learnt++
	default:
		t.Stats.Full++
	}
}

// Flood is the set of ports that unknown and group addresses go to, the ingress port excepted.
func (t *Table) Flood() *dataplane.PortSet { return &t.flood }

// Len is the number of entries, those included that are too old but still in their place.
func (t *Table) Len() int { return t.used }

func (t *Table) tooOld(now unit.Time, s *slot) bool {
	return !s.static && now.Sub(s.seen) > t.age
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
	t.removeIf(func(s *slot) bool { return t.tooOld(now, s) })
	t.Stats.Aged += uint64(before - t.used)
	return t.used < t.max
}

// removeIf removes the entries that match. What moves back into the freed slot is looked at there;
// what moves round from the table's start to its end has been looked at.
func (t *Table) removeIf(match func(*slot) bool) {
	for i := range t.slots {
		for t.slots[i].key != 0 && match(&t.slots[i]) {
			t.remove(i)
		}
	}
}

// remove empties slot i and closes the gap for those that probed past it.
func (t *Table) remove(i int) {
	mask := len(t.slots) - 1
	t.used--
	for j := (i + 1) & mask; t.slots[j].key != 0; j = (j + 1) & mask {
		home := t.home(t.slots[j].key)
		// The entry at j may fill the gap at i unless its home lies in (i, j].
		if (j-home)&mask >= (j-i)&mask {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = slot{}
}

// find returns the slot of an address, or the empty one where it would go.
func (t *Table) find(key uint64) int {
	mask := len(t.slots) - 1
	i := t.home(key)
	for t.slots[i].key != 0 && t.slots[i].key != key {
		i = (i + 1) & mask
	}
	return i
}

// home is where the search for an address starts. Addresses of a lab differ in few bits, which a
// multiplication spreads.
func (t *Table) home(key uint64) int {
	key *= 0x9e3779b97f4a7c15 // 2^64 / golden ratio
	return int(key >> 32 & uint64(len(t.slots)-1))
}
