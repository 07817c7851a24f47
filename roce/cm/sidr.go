package cm

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// Resolve asks by a SIDR_REQ for the queue pair of a datagram service. Resolved follows, or
// Unresolved.
func (m *Manager) Resolve(now unit.Time, l Lookup) (ID, error) {
	room := ib.SIDRREQPrivateLen
	if l.From.IsValid() {
		room -= ib.IPHeaderLen
	}
	switch {
	case !l.Path.valid():
		return 0, fmt.Errorf("resolve %v at %v: %w", l.Service, l.Path.Dest, ErrPath)
	case len(l.Private) > room:
		return 0, tooLong(len(l.Private), room)
	}
	c, err := m.create(l.Path, l.Service)
	if err != nil {
		return 0, fmt.Errorf("resolve %v at %v: %w", l.Service, l.Path.Dest, err)
	}
	c.active, c.pkey = true, pkeyOr(l.PKey)
	c.tid = m.tidHigh | uint64(c.id)
	c.said.Init(ib.AttrSIDRREQ, c.tid)
	r := (*ib.SIDRREQ)(&c.said)
	r.SetRequestID(uint32(c.id))
	r.SetPKey(c.pkey)
	r.SetService(l.Service)
	private(r.Private(), l.From, l.Path.Dest, l.Private)
	c.enter(SIDRREQSent)
	c.interval = m.responseTime()
	m.repeat(now, c, m.cfg.MaxRetries)
	return c.id, nil
}

// receiveSIDRREQ is somebody's question. One that was answered and is asked again is a new one:
// the answer changes nothing here.
func (m *Manager) receiveSIDRREQ(now unit.Time, p Path, mad *ib.MAD) frame.Reason {
	r := (*ib.SIDRREQ)(mad)
	if m.byPeer[peerKey{addr: p.Dest, id: r.RequestID(), sidr: true}] != nil {
		m.counters.Duplicates.add(ib.AttrSIDRREQ)
		return frame.NoReason
	}
	stranger := &conn{path: p, service: r.Service(), peerID: r.RequestID(), tid: mad.TID()}
	l := m.listeners[stranger.service]
	if l == nil {
		m.reply(stranger, Found{Status: ib.SIDRUnsupported})
		return frame.DropUnexpected
	}
	if l.half >= l.backlog {
		m.counters.Backlog++
		return frame.DropUnexpected
	}
	c, err := m.create(p, stranger.service)
	if err != nil {
		m.counters.Backlog++
		return frame.DropUnexpected
	}
	c.peerID, c.tid, c.pkey, c.backlog = r.RequestID(), mad.TID(), r.PKey(), l
	l.half++
	c.enter(SIDRREQRcvd)
	m.byPeer[c.peerKey()] = c
	m.patience(now, c)
	e := Event{Kind: Asked}
	e.takePrivate(c.service, r.Private())
	m.tell(c, e)
	return frame.NoReason
}

// Answer tells the asker by a SIDR_REP. Nothing more is heard of it.
func (m *Manager) Answer(id ID, f Found) error {
	c, err := m.find(id, "answer", SIDRREQRcvd)
	if err != nil {
		return err
	}
	if len(f.Private) > ib.SIDRREPPrivateLen {
		return tooLong(len(f.Private), ib.SIDRREPPrivateLen)
	}
	m.reply(c, f)
	m.forget(c)
	return nil
}

// reply sends the SIDR_REP.
func (m *Manager) reply(c *conn, f Found) {
	c.said.Init(ib.AttrSIDRREP, c.tid)
	r := (*ib.SIDRREP)(&c.said)
	r.SetRequestID(c.peerID)
	r.SetStatus(f.Status)
	r.SetService(c.service)
	r.SetQPN(f.QPN)
	r.SetQKey(f.QKey)
	copy(r.Private(), f.Private)
	m.send(c)
}

// receiveSIDRREP is the answer.
func (m *Manager) receiveSIDRREP(p Path, mad *ib.MAD) frame.Reason {
	r := (*ib.SIDRREP)(mad)
	c := m.conns[ID(r.RequestID())]
	if c == nil || c.state != SIDRREQSent || c.path.Dest != p.Dest {
		return m.unknown()
	}
	m.end(c, Event{Kind: Resolved, Found: Found{Status: r.Status(), QPN: r.QPN(), QKey: r.QKey(),
		Private: clone(r.Private())}})
	return frame.NoReason
}
