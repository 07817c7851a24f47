package uverbs

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/nicd/uverbs/abi"
	"github.com/rocelab/rocelab/roce/cm"
	"github.com/rocelab/rocelab/roce/ib"
)

// connections are what a program has of the connection manager. It is for the loop's thread, and
// the connector of all of them.
type connections struct {
	program  *program
	ids      map[uint32]cm.ID // by the numbers that program and server use
	opening  map[uint32]bool  // numbers of those for which the way is still looked for
	numbers  map[cm.ID]uint32
	services map[ib.ServiceID]*service
}

// service is a port on which a program waits.
type service struct {
	handle uint32
	answer *cm.Found  // of SIDR; nil: for connections
	queue  *queuePair // of answer
}

func newConnections(p *program) connections {
	return connections{program: p, ids: map[uint32]cm.ID{}, opening: map[uint32]bool{},
		numbers: map[cm.ID]uint32{}, services: map[ib.ServiceID]*service{}}
}

// add takes a connection that start makes to the program's, and to its account.
func (c *connections) add(number uint32, start func() (cm.ID, error)) (cm.ID, error) {
	if err := c.program.charge(connectionBytes); err != nil {
		return 0, err
	}
	id, err := start()
	if err != nil {
		c.program.memory.Add(-connectionBytes)
		return 0, err
	}
	c.ids[number], c.numbers[id] = id, number
	return id, nil
}

func (c *connections) forget(number uint32) {
	id, known := c.ids[number]
	if !known {
		return
	}
	c.program.memory.Add(-connectionBytes)
	delete(c.numbers, id)
	delete(c.ids, number)
}

// Connection is told by the host what happened to one of the program's.
func (c *connections) Connection(now unit.Time, e *cm.Event) {
	number, known := c.numbers[e.ID]
	out := abi.CM{Conn: number, From: e.From, To: e.To, QPN: e.QP.QPN, Reason: uint16(e.Reason),
		Params: abi.Params{Private: e.Private, Depth: e.QP.Depth, Resources: e.QP.Resources,
			Retry: e.Retry, RNRRetry: e.QP.RNRRetry}}
	switch e.Kind {
	case cm.Requested:
		c.requested(now, e, &out)
		return
	case cm.Asked:
		c.asked(now, e)
		return
	case cm.Replied, cm.Established:
		out.Kind = abi.CMUp
	case cm.Rejected:
		out.Kind = abi.CMRejected
	case cm.Unreachable, cm.Unresolved:
		out.Kind = abi.CMUnreachable
	case cm.Disconnected:
		out.Kind = abi.CMDown
	case cm.Resolved:
		out.Kind, out.QPN, out.QKey = abi.CMResolved, e.Found.QPN, e.Found.QKey
		out.Status, out.Params.Private = uint8(e.Found.Status), e.Found.Private
	case cm.TimewaitOver:
		c.forget(number)
		return
	default:
		return // the host sees to it
	}
	if known {
		c.tell(out)
	}
	switch e.Kind {
	case cm.Rejected, cm.Unreachable, cm.Resolved, cm.Unresolved:
		c.forget(number)
	}
}

// requested is somebody who wants a connection.
func (c *connections) requested(now unit.Time, e *cm.Event, out *abi.CM) {
	p := c.program
	s := c.services[e.Service]
	err := errLimit
	if s != nil && s.answer == nil && len(c.ids) < p.server.cfg.Limits.Objects {
		out.Conn = p.next()
		_, err = c.add(out.Conn, func() (cm.ID, error) { return e.ID, nil })
	}
	if err != nil {
		_ = p.server.cfg.Host.RejectCM(now, e.ID, cm.Refusal{Reason: ib.RejNoResources})
		return
	}
	out.Kind, out.Listener = abi.CMRequest, s.handle
	_, out.Port, _ = e.Service.IPPort()
	if !out.From.IsValid() {
		out.From = netip.AddrPortFrom(e.Path.Dest, 0) // not by the RDMA connection manager
	}
	c.tell(*out)
}

// asked is somebody who looks for a datagram service.
func (c *connections) asked(now unit.Time, e *cm.Event) {
	f := cm.Found{Status: ib.SIDRUnsupported}
	if s := c.services[e.Service]; s != nil && s.answer != nil {
		f = *s.answer
	}
	_ = c.program.server.cfg.Host.AnswerCM(now, e.ID, f)
}

