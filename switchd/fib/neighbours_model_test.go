package fib

import (
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// known is the dumb oracle's entry: what is known, and when the questions were.
type known struct {
	mac       wire.MAC // zero if unknown
	confirmed unit.Time
	asks      []unit.Time // still to come; the last is the end of patience
	waiting   int
}

// neighbourModel is a map and nothing else: every question is answered by looking at everything.
type neighbourModel struct {
	entries map[netip.Addr]*known
	timeout time.Duration
	waiting int
}

func (m *neighbourModel) old(now unit.Time, e *known) bool {
	return e.mac != wire.MAC{} && now.Sub(e.confirmed) > m.timeout
}

// begin plans the questions, unless they are planned.
func (e *known) begin(now unit.Time) {
	if e.asks != nil {
		return
	}
	for i := range Attempts + 1 {
		e.asks = append(e.asks, now+unit.Time(i)*second)
	}
}

func (m *neighbourModel) lookup(now unit.Time, addr netip.Addr) (wire.MAC, bool) {
	e := m.entries[addr]
	if e == nil || (e.mac == wire.MAC{}) || m.old(now, e) {
		return wire.MAC{}, false
	}
	if now.Sub(e.confirmed) > m.timeout-Attempts*time.Second {
		e.begin(now)
	}
	return e.mac, true
}

func (m *neighbourModel) wait(now unit.Time, addr netip.Addr) {
	e := m.entries[addr]
	if e == nil {
		e = &known{}
		m.entries[addr] = e
	}
	if m.old(now, e) {
		e.mac = wire.MAC{}
	}
	e.begin(now)
	e.waiting = min(e.waiting+1, m.waiting)
}

// due takes out the questions up to now and returns them by address, with the ends counted apart.
func (m *neighbourModel) due(now unit.Time) (asked map[netip.Addr]int, ended map[netip.Addr]int) {
	asked, ended = map[netip.Addr]int{}, map[netip.Addr]int{}
	for addr, e := range m.entries {
		if e.asks == nil || e.asks[0] > now {
			continue
		}
		// A late wake asks once, and a second later again.
		if e.asks = e.asks[1:]; len(e.asks) > 0 {
			asked[addr]++
			for i := range e.asks {
				e.asks[i] = now + unit.Time(i+1)*second
			}
			continue
		}
		ended[addr] = e.waiting
		delete(m.entries, addr)
	}
	return asked, ended
}

func (m *neighbourModel) nextWake() unit.Time {
	at := unit.Never
	for _, e := range m.entries {
		if e.asks != nil {
			at = min(at, e.asks[0])
		}
	}
	return at
}

// compared is the table and the map, to which the same is done at the same time.
type compared struct {
	table *Neighbours
	model *neighbourModel
	pool  *frame.Pool
	now   unit.Time
}

func drawAddress(t *rapid.T) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 0, 0, byte(rapid.IntRange(1, 6).Draw(t, "ip"))})
}

func releaseAll(waited frame.FIFO) {
	for f := waited.Pop(); f != nil; f = waited.Pop() {
		f.Release()
	}
}

func (c *compared) time(t *rapid.T) {
	ms := rapid.IntRange(0, 4000).Draw(t, "ms")
	c.now = c.now.Add(time.Duration(ms) * time.Millisecond)
}

func (c *compared) lookup(t *rapid.T) {
	addr := drawAddress(t)
	got, ok := c.table.Lookup(c.now, 0, addr)
	if want, known := c.model.lookup(c.now, addr); got != want || ok != known {
		t.Fatalf("%v: %v %v, want %v %v", addr, got, ok, want, known)
	}
}

func (c *compared) wait(t *rapid.T) {
	addr := drawAddress(t)
	if out := c.table.Wait(c.now, 0, addr, c.pool.Get()); out != nil {
		out.Release()
	}
	c.model.wait(c.now, addr)
}

func (c *compared) confirm(t *rapid.T) {
	addr, news := drawAddress(t), said(rapid.IntRange(1, 3).Draw(t, "mac"))
	waited := c.table.Confirm(c.now, 0, addr, news)
	e := c.model.entries[addr]
	if e == nil {
		e = &known{}
	}
	if waited.Len() != e.waiting {
		t.Fatalf("%v: %d frames waited, want %d", addr, waited.Len(), e.waiting)
	}
	releaseAll(waited)
	c.model.entries[addr] = &known{mac: news.MAC, confirmed: c.now}
}

func (c *compared) next(t *rapid.T) {
	asked, ended := c.model.due(c.now)
	for _, s := range solicits(c.table, c.now) {
		if !s.Failed {
			asked[s.Addr]--
			continue
		}
		if want, is := ended[s.Addr]; !is || s.Waited.Len() != want {
			t.Fatalf("%v: %d frames, want %d", s.Addr, s.Waited.Len(), want)
		}
		releaseAll(s.Waited)
		delete(ended, s.Addr)
	}
	for addr, count := range asked {
		if count != 0 {
			t.Fatalf("%v: %d questions missing", addr, count)
		}
	}
	if len(ended) != 0 {
		t.Fatalf("not ended: %v", ended)
	}
}

func (c *compared) agree(t *rapid.T) {
	held := 0
	for _, e := range c.model.entries {
		held += e.waiting
	}
	// What is due already may be late by any time.
	wake, want := max(c.now, c.table.NextWake()), max(c.now, c.model.nextWake())
	if wake != want || c.table.Held() != held || c.table.Len() != len(c.model.entries) ||
		c.pool.InUse() != held {
		t.Fatalf("wake %v held %d entries %d frames %d, want %v %d %d", wake, c.table.Held(),
			c.table.Len(), c.pool.InUse(), want, held, len(c.model.entries))
	}
}

// TestNeighboursAgainstMap does everything in any order at any time; the table and the map agree
// on what is known, what is asked when, and how many frames wait.
func TestNeighboursAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const timeout = 10 * time.Second
		c := &compared{table: NewNeighbours(NeighbourConfig{Timeout: timeout, Max: 8}),
			model: &neighbourModel{map[netip.Addr]*known{}, timeout, DefaultWaiting},
			pool:  frame.NewPool(64, 64)}
		t.Repeat(map[string]func(*rapid.T){"time": c.time, "lookup": c.lookup, "wait": c.wait,
			"confirm": c.confirm, "next": c.next, "": c.agree})
	})
}
