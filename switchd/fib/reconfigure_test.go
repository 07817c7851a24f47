package fib

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
)

// TestReconfigureKeepsEntries: through larger, smaller and too small tables every entry is found,
// and a table that is too full learns again when it has room.
func TestReconfigureKeepsEntries(t *testing.T) {
	const n = 100
	now := unit.Time(0)
	table := New(Config{Ports: 4, Max: n})
	for i := range n {
		table.Learn(now, wiretest.MACOrNumber(i).MAC(), dataplane.PortID(i%4))
	}
	for _, most := range []int{n, 10 * n, n / 2, 2 * n} {
		table.Reconfigure(Config{Max: most})
		for i := range n {
			mac := wiretest.MACOrNumber(i).MAC()
			if port, ok := table.Lookup(now, mac); !ok || port != dataplane.PortID(i%4) {
				t.Fatalf("of at most %d: entry %d at port %d, %v", most, i, port, ok)
			}
		}
		before := table.Stats.Learnt
		fresh := wiretest.MACOrNumber(1000 + most).MAC()
		table.Learn(now, fresh, 1)
		if learnt := table.Stats.Learnt > before; learnt != (table.Len() <= most && most > n) {
			t.Errorf("of at most %d: learnt %v, holds %d", most, learnt, table.Len())
		}
	}
}

func TestReconfigureAge(t *testing.T) {
	table := New(Config{Ports: 4})
	mac := wiretest.MACOrNumber(1).MAC()
	table.Learn(0, mac, 2)
	later := unit.Time(0).Add(time.Minute)
	table.Reconfigure(Config{Age: time.Second})
	if _, ok := table.Lookup(later, mac); ok {
		t.Error("found though too old now")
	}
	table.Reconfigure(Config{Age: time.Hour})
	if port, ok := table.Lookup(later, mac); !ok || port != 2 {
		t.Errorf("port %d, %v", port, ok)
	}
}