// tell sends an event that must not be lost.
func (c *connections) tell(e abi.CM) { c.program.report(abi.EventCM, e) }

// end closes everything, as the kernel does for a program that ends: peers are told.
func (c *connections) end(now unit.Time) {
	host := c.program.server.cfg.Host
	for s := range c.services {
		host.UnlistenCM(now, s)
	}
	for id := range c.numbers {
		host.CloseCM(now, id)
	}
	*c = newConnections(c.program)
}

// serve begins to wait for a service.
func (c *connections) serve(now unit.Time, id ib.ServiceID, s *service) error {
	p := c.program
	if err := p.more(len(c.services), "listeners"); err != nil {
		return err
	}
	if err := p.server.cfg.Host.ListenCM(now, id, abi.Backlog, c); err != nil {
		return err
	}
	c.services[id] = s
	return nil
}

// Ports that are chosen for programs: the dynamic ones of RFC 6335 6.
const (
	firstPort = 49152
	ports     = 65536 - firstPort
)

// port is one that has not been given out for long.
func (s *Server) port() uint16 {
	s.lastPort = (s.lastPort + 1) % ports
	return firstPort + s.lastPort
}

func (p *program) listen(l abi.Listen) (out abi.Listening, err error) {
	return out, p.do(func(now unit.Time) error {
		s := &service{handle: l.Handle}
		if err := p.fresh(l.Handle); err != nil {
			return err
		}
		tries := 1
		if l.Port == 0 {
			tries = ports
		}
		for range tries {
			if out.Port = l.Port; l.Port == 0 {
				out.Port = p.server.port()
			}
			err = p.connections.serve(now, ib.IPService(ib.SpaceTCP, out.Port), s)
			if !errors.Is(err, cm.ErrInUse) {
				break
			}
		}
		return err
	})
}

func (p *program) unlisten(h abi.Handle) (none, error) {
	return none{}, p.do(func(now unit.Time) error {
		for id, s := range p.connections.services {
			if s.handle == h.Handle {
				p.server.cfg.Host.UnlistenCM(now, id)
				delete(p.connections.services, id)
				return nil
			}
		}
		return missing("listener", h.Handle)
	})
}

// open finds the way of connection management datagrams to a host, for the connection that start
// makes with it, unless the program has given it up meanwhile.
func (p *program) open(number uint32, a abi.Path, to netip.AddrPort,
	start func(now unit.Time, way cm.Path) error) error {
	if err := p.do(func(unit.Time) error {
		err := p.fresh(number)
		if err == nil {
			p.connections.opening[number] = true
		}
		return err
	}); err != nil {
		return err
	}
	a.IP = to.Addr()
	n, lost := p.path(a)
	return p.do(func(now unit.Time) error {
		if !p.connections.opened(number) {
			return fmt.Errorf("%w: connection %d was given up", errInvalid, number)
		}
		if lost != nil {
			return lost
		}
		way := cm.Path{Source: n.Source, Dest: n.IP, MAC: n.MAC, VLAN: n.VLAN}
		var err error
		way.Source, err = p.server.cfg.Host.NIC().SourceOf(nic.Path{IP: n.IP, Source: n.Source,
			MAC: n.MAC, VLAN: n.VLAN})
		if err != nil {
			return err
		}
		return start(now, way)
	})
}

// opened ends the search for a connection's way, and reports whether there was one.
func (c *connections) opened(number uint32) bool {
	was := c.opening[number]
	delete(c.opening, number)
	return was
}

func (p *program) dial(d abi.Dial) (none, error) {
	return none{}, p.open(d.Conn, d.Path, d.To, func(now unit.Time, way cm.Path) error {
		q, err := p.reliable(d.QP)
		if err != nil {
			return err
		}
		id, err := p.connections.add(d.Conn, func() (cm.ID, error) {
			return p.server.cfg.Host.ConnectCM(now, cm.Request{Path: way,
				Service: ib.IPService(ib.SpaceTCP, d.To.Port()), Retry: d.Params.Retry,
				QP: offer(q, &d.Params), Private: d.Params.Private,
				From: netip.AddrPortFrom(way.Source, p.server.port())}, &p.connections)
		})
		if err == nil {
			q.connection = id
		}
		return err
	})
}

