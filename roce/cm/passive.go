package cm

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// Listen waits for REQs, or SIDR_REQs, for a service. Up to backlog connections of it may be
// half-open: REQs beyond that are dropped, and their senders try again.
func (m *Manager) Listen(s ib.ServiceID, backlog int) error {
	if m.listeners[s] != nil {
		return fmt.Errorf("listen at %v: %w", s, ErrInUse)
	}
	if backlog < 1 {
		return fmt.Errorf("listen at %v: a backlog of %d", s, backlog)
	}
	m.listeners[s] = &listener{backlog: backlog}
	return nil
}

// Unlisten ends that. Connections that came by it stay.
func (m *Manager) Unlisten(s ib.ServiceID) { delete(m.listeners, s) }

// receiveREQ is a request, or its repetition.
func (m *Manager) receiveREQ(now unit.Time, p Path, mad *ib.MAD) frame.Reason {
	r := (*ib.REQ)(mad)
	if c := m.byPeer[peerKey{addr: p.Dest, guid: r.GUID(), id: r.LocalID()}]; c != nil {
		return m.repeatedREQ(now, c, mad)
	}
	c := &conn{path: p, service: r.Service(), peerID: r.LocalID(), peerGUID: r.GUID(),
		remote: QP{QPN: r.QPN(), PSN: r.PSN(), Resources: r.Resources(), Depth: r.Depth(),
			RNRRetry: r.RNRRetry(), FlowControl: r.FlowControl(), SRQ: r.SRQ()}}
	if old := m.byQP[c.qpKey()]; old != nil && old.state != Timewait {
		m.rejectREQ(p, mad, Refusal{Reason: ib.RejStaleConnection})
		m.stale(now, old)
		return frame.DropUnexpected
	}
	l := m.listeners[c.service]
	if why, info := m.judge(p, r, l != nil); why != 0 {
		m.rejectREQ(p, mad, Refusal{Reason: why, Info: info})
		return frame.DropUnexpected
	}
	if l.half >= l.backlog {
		m.counters.Backlog++ // not rejected, so that the peer tries again: Linux cm_destroy_id
		return frame.DropUnexpected
	}
	known, err := m.create(p, c.service)
	if err != nil {
		m.rejectREQ(p, mad, Refusal{Reason: ib.RejNoResources})
		return frame.DropUnexpected
	}
	c.id, c.place, c.deadline = known.id, -1, unit.Never
	*known = *c
	m.requested(now, known, r, l)
	return frame.NoReason
}

// judge says why a REQ cannot be served, and what could be; zero if it can.
func (m *Manager) judge(p Path, r *ib.REQ, listening bool) (ib.RejectReason, []byte) {
	gid := p.Source.As16()
	switch {
	case !listening:
		return ib.RejInvalidServiceID, nil
	case r.Transport() != ib.RC:
		return ib.RejInvalidTransport, nil
	case r.LocalGID() != p.Dest || r.RemoteGID() != p.Source:
		return ib.RejInvalidGID, gid[:]
	case r.MTU().Bytes() == 0 || r.MTU().Bytes() > m.cfg.MTU:
		return ib.RejInvalidMTU, []byte{byte(ib.CodeOfMTU(m.cfg.MTU))}
	}
	return 0, nil
}

// requested enters a new connection.
func (m *Manager) requested(now unit.Time, c *conn, r *ib.REQ, l *listener) {
	c.tid, c.mtu, c.retry = (*ib.MAD)(r).TID(), r.MTU().Bytes(), r.Retry()
	c.pkey, c.timeout = r.PKey(), r.AckTimeout()
	c.interval, c.left = ib.TimeOf(r.LocalTimeout()), r.MaxRetries()
	c.backlog = l
	l.half++
	c.enter(REQRcvd)
	m.link(c)
	m.patience(now, c)
	e := Event{Kind: Requested, QP: c.remote, MTU: c.mtu, Retry: c.retry}
	e.takePrivate(c.service, r.Private())
	m.tell(c, e)
}

// takePrivate takes the private data of a request apart.
func (e *Event) takePrivate(s ib.ServiceID, b []byte) {
	if _, _, is := s.IPPort(); is {
		var ok bool
		if e.From, e.To, ok = (*ib.IPHeader)(b).Get(); ok {
			b = b[ib.IPHeaderLen:]
		}
	}
	e.Private = clone(b)
}

// repeatedREQ answers a REQ that was received before as it was answered then.
func (m *Manager) repeatedREQ(now unit.Time, c *conn, mad *ib.MAD) frame.Reason {
	m.counters.Duplicates.add(ib.AttrREQ)
	switch c.state {
	case REQRcvd: // our application is slow
		m.delay(now, c, m.cfg.ServiceTimeout)
	case MRAREQSent, REPSent:
		m.send(c)
	case Timewait:
		c.tid = mad.TID()
		m.refuse(c, Refusal{Reason: ib.RejStaleConnection})
	}
	return frame.NoReason
}

