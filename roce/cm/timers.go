package cm

import (
	"container/heap"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// timers are the connections that wait for a deadline, the earliest first; of simultaneous ones
// the lower id, so that the order is always the same.
type timers []*conn

// set moves the deadline of a connection; unit.Never ends the wait.
func (t *timers) set(c *conn, at unit.Time) {
	c.deadline = at
	switch {
	case at == unit.Never && c.place >= 0:
		heap.Remove(t, c.place)
	case at == unit.Never:
	case c.place >= 0:
		heap.Fix(t, c.place)
	default:
		heap.Push(t, c)
	}
}

// Len is for package heap, as are the other exported methods.
func (t timers) Len() int { return len(t) }

// Less orders by deadline and id.
func (t timers) Less(i, j int) bool {
	if t[i].deadline != t[j].deadline {
		return t[i].deadline < t[j].deadline
	}
	return t[i].id < t[j].id
}

// Swap exchanges two.
func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].place, t[j].place = i, j
}

// Push appends.
func (t *timers) Push(x any) {
	c := x.(*conn)
	c.place = len(*t)
	*t = append(*t, c)
}

// Pop takes the last.
func (t *timers) Pop() any {
	last := len(*t) - 1
	c := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	c.place = -1
	return c
}

// NextWake is when Wake must be called; unit.Never if the manager waits for nothing.
func (m *Manager) NextWake() unit.Time {
	if len(m.timers) == 0 {
		return unit.Never
	}
	return m.timers[0].deadline
}

// Wake sees to every deadline that has passed.
func (m *Manager) Wake(now unit.Time) {
	for len(m.timers) > 0 && m.timers[0].deadline <= now {
		m.expired(now, m.timers[0])
	}
}

// expired is the end of a wait.
func (m *Manager) expired(now unit.Time, c *conn) {
	switch c.state {
	case REQSent, MRAREQRcvd, REPSent, MRAREPRcvd, DREQSent, SIDRREQSent:
		if c.left > 0 {
			c.left--
			m.counters.Repeated.add(c.said.Attribute())
			m.send(c)
			m.timers.set(c, now.Add(c.interval))
			return
		}
		m.gaveUp(now, c)
	case REQRcvd, MRAREQSent, REPRcvd, MRAREPSent: // our application has not answered in time
		m.refuse(c, Refusal{Reason: ib.RejTimeout, Info: m.guid()})
		m.end(c, Event{Kind: Unreachable})
	case DREQRcvd: // nor here
		m.answerDREQ(now, c, nil)
	case SIDRREQRcvd:
		m.reply(c, Found{Status: ib.SIDRReject})
		m.forget(c)
	case Timewait:
		m.end(c, Event{Kind: TimewaitOver})
	default:
		panic("cm: a connection " + c.state.String() + " waits for a deadline")
	}
}

// gaveUp ends a connection whose peer did not answer the last repetition.
func (m *Manager) gaveUp(now unit.Time, c *conn) {
	switch c.state {
	case DREQSent:
		m.finish(now, c, Event{Kind: Disconnected, Reason: ib.RejTimeout})
	case SIDRREQSent:
		m.end(c, Event{Kind: Unresolved})
	default:
		m.refuse(c, Refusal{Reason: ib.RejTimeout, Info: m.guid()})
		m.end(c, Event{Kind: Unreachable})
	}
}

// end forgets a connection and tells why.
func (m *Manager) end(c *conn, e Event) {
	m.tell(c, e)
	m.forget(c)
}

// finish brings a connection to timewait and tells why. It lasts as long as a packet of the QP
// that is under way may be answered. Linux drivers/infiniband/core/cm.c, cm_enter_timewait.
func (m *Manager) finish(now unit.Time, c *conn, e Event) {
	m.tell(c, e)
	c.enter(Timewait)
	m.timers.set(c, now.Add(ib.TimeOf(c.timeout)))
}

// repeat sends what the connection says now and again until there is an answer.
func (m *Manager) repeat(now unit.Time, c *conn, times uint8) {
	c.left = times
	m.send(c)
	m.timers.set(c, now.Add(c.interval))
}

// patience gives our application its time to answer.
func (m *Manager) patience(now unit.Time, c *conn) {
	m.timers.set(c, now.Add(ib.TimeOf(m.cfg.ServiceTimeout)))
}
