package mmu

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// model keeps the same rules by looking at everything at every step.
type model struct {
	cfg      Config
	own      map[[2]int]unit.Bytes
	headroom map[[2]int]unit.Bytes
	queue    map[[2]int]unit.Bytes
	xoff     map[[2]int]bool
}

func newModel(c Config) *model {
	return &model{c, map[[2]int]unit.Bytes{}, map[[2]int]unit.Bytes{}, map[[2]int]unit.Bytes{},
		map[[2]int]bool{}}
}

func (m *model) profile(k [2]int) Profile { return m.cfg.Groups[k[0]][k[1]] }

func (m *model) shared(k [2]int) unit.Bytes { return max(0, m.own[k]-m.profile(k).Reserved) }

// free is what of a pool's shared part nobody uses.
func (m *model) free(pool int) unit.Bytes {
	free := m.cfg.Pools[pool].Size
	for port := range m.cfg.Groups {
		for pg := range m.cfg.Groups[port] {
			if p := m.profile([2]int{port, pg}); p.Pool == pool {
				free -= p.Reserved + p.Headroom + m.shared([2]int{port, pg})
			}
		}
	}
	return free
}

func (m *model) limit(k [2]int) unit.Bytes {
	p := m.profile(k)
	if p.Limit.Den == 0 {
		return p.Limit.Static
	}
	return m.free(p.Pool) * unit.Bytes(p.Limit.Num) / unit.Bytes(p.Limit.Den)
}

func (m *model) admit(k, q [2]int, n unit.Bytes) frame.Reason {
	p := m.profile(k)
	if most := m.cfg.Queues[q[0]][q[1]].Max; most != 0 && m.queue[q]+n > most {
		return frame.DropQueueFull
	}
	limit, free, was := m.limit(k), m.free(p.Pool), m.own[k]
	before := m.shared(k)
	m.own[k] += n
	if now := m.shared(k); now == before || (now-before <= free && now <= limit) {
		m.queue[q] += n
		return frame.NoReason
	}
	m.own[k] = was
	if !p.Lossless {
		return frame.DropBuffer
	}
	if m.headroom[k]+n > p.Headroom {
		m.xoff[k] = m.xoff[k] || !m.mayRun(k)
		return frame.DropHeadroom
	}
	m.xoff[k] = true
	m.headroom[k] += n
	m.queue[q] += n
	return frame.NoReason
}

func (m *model) release(k, q [2]int, n unit.Bytes) {
	m.queue[q] -= n
	h := min(n, m.headroom[k])
	m.headroom[k] -= h
	m.own[k] -= n - h
	for k := range m.xoff {
		if m.mayRun(k) {
			m.xoff[k] = false
		}
	}
}

func (m *model) mayRun(k [2]int) bool {
	p, used := m.profile(k), m.shared(k)
	return m.headroom[k] == 0 && (used <= p.XON || used+p.XONOffset <= m.limit(k))
}

func drawProfile(t *rapid.T) Profile {
	p := Profile{
		Pool:      rapid.IntRange(0, 1).Draw(t, "pool"),
		Reserved:  unit.Bytes(rapid.SampledFrom([]int{0, 0, 700, 3000}).Draw(t, "reserved")),
		XON:       unit.Bytes(rapid.SampledFrom([]int{0, 500}).Draw(t, "xon")),
		XONOffset: unit.Bytes(rapid.SampledFrom([]int{0, 300, 2000}).Draw(t, "offset")),
		Limit:     Limit{Static: unit.Bytes(rapid.IntRange(0, 9000).Draw(t, "static"))},
	}
	if rapid.Bool().Draw(t, "dynamic") {
		p.Limit.Num = int64(rapid.IntRange(0, 9).Draw(t, "num"))
		p.Limit.Den = int64(rapid.IntRange(1, 9).Draw(t, "den"))
	}
	if rapid.Bool().Draw(t, "lossless") {
		p.Lossless = true
		p.Headroom = unit.Bytes(rapid.SampledFrom([]int{0, 900, 2500}).Draw(t, "headroom"))
	}
	return p
}