// fresh judges a number that the program chose.
func (p *program) fresh(number uint32) error {
	_, used := p.connections.ids[number]
	used = used || p.connections.opening[number]
	for _, s := range p.connections.services {
		used = used || s.handle == number
	}
	if used || number&abi.Ours == 0 {
		return fmt.Errorf("%w: connection %d", errInvalid, number)
	}
	return p.more(len(p.connections.ids)+len(p.connections.opening), "connections")
}

// offer is what the other end is told of a QP.
func offer(q *queuePair, p *abi.Params) cm.QP {
	return cm.QP{QPN: q.qpn, Resources: p.Resources, Depth: p.Depth, RNRRetry: p.RNRRetry}
}

func (p *program) acceptCM(a abi.Accept) (none, error) {
	return none{}, p.do(func(now unit.Time) error {
		q, err := p.reliable(a.QP)
		if err != nil {
			return err
		}
		id, ok := p.connections.ids[a.Conn]
		if !ok {
			return missing("connection", a.Conn)
		}
		err = p.server.cfg.Host.AcceptCM(now, id, cm.Reply{QP: offer(q, &a.Params),
			Private: a.Params.Private})
		if err == nil {
			q.connection = id
		}
		return err
	})
}

// connected makes a call of a function of a connection that the program has.
func connected(fn func(*program, unit.Time, cm.ID, *abi.Conn) error,
) func(*program, abi.Conn) (none, error) {
	return func(p *program, c abi.Conn) (none, error) {
		return none{}, p.do(func(now unit.Time) error {
			id, ok := p.connections.ids[c.Conn]
			if !ok {
				return missing("connection", c.Conn)
			}
			return fn(p, now, id, &c)
		})
	}
}

func (p *program) reject(now unit.Time, id cm.ID, c *abi.Conn) error {
	err := p.server.cfg.Host.RejectCM(now, id, cm.Refusal{Private: c.Private})
	if err == nil {
		p.connections.forget(c.Conn)
	}
	return err
}

func (p *program) disconnect(now unit.Time, id cm.ID, c *abi.Conn) error {
	return p.server.cfg.Host.DisconnectCM(now, id, c.Private)
}

// hangUp gives up a connection in whatever state.
func (p *program) hangUp(c abi.Conn) (none, error) {
	return none{}, p.do(func(now unit.Time) error {
		if p.connections.opened(c.Conn) {
			return nil
		}
		id, ok := p.connections.ids[c.Conn]
		if !ok {
			return missing("connection", c.Conn)
		}
		p.server.cfg.Host.CloseCM(now, id)
		p.connections.forget(c.Conn)
		return nil
	})
}

func (p *program) resolve(r abi.Resolve) (none, error) {
	return none{}, p.open(r.Conn, r.Path, r.To, func(now unit.Time, way cm.Path) error {
		_, err := p.connections.add(r.Conn, func() (cm.ID, error) {
			return p.server.cfg.Host.ResolveCM(now, cm.Lookup{Path: way,
				Service: ib.IPService(ib.SpaceUDP, r.To.Port()),
				From:    netip.AddrPortFrom(way.Source, p.server.port()), Private: r.Private},
				&p.connections)
		})
		return err
	})
}

func (p *program) serveSIDR(s abi.ServeSIDR) (none, error) {
	return none{}, p.do(func(now unit.Time) error {
		q := p.queues[s.QP]
		if q == nil || !q.ud {
			return missing("UD queue pair", s.QP)
		}
		if len(s.Private) > ib.SIDRREPPrivateLen {
			return fmt.Errorf("%w: %d bytes of private data, at most %d", errInvalid,
				len(s.Private), ib.SIDRREPPrivateLen)
		}
		return p.connections.serve(now, ib.IPService(ib.SpaceUDP, s.Port),
			&service{handle: p.next(), queue: q,
				answer: &cm.Found{QPN: q.qpn, QKey: q.qkey, Private: s.Private}})
	})
}

// disown ends what belongs to a QP that is about to be destroyed.
func (c *connections) disown(now unit.Time, q *queuePair) {
	host := c.program.server.cfg.Host
	if number, ok := c.numbers[q.connection]; ok {
		host.CloseCM(now, q.connection)
		c.forget(number)
	}
	for id, s := range c.services {
		if s.queue == q {
			host.UnlistenCM(now, id)
			delete(c.services, id)
		}
	}
}
