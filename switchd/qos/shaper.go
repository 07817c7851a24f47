package qos

import (
	"math/bits"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/ratelimit"
	"github.com/rocelab/rocelab/switchd/mmu"
)

// Shaper measures the queues of a port against their rates, and the port against its own. It
// says which queues may send and which are owed something; who sends is the scheduler's affair.
//
//	ready -> Allowed -> not above its maximum -> Scheduler.Pick -> Sent
//	         Below   -> has not had its minimum --^
type Shaper struct {
	overhead unit.Bytes
	min, max meters
	port     meters // one meter, that of queue 0
}

// NewShaper returns the machine of a valid configuration, with full buckets. mtu is the largest
// frame.
func NewShaper(now unit.Time, c ShaperConfig, mtu unit.Bytes) *Shaper {
	s := &Shaper{overhead: c.Overhead, min: noMeters(), max: noMeters(), port: noMeters()}
	for q := range c.Queues {
		shape := &c.Queues[q]
		s.min.add(now, mmu.Queue(q), shape.Min, shape.burst(shape.MinBurst, mtu), shape.Meter)
		s.max.add(now, mmu.Queue(q), shape.Max, shape.burst(shape.MaxBurst, mtu), shape.Meter)
	}
	s.port.add(now, 0, c.Port.Max, c.Port.burst(c.Port.MaxBurst, mtu), c.Port.Meter)
	return s
}

// burst is the one to use for one that is configured.
func (s *Shape) burst(configured, mtu unit.Bytes) unit.Bytes {
	switch {
	case configured > 0:
		return configured
	case s.Meter == Packets:
		return mmu.Queues
	}
	return mmu.Queues * mtu
}

// Allowed returns the queues of ready that may send at now. If there are none it tells from when
// on there are.
func (s *Shaper) Allowed(now unit.Time, ready QueueSet) (allowed QueueSet, from unit.Time) {
	if ok, from := s.PortAllowed(now); !ok {
		return 0, from
	}
	held := s.max.inDebt(now) & ready
	if ready != held {
		return ready &^ held, now
	}
	from = unit.Never
	for left := held; left != 0; left &= left - 1 {
		from = min(from, s.max.due[bits.TrailingZeros8(uint8(left))])
	}
	return 0, from
}

// PortAllowed reports whether the port is not above its own maximum, else from when on.
func (s *Shaper) PortAllowed(now unit.Time) (ok bool, from unit.Time) {
	if s.port.inDebt(now) != 0 {
		return false, s.port.due[0]
	}
	return true, now
}

// Below returns the queues that have not had their minimum rate.
func (s *Shaper) Below(now unit.Time) QueueSet { return s.min.of &^ s.min.inDebt(now) }

// Sent charges a frame of n bytes that q sent. It counts against the minimum rate only if that is
// why it was sent, which is what below says: what a queue gets beyond is not held against it. It
// reports whether q is above its maximum rate now.
func (s *Shaper) Sent(now unit.Time, q mmu.Queue, n unit.Bytes, below bool) (above bool) {
	n = max(n, wire.MinFrame) + wire.FCSLen + s.overhead
	if below {
		s.min.charge(now, q, n)
	}
	s.max.charge(now, q, n)
	s.port.charge(now, 0, n)
	return s.max.debt.Has(q)
}

// SentControl charges the port for a frame that comes from no queue.
func (s *Shaper) SentControl(now unit.Time, n unit.Bytes) {
	s.port.charge(now, 0, max(n, wire.MinFrame)+wire.FCSLen+s.overhead)
}

// meters is a token bucket for each of some queues. When a bucket is out of debt is computed once
// for each frame sent, so that asking costs a comparison.
type meters struct {
	of      QueueSet // queues that have a bucket
	packets QueueSet // those of them that count frames
	debt    QueueSet // those of them that may be in debt
	first   unit.Time
	due     [mmu.Queues]unit.Time // out of debt; of queues in debt
	bucket  [mmu.Queues]ratelimit.Bucket
}

func noMeters() meters { return meters{first: unit.Never} }

// add gives q a bucket, unless the rate is none.
func (m *meters) add(now unit.Time, q mmu.Queue, r unit.Rate, burst unit.Bytes, of Unit) {
	if r == 0 {
		return
	}
	m.of = m.of.With(q)
	if of == Packets {
		m.packets = m.packets.With(q)
	}
	m.bucket[q] = ratelimit.NewBucket(now, r, burst)
}

// inDebt returns the queues that owe something at now.
func (m *meters) inDebt(now unit.Time) QueueSet {
	if now >= m.first {
		m.settle(now)
	}
	return m.debt
}

// settle finds out who has come out of debt, and who will next.
func (m *meters) settle(now unit.Time) {
	m.first = unit.Never
	for left := m.debt; left != 0; left &= left - 1 {
		q := mmu.Queue(bits.TrailingZeros8(uint8(left)))
		if m.due[q] <= now {
			m.debt = m.debt.Without(q)
		} else {
			m.first = min(m.first, m.due[q])
		}
	}
}

// charge takes n bytes, or one frame, out of q's bucket if it has one.
func (m *meters) charge(now unit.Time, q mmu.Queue, n unit.Bytes) {
	if !m.of.Has(q) {
		return
	}
	if m.packets.Has(q) {
		n = 1
	}
	m.bucket[q].Take(now, n)
	if at := m.bucket[q].Ready(now); at > now {
		m.due[q] = at
		m.debt = m.debt.With(q)
		m.first = min(m.first, at)
	}
}
