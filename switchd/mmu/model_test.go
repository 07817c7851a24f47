package mmu

import (
	"maps"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// stored is a frame in the buffer: its PG and queue, each with the port first, and its length.
type stored struct {
	g, q [2]int
	n    unit.Bytes
}

func (s stored) where() Where {
	return Where{frame.PortID(s.g[0]), PG(s.g[1]), frame.PortID(s.q[0]), Queue(s.q[1])}
}

// model keeps the same rules by looking at the list of all stored frames at every step. What is no
// function of that list is what of a group counts as headroom, and the state of a group.
type model struct {
	cfg      Config
	in       []stored
	headroom map[[2]int]unit.Bytes
	xoff     map[[2]int]bool
	most     [kinds]map[key]unit.Bytes // watermarks
	admitted map[[2]int]dataplane.Count
	dropped  map[[2]int]uint64
}

func newModel(c Config) *model {
	m := &model{cfg: c, headroom: map[[2]int]unit.Bytes{}, xoff: map[[2]int]bool{},
		admitted: map[[2]int]dataplane.Count{}, dropped: map[[2]int]uint64{}}
	for kind := range m.most {
		m.most[kind] = map[key]unit.Bytes{}
	}
	return m
}

func (m *model) group(k [2]int) Profile      { return m.cfg.Groups[k[0]][k[1]] }
func (m *model) queue(k [2]int) QueueProfile { return m.cfg.Queues[k[0]][k[1]] }

// size is how much memory a frame takes, cell by cell.
func (m *model) size(n unit.Bytes) (sum unit.Bytes) {
	if m.cfg.Cell == 0 {
		return n
	}
	for sum < n {
		sum += m.cfg.Cell
	}
	return sum
}

// inGroup is all that a group stores, inQueue all that a queue does.
func (m *model) inGroup(k [2]int) (sum unit.Bytes) {
	for _, s := range m.in {
		if s.g == k {
			sum += m.size(s.n)
		}
	}
	return sum
}

func (m *model) inQueue(k [2]int) (sum unit.Bytes) {
	for _, s := range m.in {
		if s.q == k {
			sum += m.size(s.n)
		}
	}
	return sum
}

func (m *model) own(k [2]int) unit.Bytes { return m.inGroup(k) - m.headroom[k] }

func (m *model) shared(k [2]int) unit.Bytes { return max(0, m.own(k)-m.group(k).Reserved) }

func (m *model) sharedOfQueue(k [2]int) unit.Bytes {
	return max(0, m.inQueue(k)-m.queue(k).Reserved)
}

// each calls fn with every place of a port, be it a group or a queue.
func (m *model) each(fn func(k [2]int)) {
	for port := range m.cfg.Groups {
		for i := range Groups {
			fn([2]int{port, i})
		}
	}
}

// headroomOf is what the groups of a pool have, and what they use.
func (m *model) headroomOf(pool int) (size, used unit.Bytes) {
	m.each(func(k [2]int) {
		if p := m.group(k); p.Pool == pool {
			size += p.Headroom
			used += m.headroom[k]
		}
	})
	if shared := m.cfg.Pools[pool].SharedHeadroom; shared != 0 {
		size = shared
	}
	return size, used
}

// free is what of an ingress pool's shared part nobody uses.
func (m *model) free(pool int) unit.Bytes {
	headroom, _ := m.headroomOf(pool)
	free := m.cfg.Pools[pool].Size - headroom
	m.each(func(k [2]int) {
		if p := m.group(k); p.Pool == pool {
			free -= p.Reserved + m.shared(k)
		}
	})
	return free
}

func (m *model) egressFree(pool int) unit.Bytes {
	free := m.cfg.EgressPools[pool].Size
	m.each(func(k [2]int) {
		if p := m.queue(k); p.Pool == pool {
			free -= p.Reserved + m.sharedOfQueue(k)
		}
	})
	return free
}

func limitOf(l Limit, free unit.Bytes) unit.Bytes {
	if l.Den == 0 {
		return l.Static
	}
	return max(free, 0) * unit.Bytes(l.Num) / unit.Bytes(l.Den)
}

func (m *model) limit(k [2]int) unit.Bytes {
	return limitOf(m.group(k).Limit, m.free(m.group(k).Pool))
}

func (m *model) egressRefuses(q [2]int, n unit.Bytes) frame.Reason {
	p, size := m.queue(q), m.size(n)
	if p.Max != 0 && m.inQueue(q)+size > p.Max {
		return frame.DropQueueFull
	}
	if len(m.cfg.EgressPools) == 0 {
		return frame.NoReason
	}
	before := m.sharedOfQueue(q)
	after := max(0, m.inQueue(q)+size-p.Reserved)
	free := m.egressFree(p.Pool)
	if after > before && (after-before > free || after > limitOf(p.Limit, free)) {
		return frame.DropEgressBuffer
	}
	return frame.NoReason
}

func (m *model) admit(s stored) frame.Reason {
	why := m.charge(s)
	switch why {
	case frame.NoReason:
		m.in = append(m.in, s)
		count := m.admitted[s.g]
		count.Add(s.n)
		m.admitted[s.g] = count
	case frame.DropBuffer, frame.DropHeadroom:
		m.dropped[s.g]++
	}
	return why
}

func (m *model) charge(s stored) frame.Reason {
	if why := m.egressRefuses(s.q, s.n); why != frame.NoReason {
		return why
	}
	p, size := m.group(s.g), m.size(s.n)
	before := m.shared(s.g)
	after := max(0, m.own(s.g)+size-p.Reserved)
	free := m.free(p.Pool)
	if after == before || (after-before <= free && after <= m.limit(s.g)) {
		return frame.NoReason
	}
	if !p.Lossless {
		return frame.DropBuffer
	}
	room, used := m.headroomOf(p.Pool)
	switch {
	case m.headroom[s.g]+size > p.Headroom: // its own is full
		m.xoff[s.g] = m.xoff[s.g] || !m.mayRun(s.g)
		return frame.DropHeadroom
	case used+size > room: // that of all is full
		m.xoff[s.g] = m.xoff[s.g] || used > 0 || !m.mayRun(s.g)
		return frame.DropHeadroom
	}
	m.xoff[s.g] = true
	m.headroom[s.g] += size
	return frame.NoReason
}

func (m *model) release(i int) {
	s := m.in[i]
	m.in = append(m.in[:i:i], m.in[i+1:]...)
	m.headroom[s.g] -= min(m.size(s.n), m.headroom[s.g])
	m.each(func(k [2]int) {
		if m.group(k).Pool == m.group(s.g).Pool && m.mayRun(k) {
			m.xoff[k] = false
		}
	})
}

// mayRun says that a group in XOFF may come out of it.
func (m *model) mayRun(k [2]int) bool {
	p, used := m.group(k), m.shared(k)
	return m.headroom[k] == 0 && m.free(p.Pool) >= 0 &&
		(used <= p.XON || used+p.XONOffset <= m.limit(k))
}

func (m *model) reconfigure(c Config) {
	m.cfg = c
	m.each(func(k [2]int) {
		if !m.group(k).Lossless {
			m.headroom[k] = 0
		}
	})
	m.each(func(k [2]int) {
		switch {
		case !m.group(k).Lossless || m.mayRun(k):
			m.xoff[k] = false
		case m.headroom[k] > 0 || m.shared(k) > m.limit(k):
			m.xoff[k] = true
		}
	})
	now := m.look() // A pool that is gone takes its watermarks along.
	for _, most := range m.most {
		maps.DeleteFunc(most, func(k key, _ unit.Bytes) bool { _, ok := now[k]; return !ok })
	}
}

// key names a thing that has watermarks.
type key struct {
	of   Object
	at   [2]int // a group or a queue
	pool string
}

// look is what is stored now, everywhere.
func (m *model) look() map[key]unit.Bytes {
	now := map[key]unit.Bytes{}
	m.each(func(k [2]int) {
		now[key{of: GroupShared, at: k}] = m.shared(k)
		now[key{of: GroupHeadroom, at: k}] = m.headroom[k]
		now[key{of: QueueStored, at: k}] = m.inQueue(k)
	})
	for i, p := range m.cfg.Pools {
		now[key{of: PoolStored, pool: p.Name}] = 0
		_, now[key{of: PoolHeadroom, pool: p.Name}] = m.headroomOf(i)
		m.each(func(k [2]int) {
			if m.group(k).Pool == i {
				now[key{of: PoolStored, pool: p.Name}] += m.inGroup(k)
			}
		})
	}
	for i, p := range m.cfg.EgressPools {
		now[key{of: PoolStored, pool: p.Name}] = 0
		m.each(func(k [2]int) {
			if m.queue(k).Pool == i {
				now[key{of: PoolStored, pool: p.Name}] += m.inQueue(k)
			}
		})
	}
	return now
}

// note keeps the watermarks.
func (m *model) note() {
	for k, v := range m.look() {
		for kind := range m.most {
			m.most[kind][k] = max(m.most[kind][k], v)
		}
	}
}

func (m *model) clear(kind Watermark, of Object) {
	for k, v := range m.look() {
		if k.of == of {
			m.most[kind][k] = v
		}
	}
}
