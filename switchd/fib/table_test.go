package fib

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

const second = unit.Time(time.Second)

func mac(n int) wire.MAC { return wire.MAC{2, 0, 0, byte(n >> 16), byte(n >> 8), byte(n)} }

func expect(t *testing.T, table *Table, now unit.Time, n int, port dataplane.PortID, ok bool) {
	t.Helper()
	if got, found := table.Lookup(now, mac(n)); found != ok || got != port {
		t.Errorf("%v: address %d behind port %d (%v), want %d (%v)", now, n, got, found, port, ok)
	}
}

func TestLearningAndAgeing(t *testing.T) {
	table := New(Config{Ports: 4})
	expect(t, table, 0, 1, 0, false)
	table.Learn(0, mac(1), 3)
	expect(t, table, 300*second, 1, 3, true)
	expect(t, table, 300*second+1, 1, 0, false)
	table.Learn(400*second, mac(1), 2)
	expect(t, table, 700*second, 1, 2, true)
	if want := (Stats{Learnt: 1, Moved: 1, Missed: 2}); table.Stats != want || table.Len() != 1 {
		t.Errorf("stats %+v, %d entries", table.Stats, table.Len())
	}
}

func TestStatic(t *testing.T) {
	table := New(Config{Ports: 4})
	if err := table.AddStatic(mac(1), 3); err != nil {
		t.Fatal(err)
	}
	table.Learn(0, mac(1), 2)
	table.FlushPort(3)
	expect(t, table, 9999*second, 1, 3, true)
	if err := table.AddStatic(wire.Broadcast, 3); err == nil {
		t.Error("the broadcast address was accepted")
	}
}

