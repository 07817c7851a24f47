package cm

import (
	"errors"
	"fmt"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// Errors of the manager's calls.
var (
	ErrNoConnection = errors.New("no such connection")
	ErrState        = errors.New("not in this state of the connection")
	ErrInUse        = errors.New("somebody listens there already")
	ErrTooMany      = errors.New("too many connections")
	ErrTooLong      = errors.New("too much private data")
	ErrPath         = errors.New("no path")
	ErrMTU          = errors.New("no path MTU")
)

// spare is how many messages beside one for each connection may wait to be sent. Our choice.
const spare = 64

// Manager is the connection manager of one channel adapter. Make it with New.
type Manager struct {
	cfg       Config
	tidHigh   uint64
	conns     map[ID]*conn
	byPeer    map[peerKey]*conn
	byQP      map[qpKey]*conn
	listeners map[ib.ServiceID]*listener
	timers    timers
	out       queue[datagram]
	events    queue[Event]
	counters  Counters
}

// datagram is a MAD on its way out.
type datagram struct {
	path Path
	mad  ib.MAD
}

// New makes a manager that knows of nothing.
func New(cfg Config) (*Manager, error) {
	if err := errors.Join(cfg.Validate()...); err != nil {
		return nil, fmt.Errorf("connection manager: %w", err)
	}
	return &Manager{cfg: cfg, tidHigh: cfg.Random.Uint64() << 32, conns: map[ID]*conn{},
		byPeer: map[peerKey]*conn{}, byQP: map[qpKey]*conn{},
		listeners: map[ib.ServiceID]*listener{}}, nil
}

// Config is what the manager was made with.
func (m *Manager) Config() Config { return m.cfg }

// Counters are what the manager has counted.
func (m *Manager) Counters() Counters { return m.counters }

// Len is how many connections and SIDR requests are known.
func (m *Manager) Len() int { return len(m.conns) }

// State is that of a connection, Idle if it is not known.
func (m *Manager) State(id ID) State {
	if c := m.conns[id]; c != nil {
		return c.state
	}
	return Idle
}

// Pending reports whether Next has a MAD.
func (m *Manager) Pending() bool { return m.out.len() > 0 }

// Next writes the next MAD to send into buf, which has room for it, and tells its way.
func (m *Manager) Next(buf *ib.MAD) (Path, bool) {
	if m.out.len() == 0 {
		return Path{}, false
	}
	d := m.out.pop()
	*buf = d.mad
	return d.path, true
}

// HasEvent reports whether NextEvent has something to tell.
func (m *Manager) HasEvent() bool { return m.events.len() > 0 }

// NextEvent is what happened and was not told yet. A user asks until there is nothing, after each
// call that takes the time.
func (m *Manager) NextEvent() (Event, bool) {
	if m.events.len() == 0 {
		return Event{}, false
	}
	return m.events.pop(), true
}

// create makes a connection with an id of its own.
func (m *Manager) create(p Path, s ib.ServiceID) (*conn, error) {
	if len(m.conns) >= m.cfg.MaxConnections {
		return nil, fmt.Errorf("%w: %d", ErrTooMany, m.cfg.MaxConnections)
	}
	c := &conn{path: p, service: s, deadline: unit.Never, place: -1}
	for c.id == 0 || m.conns[c.id] != nil { // zero is what a REJ says that has no id
		c.id = ID(m.cfg.Random.Uint64())
	}
	m.conns[c.id] = c
	return c, nil
}

// forget ends what is known of a connection.
func (m *Manager) forget(c *conn) {
	if c.silent { // the one thing that even who closed it must know
		m.events.push(Event{Kind: TimewaitOver, ID: c.id, Service: c.service, Path: c.path})
	}
	m.unlink(c)
	m.timers.set(c, unit.Never)
	c.enter(Idle)
	delete(m.conns, c.id)
}

// link makes the connection known by its peer's names; false if the peer's QP is in use, so that
// the other connection or this one is stale.
func (m *Manager) link(c *conn) (stale *conn) {
	if old := m.byQP[c.qpKey()]; old != nil && old != c && old.state != Timewait {
		return old
	}
	m.byPeer[c.peerKey()] = c
	m.byQP[c.qpKey()] = c
	return nil
}

func (m *Manager) unlink(c *conn) {
	if k := c.peerKey(); m.byPeer[k] == c {
		delete(m.byPeer, k)
	}
	if k := c.qpKey(); m.byQP[k] == c {
		delete(m.byQP, k)
	}
}

// tell queues an event, if anybody wants to hear of the connection.
func (m *Manager) tell(c *conn, e Event) {
	if c.silent {
		return
	}
	e.ID, e.Service, e.Path, e.PKey = c.id, c.service, c.path, c.pkey
	m.events.push(e)
}

// send queues what the connection has to say.
func (m *Manager) send(c *conn) { m.queue(c.path, &c.said) }

// queue appends a MAD. When the port is so slow that too many wait, the message is lost, as it may
// be in any network: somebody will repeat it.
func (m *Manager) queue(p Path, mad *ib.MAD) {
	if m.out.len() >= m.cfg.MaxConnections+spare {
		m.counters.Overflow++
		return
	}
	m.counters.Sent.add(mad.Attribute())
	m.out.push(datagram{p, *mad})
}

// queue is first in, first out. Its memory is what it held at most.
type queue[T any] struct {
	items []T
	head  int
}

func (q *queue[T]) len() int { return len(q.items) - q.head }

func (q *queue[T]) push(v T) {
	if q.head > 0 && len(q.items) == cap(q.items) {
		q.items = q.items[:copy(q.items, q.items[q.head:])]
		q.head = 0
	}
	q.items = append(q.items, v)
}

func (q *queue[T]) pop() (v T) {
	v = q.items[q.head]
	var none T
	q.items[q.head] = none // what it refers to may go
	if q.head++; q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return v
}