// stored is a frame in the buffer: its PG and queue, each with the port first, and its length.
type stored struct {
	g, q [2]int
	n    unit.Bytes
}

func (s stored) where() Where {
	return Where{frame.PortID(s.g[0]), PG(s.g[1]), frame.PortID(s.q[0]), Queue(s.q[1])}
}

// TestAgainstModel: on random buffers and random traffic the account and the model agree about
// every verdict, every use and every change.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Config{Pools: []Pool{{Name: "a", Size: 60000}, {Name: "b", Size: 50000}},
			Groups: make([][Groups]Profile, 2), Queues: make([][Queues]QueueProfile, 2)}
		for port := range c.Groups {
			for pg := range 3 { // more would only spread the traffic thin
				c.Groups[port][pg] = drawProfile(t)
			}
			c.Queues[port][1].Max = 7000
		}
		b, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		m := newModel(c)
		told := map[[2]int]bool{}
		var in []stored
		bit := rapid.IntRange(0, 1)
		t.Repeat(map[string]func(*rapid.T){
			"admit": func(t *rapid.T) {
				s := stored{
					g: [2]int{bit.Draw(t, "in"), rapid.IntRange(0, 2).Draw(t, "pg")},
					q: [2]int{bit.Draw(t, "out"), bit.Draw(t, "q")},
					n: unit.Bytes(rapid.IntRange(60, 1600).Draw(t, "n")),
				}
				got, want := b.Admit(s.where(), s.n), m.admit(s.g, s.q, s.n)
				if got != want {
					t.Fatalf("admit %+v: %v, model %v", s, got, want)
				}
				if got == frame.NoReason {
					in = append(in, s)
				}
			},
			"release": func(t *rapid.T) {
				if len(in) == 0 {
					t.Skip("nothing is stored")
				}
				i := rapid.IntRange(0, len(in)-1).Draw(t, "which")
				s := in[i]
				in = append(in[:i], in[i+1:]...)
				b.Release(s.where(), s.n)
				m.release(s.g, s.q, s.n)
			},
			"": func(t *rapid.T) {
				for _, c := range changes(b) {
					told[[2]int{int(c.Port), int(c.Group)}] = c.XOFF
				}
				compare(t, b, m, told)
			},
		})
	})
}

func compare(t *rapid.T, b *Buffer, m *model, told map[[2]int]bool) {
	var pools [2]unit.Bytes
	for port := range m.cfg.Groups {
		for pg := range m.cfg.Groups[port] {
			k := [2]int{port, pg}
			got := b.Group(frame.PortID(port), PG(pg))
			if got.Shared != m.shared(k) || got.Headroom != m.headroom[k] ||
				got.Limit != m.limit(k) || got.Reserved+got.Shared != m.own[k] ||
				got.XOFF != m.xoff[k] || told[k] != m.xoff[k] {
				t.Fatalf("group %v: %+v, model own %d headroom %d limit %d xoff %v, told %v",
					k, got, m.own[k], m.headroom[k], m.limit(k), m.xoff[k], told[k])
			}
			if got := b.QueueBytes(frame.PortID(port), Queue(pg)); got != m.queue[k] {
				t.Fatalf("queue %v: %d, model %d", k, got, m.queue[k])
			}
			pools[m.profile(k).Pool] += m.own[k] + m.headroom[k]
		}
	}
	for i, want := range pools {
		if got := b.Pool(i).Occupancy; got != want {
			t.Fatalf("pool %d: %d, model %d", i, got, want)
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	b := mustNew(t, uniform(2, 1000*unit.KB, Profile{Limit: Limit{Static: 3000}, Lossless: true,
		Headroom: 3000}))
	if n := testing.AllocsPerRun(100, func() {
		for range 5 {
			b.Admit(at(1, 3), 1000)
			b.NextChange()
		}
		for range 5 {
			b.Release(at(1, 3), 1000)
			b.NextChange()
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