// TestStaticFromTheStart, and what is refused.
func TestStaticFromTheStart(t *testing.T) {
	c := Config{Ports: 4, Max: 2, Static: []Static{{mac(1), 3}, {mac(2), 0}}}
	if err := c.Validate(4); err != nil {
		t.Fatal(err)
	}
	expect(t, New(c), 9999*second, 1, 3, true)
	for name, change := range map[string]func(*Config){
		"too many": func(c *Config) { c.Static = append(c.Static, Static{mac(3), 0}) },
		"group":    func(c *Config) { c.Static = []Static{{wire.Broadcast, 0}} },
		"port":     func(c *Config) { c.Static = []Static{{mac(1), 4}} },
	} {
		bad := c
		change(&bad)
		if bad.Validate(4) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestRemoveAndFlush: by address, static or not; by port and all, what was learnt.
func TestRemoveAndFlush(t *testing.T) {
	table := New(Config{Ports: 4})
	if err := table.AddStatic(mac(1), 3); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		table.Learn(0, mac(2+n), dataplane.PortID(n))
	}
	if !table.Remove(mac(2)) || table.Remove(mac(2)) {
		t.Error("address 2 cannot be removed once")
	}
	expect(t, table, 0, 2, 0, false)
	table.FlushPort(1)
	expect(t, table, 0, 3, 0, false)
	expect(t, table, 0, 4, 2, true)
	table.Flush()
	expect(t, table, 0, 4, 0, false)
	expect(t, table, 0, 1, 3, true)
	if !table.Remove(mac(1)) || table.Len() != 0 {
		t.Errorf("%d entries are left", table.Len())
	}
}

// TestSetAge: a shorter age counts for what is there.
func TestSetAge(t *testing.T) {
	table := New(Config{Ports: 4})
	table.Learn(0, mac(1), 2)
	table.SetAge(10 * time.Second)
	expect(t, table, 10*second, 1, 2, true)
	expect(t, table, 10*second+1, 1, 0, false)
	if table.Age() != 10*time.Second {
		t.Error(table.Age())
	}
}

func TestGroupSourceIsNotLearnt(t *testing.T) {
	table := New(Config{Ports: 4})
	table.Learn(0, wire.Broadcast, 3)
	if table.Len() != 0 {
		t.Error("the broadcast address was learnt")
	}
}

// TestFull: what does not fit is counted; what is too old makes room.
func TestFull(t *testing.T) {
	table := New(Config{Ports: 4, Max: 100})
	for n := range 101 {
		table.Learn(0, mac(n), 1)
	}
	expect(t, table, 0, 100, 0, false)
	if table.Stats.Full != 1 || table.Len() != 100 {
		t.Errorf("stats %+v, %d entries", table.Stats, table.Len())
	}
	if err := table.AddStatic(mac(200), 1); err == nil {
		t.Error("a full table took a static entry")
	}
	for n := range 50 {
		table.Learn(200*second, mac(n), 1)
	}
	table.Learn(400*second, mac(100), 2)
	expect(t, table, 400*second, 100, 2, true)
	expect(t, table, 400*second, 49, 1, true)
	if table.Stats.Aged != 50 || table.Len() != 51 {
		t.Errorf("stats %+v, %d entries", table.Stats, table.Len())
	}
}

func TestFlood(t *testing.T) {
	flood := New(Config{Ports: 3}).Flood()
	if !flood.Has(0) || !flood.Has(2) || flood.Has(3) {
		t.Errorf("flood set %v", flood)
	}
}

// TestAgainstMap: whatever is learnt, moved and flushed, the table answers like a map.
func TestAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := New(Config{Ports: 4, Max: 24})
		model := map[wire.MAC]dataplane.PortID{}
		address := rapid.IntRange(0, 40)
		port := rapid.Uint16Range(0, 3)
		t.Repeat(map[string]func(*rapid.T){
			"learn": func(t *rapid.T) {
				m, p := mac(address.Draw(t, "mac")), dataplane.PortID(port.Draw(t, "port"))
				table.Learn(0, m, p)
				if _, known := model[m]; known || len(model) < 24 {
					model[m] = p
				}
			},
			"flush": func(t *rapid.T) {
				p := dataplane.PortID(port.Draw(t, "port"))
				table.FlushPort(p)
				for m, at := range model {
					if at == p {
						delete(model, m)
					}
				}
			},
			"": func(t *rapid.T) {
				found := 0
				table.Walk(0, func(Entry) { found++ })
				if table.Len() != len(model) || found != len(model) {
					t.Fatalf("%d entries, walked %d, want %d", table.Len(), found, len(model))
				}
				for n := range 41 {
					got, ok := table.Lookup(0, mac(n))
					if want, known := model[mac(n)]; ok != known || got != want {
						t.Fatalf("address %d: port %d (%v), want %d (%v)", n, got, ok, want, known)
					}
				}
			},
		})
	})
}

// BenchmarkLookup finds one of so many addresses, each time another.
func BenchmarkLookup(b *testing.B) {
	for _, entries := range []int{1000, 100_000} {
		b.Run(fmt.Sprintf("entries=%d", entries), func(b *testing.B) {
			table := New(Config{Ports: 32, Max: entries})
			macs := make([]wire.MAC, entries)
			for n := range macs {
				macs[n] = mac(n)
				table.Learn(0, macs[n], dataplane.PortID(n%32))
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if _, ok := table.Lookup(0, macs[n]); !ok {
					b.Fatalf("address %d is lost", n)
				}
				n = (n + 7919) % entries // a prime, so that every entry comes up
			}
		})
	}
}

// BenchmarkLearn sees a known address again, as with every frame.
func BenchmarkLearn(b *testing.B) {
	const entries = 100_000
	table := New(Config{Ports: 32, Max: entries})
	for n := range entries {
		table.Learn(0, mac(n), 1)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		table.Learn(unit.Time(n), mac(n), 1)
		if n++; n == entries {
			n = 0
		}
	}
	if table.Stats.Learnt != entries || table.Len() != entries {
		b.Fatalf("%+v, %d entries", table.Stats, table.Len())
	}
}
