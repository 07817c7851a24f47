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

// TestNeighboursAgainstMap does everything in any order at any time; the table and the map agree
// on what is known, what is asked when, and how many frames wait.
func TestNeighboursAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := frame.NewPool(64, 64)
		n := NewNeighbours(NeighbourConfig{Timeout: 10 * time.Second, Max: 8})
		m := &neighbourModel{map[netip.Addr]*known{}, 10 * time.Second, DefaultWaiting}
		now := unit.Time(0)
		address := func(t *rapid.T) netip.Addr {
			return netip.AddrFrom4([4]byte{10, 0, 0, byte(rapid.IntRange(1, 6).Draw(t, "ip"))})
		}
		t.Repeat(map[string]func(*rapid.T){
			"time": func(t *rapid.T) {
				now += unit.Time(rapid.IntRange(0, 4000).Draw(t, "ms")) * unit.Time(time.Millisecond)
			},
			"lookup": func(t *rapid.T) {
				addr := address(t)
				got, ok := n.Lookup(now, 0, addr)
				if want, known := m.lookup(now, addr); got != want || ok != known {
					t.Fatalf("%v: %v %v, want %v %v", addr, got, ok, want, known)
				}
			},
			"wait": func(t *rapid.T) {
				addr := address(t)
				if out := n.Wait(now, 0, addr, pool.Get()); out != nil {
					out.Release()
				}
				m.wait(now, addr)
			},
			"confirm": func(t *rapid.T) {
				addr, news := address(t), said(rapid.IntRange(1, 3).Draw(t, "mac"))
				waited := n.Confirm(now, 0, addr, news)
				e := m.entries[addr]
				if e == nil {
					e = &known{}
				}
				if waited.Len() != e.waiting {
					t.Fatalf("%v: %d frames waited, want %d", addr, waited.Len(), e.waiting)
				}
				for f := waited.Pop(); f != nil; f = waited.Pop() {
					f.Release()
				}
				m.entries[addr] = &known{mac: news.MAC, confirmed: now}
			},
			"next": func(t *rapid.T) {
				asked, ended := m.due(now)
				for _, s := range solicits(n, now) {
					if s.Failed {
						if s.Waited.Len() != ended[s.Addr] {
							t.Fatalf("%v: %d frames, want %d", s.Addr, s.Waited.Len(), ended[s.Addr])
						}
						for f := s.Waited.Pop(); f != nil; f = s.Waited.Pop() {
							f.Release()
						}
						delete(ended, s.Addr)
						continue
					}
					asked[s.Addr]--
				}
				for addr, count := range asked {
					if count != 0 {
						t.Fatalf("%v: %d questions missing", addr, count)
					}
				}
				if len(ended) != 0 {
					t.Fatalf("not ended: %v", ended)
				}
			},
			"": func(t *rapid.T) {
				held := 0
				for _, e := range m.entries {
					held += e.waiting
				}
				// What is due already may be late by any time.
				wake := max(now, n.NextWake())
				if wake != max(now, m.nextWake()) || n.Held() != held || n.Len() != len(m.entries) ||
					pool.InUse() != held {
					t.Fatalf("wake %v held %d entries %d frames %d, want %v %d %d", wake,
						n.Held(), n.Len(), pool.InUse(), m.nextWake(), held, len(m.entries))
				}
			},
		})
	})
}