// rejectREQ refuses a REQ of which nothing is kept.
func (m *Manager) rejectREQ(p Path, mad *ib.MAD, why Refusal) {
	var answer ib.MAD
	answer.Init(ib.AttrREJ, mad.TID())
	j := (*ib.REJ)(&answer)
	j.SetRemoteID((*ib.REQ)(mad).LocalID())
	j.SetMessage(ib.AboutREQ)
	j.SetReason(why.Reason)
	j.SetInfoLen(uint8(copy(j.Info(), why.Info)))
	m.queue(p, &answer)
}

// Offer notes the QP that Accept will name and tells what it needs to run, so that it can be
// started before the peer knows of it.
func (m *Manager) Offer(id ID, q QP) (Attributes, error) {
	c, err := m.find(id, "accept", REQRcvd, MRAREQSent)
	if err != nil {
		return Attributes{}, err
	}
	// What the peer does not use need not be kept, and what it does not keep cannot be used.
	q.Resources = min(q.Resources, c.remote.Depth)
	q.Depth = min(q.Depth, c.remote.Resources)
	c.local = q
	a, _ := m.Attributes(id)
	return a, nil
}

// Accept answers a request with a REP. Established follows, or Rejected or Unreachable.
func (m *Manager) Accept(now unit.Time, id ID, r Reply) error {
	if _, err := m.Offer(id, r.QP); err != nil {
		return err
	}
	c := m.conns[id]
	if len(r.Private) > ib.REPPrivateLen {
		return tooLong(len(r.Private), ib.REPPrivateLen)
	}
	c.said.Init(ib.AttrREP, c.tid)
	p := (*ib.REP)(&c.said)
	p.SetLocalID(uint32(c.id))
	p.SetRemoteID(c.peerID)
	p.SetQPN(c.local.QPN)
	p.SetPSN(c.local.PSN)
	p.SetResources(c.local.Resources)
	p.SetDepth(c.local.Depth)
	p.SetAckDelay(m.cfg.AckDelay)
	p.SetFlowControl(c.local.FlowControl)
	p.SetRNRRetry(c.local.RNRRetry)
	p.SetSRQ(c.local.SRQ)
	p.SetGUID(m.cfg.GUID)
	copy(p.Private(), r.Private)
	c.enter(REPSent)
	m.repeat(now, c, c.left) // as often, and as soon, as the REQ said
	return nil
}

// Delay tells the peer by an MRA that the answer to its REQ or REP will take up to the time of a
// code. The manager does it by itself when the peer asks again.
func (m *Manager) Delay(now unit.Time, id ID, code uint8) error {
	c, err := m.find(id, "delay", REQRcvd, MRAREQSent, REPRcvd, MRAREPSent)
	if err != nil {
		return err
	}
	m.delay(now, c, code)
	return nil
}

func (m *Manager) delay(now unit.Time, c *conn, code uint8) {
	about, next := ib.AboutREQ, MRAREQSent
	if c.state.is(REPRcvd, MRAREPSent) {
		about, next = ib.AboutREP, MRAREPSent
	}
	c.said.Init(ib.AttrMRA, c.tid)
	r := (*ib.MRA)(&c.said)
	r.SetLocalID(uint32(c.id))
	r.SetRemoteID(c.peerID)
	r.SetMessage(about)
	r.SetServiceTimeout(code)
	c.enter(next)
	m.send(c)
	m.timers.set(c, now.Add(ib.TimeOf(code)))
}

// receiveRTU ends the handshake.
func (m *Manager) receiveRTU(p Path, mad *ib.MAD) frame.Reason {
	r := (*ib.RTU)(mad)
	c := m.pair(p, r.RemoteID(), r.LocalID())
	if c == nil {
		return m.unknown()
	}
	if !c.state.is(REPSent, MRAREPRcvd) {
		m.counters.Duplicates.add(ib.AttrRTU)
		return frame.NoReason
	}
	m.establish(c, clone(r.Private()))
	return frame.NoReason
}

// Communicating tells that data arrived on the connection's QP: the RTU is on its way or lost,
// and the connection is established without it.
func (m *Manager) Communicating(id ID) {
	if c := m.conns[id]; c != nil && c.state.is(REPSent, MRAREPRcvd) {
		m.establish(c, nil)
	}
}

func (m *Manager) establish(c *conn, own []byte) {
	c.enter(Running)
	c.interval = m.responseTime()
	m.timers.set(c, unit.Never)
	m.tell(c, Event{Kind: Established, Private: own})
}
