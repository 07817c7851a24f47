package scenarios

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/nicd/app"
	"github.com/rocelab/rocelab/nicd/nic"
)

// translation is a case of the slow receiver: one sender writes messages of a 4 KB page at line
// rate over so much of the receiver's memory, again and again, through a switch.
type translation struct {
	pages   unit.Bytes
	working int
	cost    time.Duration
	pauses  bool
}

const mib = 1 << 20

// A message of four packets takes 888 ns on the line, and needs one translation. So a miss of 1 us
// makes the pipeline slower than the line, one of 500 ns does not. The paper gives no cost.
var translations = []translation{
	{nic.SmallPage, 4 * mib, time.Microsecond, false},
	{nic.SmallPage, 8 * mib, time.Microsecond, false}, // 2K entries of 4 KB
	{nic.SmallPage, 8*mib + 4<<10, time.Microsecond, true},
	{nic.SmallPage, 16 * mib, time.Microsecond, true},
	{nic.SmallPage, 16 * mib, 500 * time.Nanosecond, false},
	{nic.LargePage, 16 * mib, time.Microsecond, false},
}

// served is what the receiver counted between two instants.
type served struct {
	hits, misses, pauses uint64
	paused               time.Duration
	bytes                uint64
}

// [RDMA at scale] 4.4: 2K entries of 4 KB translate 8 MB. A working set above that makes the NIC
// pause its switch; with pages of 2 MB it does not. Counted is from 8 ms on, because each page
// misses once in any case.
func TestSlowReceiver(t *testing.T) {
	const from, to = 8 * time.Millisecond, 12 * time.Millisecond
	var b strings.Builder
	fmt.Fprintf(&b, "1:1, 40 Gb/s, MTT of %d entries, %v\n", nic.PaperMTTEntries, to-from)
	fmt.Fprintf(&b, "%8s%14s%10s%10s%10s%12s%12s%10s\n", "page", "working set", "miss ns", "hits",
		"misses", "PFC frames", "paused us", "Gb/s")
	for _, c := range translations {
		o := c.run(t, from, to)
		fmt.Fprintf(&b, "%8d%14d%10d%10d%10d%12d%12d%10.2f\n", c.pages, c.working,
			c.cost.Nanoseconds(), o.hits, o.misses, o.pauses, o.paused.Microseconds(),
			float64(o.bytes)*8/float64((to-from).Nanoseconds()))
		if (o.pauses > 0) != c.pauses {
			t.Errorf("%+v: %d PFC frames", c, o.pauses)
		}
	}
	const file = "testdata/slow_receiver.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s differs; got:\n%s", file, b.String())
	}
}

func (c *translation) run(t *testing.T, from, to time.Duration) served {
	t.Helper()
	s := newStar(t, setup{senders: 1, delay: time.Microsecond, algorithm: "none", message: 4 << 10,
		span: c.working, receive: nicd.ReceiveConfig{Buffer: 256e3, Lossy: 128e3, XOFF: 64e3,
			XON: 48e3, MTT: nicd.MTTConfig{Entries: nic.PaperMTTEntries, PageSize: c.pages,
				MissCost: c.cost}}})
	v := newVirtual(t, s)
	s.start(t, v, func(_ int, f *app.Flow) { f.Depth = 32 })
	look := func(at time.Duration) (o served) {
		v.run(unit.Time(at))
		var snap nic.Snapshot
		receiver := s.receiver()
		v.do(receiver, func(now unit.Time) { s.hosts[receiver].NIC().Snapshot(now, &snap) })
		for p := range wire.Priorities {
			o.pauses += snap.Pause[p].TxPause
			o.paused += snap.Pause[p].TxPauseDuration
		}
		if snap.Receive.DiscardedTotal != 0 {
			t.Errorf("%+v: %d packets discarded", c, snap.Receive.DiscardedTotal)
		}
		o.hits, o.misses = snap.Receive.MTTHits, snap.Receive.MTTMisses
		o.bytes = snap.QPs[0].Stats.BytesReceived
		return o
	}
	a, b := look(from), look(to)
	return served{b.hits - a.hits, b.misses - a.misses, b.pauses - a.pauses, b.paused - a.paused,
		b.bytes - a.bytes}
}
