package cm

import (
	"encoding/binary"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// Reject refuses a request or a reply by a REJ. Nothing more is heard of the connection.
func (m *Manager) Reject(_ unit.Time, id ID, r Refusal) error {
	c, err := m.find(id, "reject", REQRcvd, MRAREQSent, REPRcvd, MRAREPSent)
	if err != nil {
		return err
	}
	if len(r.Private) > ib.REJPrivateLen {
		return tooLong(len(r.Private), ib.REJPrivateLen)
	}
	if len(r.Info) > ib.REJInfoLen {
		return tooLong(len(r.Info), ib.REJInfoLen)
	}
	if r.Reason == 0 {
		r.Reason = ib.RejConsumer
	}
	m.refuse(c, r)
	m.forget(c)
	return nil
}

// refuse says by a REJ that a connection does not come about.
func (m *Manager) refuse(c *conn, r Refusal) {
	about, local := ib.AboutOther, uint32(c.id)
	switch c.state {
	case REQRcvd:
		about, local = ib.AboutREQ, 0 // the peer has not heard of our id
	case MRAREQSent:
		about = ib.AboutREQ
	case REPRcvd, MRAREPSent:
		about = ib.AboutREP
	}
	c.said.Init(ib.AttrREJ, c.tid)
	j := (*ib.REJ)(&c.said)
	j.SetLocalID(local)
	j.SetRemoteID(c.peerID)
	j.SetMessage(about)
	j.SetReason(r.Reason)
	j.SetInfoLen(uint8(copy(j.Info(), r.Info)))
	copy(j.Private(), r.Private)
	m.send(c)
}

// guid is what a REJ for a timeout tells, so that a peer of which we know no id can find the
// connection. Linux drivers/infiniband/core/cm.c, cm_acquire_rejected_id.
func (m *Manager) guid() []byte { return binary.BigEndian.AppendUint64(nil, m.cfg.GUID) }

// receiveREJ ends a connection.
func (m *Manager) receiveREJ(now unit.Time, p Path, mad *ib.MAD) frame.Reason {
	r := (*ib.REJ)(mad)
	c := m.rejected(p, r)
	if c == nil {
		return m.unknown()
	}
	e := Event{Kind: Rejected, Reason: r.Reason(), Private: clone(r.Private()),
		Info: clone(r.Info()[:min(int(r.InfoLen()), len(r.Info()))])}
	switch c.state {
	case REQSent, MRAREQRcvd, REQRcvd, MRAREQSent, REPSent, MRAREPRcvd:
		if r.Reason() != ib.RejStaleConnection {
			m.end(c, e)
			return frame.NoReason
		}
		m.finish(now, c, e)
	case REPRcvd, MRAREPSent:
		m.finish(now, c, e)
	case Running, DREQSent, DREQRcvd:
		e.Kind = Disconnected
		m.finish(now, c, e)
	default:
		m.counters.Duplicates.add(ib.AttrREJ)
	}
	return frame.NoReason
}

// rejected finds the connection that a REJ is about, nil if it is none of the peer's.
func (m *Manager) rejected(p Path, r *ib.REJ) *conn {
	if r.Reason() == ib.RejTimeout {
		guid := binary.BigEndian.Uint64(r.Info())
		if c := m.byPeer[peerKey{addr: p.Dest, guid: guid, id: r.LocalID()}]; c != nil {
			return c
		}
	}
	c := m.conns[ID(r.RemoteID())]
	if c == nil || c.path.Dest != p.Dest || c.state.is(SIDRREQSent, SIDRREQRcvd) {
		return nil
	}
	// A peer that refuses our REQ may not have told us its id. All others have.
	if !c.state.is(REQSent, MRAREQRcvd) && c.peerID != r.LocalID() {
		return nil
	}
	return c
}

// Disconnect ends an established connection by a DREQ, or answers the peer's by a DREP. In both
// cases Disconnected follows. The QP should be in ERR.
func (m *Manager) Disconnect(now unit.Time, id ID, own []byte) error {
	c, err := m.find(id, "disconnect", Running, DREQRcvd)
	if err != nil {
		return err
	}
	if len(own) > ib.DREQPrivateLen {
		return tooLong(len(own), ib.DREQPrivateLen)
	}
	if c.state == DREQRcvd {
		m.answerDREQ(now, c, own)
	} else {
		m.requestEnd(now, c, own)
	}
	return nil
}

// requestEnd sends the DREQ.
func (m *Manager) requestEnd(now unit.Time, c *conn, own []byte) {
	c.said.Init(ib.AttrDREQ, m.tidHigh|uint64(c.id))
	d := (*ib.DREQ)(&c.said)
	d.SetLocalID(uint32(c.id))
	d.SetRemoteID(c.peerID)
	d.SetRemoteQPN(c.remote.QPN)
	copy(d.Private(), own)
	c.enter(DREQSent)
	c.interval = m.responseTime()
	m.repeat(now, c, m.cfg.MaxRetries)
}

// answerDREQ sends the DREP.
func (m *Manager) answerDREQ(now unit.Time, c *conn, own []byte) {
	m.sayDREP(c, own)
	m.finish(now, c, Event{Kind: Disconnected})
}

func (m *Manager) sayDREP(c *conn, own []byte) {
	c.said.Init(ib.AttrDREP, c.tid)
	d := (*ib.DREP)(&c.said)
	d.SetLocalID(uint32(c.id))
	d.SetRemoteID(c.peerID)
	copy(d.Private(), own)
	m.send(c)
}

// receiveDREQ is the peer's wish to end the connection.
func (m *Manager) receiveDREQ(now unit.Time, p Path, mad *ib.MAD) frame.Reason {
	r := (*ib.DREQ)(mad)
	c := m.pair(p, r.RemoteID(), r.LocalID())
	if c == nil { // we have ended it long ago
		m.strangeDREQ(p, mad)
		return m.unknown()
	}
	if r.RemoteQPN() != c.local.QPN {
		return m.unknown()
	}
	switch c.state {
	case REPSent, MRAREPRcvd, Running:
		c.tid = mad.TID()
		c.enter(DREQRcvd)
		m.patience(now, c)
		m.tell(c, Event{Kind: Disconnecting, Private: clone(r.Private())})
		if c.silent {
			m.answerDREQ(now, c, nil)
		}
	case DREQSent: // both want it at once
		c.tid = mad.TID()
		m.sayDREP(c, nil)
		m.finish(now, c, Event{Kind: Disconnected, Private: clone(r.Private())})
	case Timewait: // our DREP was lost
		m.counters.Duplicates.add(ib.AttrDREQ)
		c.tid = mad.TID()
		m.sayDREP(c, nil)
	default:
		m.counters.Duplicates.add(ib.AttrDREQ)
	}
	return frame.NoReason
}

// strangeDREQ answers a DREQ for a connection that is not known: the peer may forget it too.
func (m *Manager) strangeDREQ(p Path, mad *ib.MAD) {
	r := (*ib.DREQ)(mad)
	var answer ib.MAD
	answer.Init(ib.AttrDREP, mad.TID())
	d := (*ib.DREP)(&answer)
	d.SetLocalID(r.RemoteID())
	d.SetRemoteID(r.LocalID())
	m.queue(p, &answer)
}

// receiveDREP ends the connection.
func (m *Manager) receiveDREP(now unit.Time, p Path, mad *ib.MAD) frame.Reason {
	r := (*ib.DREP)(mad)
	c := m.pair(p, r.RemoteID(), r.LocalID())
	if c == nil {
		return m.unknown()
	}
	if !c.state.is(DREQSent, DREQRcvd) {
		m.counters.Duplicates.add(ib.AttrDREP)
		return frame.NoReason
	}
	m.finish(now, c, Event{Kind: Disconnected, Private: clone(r.Private())})
	return frame.NoReason
}

// stale ends a connection that its peer has forgotten.
func (m *Manager) stale(now unit.Time, c *conn) {
	if c.state != Running {
		return // its own deadline will end it
	}
	m.requestEnd(now, c, nil)
	m.finish(now, c, Event{Kind: Disconnected, Reason: ib.RejStaleConnection})
}

// Close ends a connection or SIDR request in whatever state, as its user has gone: the peer is
// told, and TimewaitOver is all that is told here, when nothing is known of it any more.
func (m *Manager) Close(now unit.Time, id ID) {
	c := m.conns[id]
	if c == nil {
		return
	}
	c.silent = true
	switch c.state {
	case REQSent, MRAREQRcvd:
		m.refuse(c, Refusal{Reason: ib.RejTimeout, Info: m.guid()})
		m.forget(c)
	case REQRcvd, MRAREQSent, REPRcvd, MRAREPSent:
		m.refuse(c, Refusal{Reason: ib.RejConsumer})
		m.forget(c)
	case REPSent, MRAREPRcvd:
		m.refuse(c, Refusal{Reason: ib.RejConsumer})
		m.finish(now, c, Event{})
	case Running:
		m.requestEnd(now, c, nil)
	case DREQRcvd:
		m.answerDREQ(now, c, nil)
	case SIDRREQSent:
		m.forget(c)
	case SIDRREQRcvd:
		m.reply(c, Found{Status: ib.SIDRReject})
		m.forget(c)
	}
}
