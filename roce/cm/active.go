package cm

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// Connect sends a REQ. What becomes of it is told by events: Replied, Rejected or Unreachable.
func (m *Manager) Connect(now unit.Time, r Request) (ID, error) {
	room := ib.REQPrivateLen
	if r.From.IsValid() {
		room -= ib.IPHeaderLen
	}
	switch {
	case !r.Path.valid():
		return 0, fmt.Errorf("connect to %v: %w", r.Path.Dest, ErrPath)
	case ib.CodeOfMTU(r.MTU) == 0:
		return 0, fmt.Errorf("connect to %v: %w: %d", r.Path.Dest, ErrMTU, r.MTU)
	case len(r.Private) > room:
		return 0, tooLong(len(r.Private), room)
	}
	c, err := m.create(r.Path, r.Service)
	if err != nil {
		return 0, fmt.Errorf("connect to %v: %w", r.Path.Dest, err)
	}
	c.active, c.local, c.mtu, c.retry = true, r.QP, r.MTU, r.Retry
	c.pkey = pkeyOr(r.PKey)
	c.timeout = m.cfg.PacketLifetime + 1 // until the REP tells how long the peer takes
	c.tid = m.tidHigh | uint64(c.id)
	m.request(c, &r)
	c.enter(REQSent)
	c.interval = m.responseTime()
	m.repeat(now, c, m.cfg.MaxRetries)
	return c.id, nil
}

// responseTime is how long we wait for an answer: to the peer, there, and back.
func (m *Manager) responseTime() time.Duration {
	return 2*ib.TimeOf(m.cfg.PacketLifetime) + ib.TimeOf(m.cfg.ResponseTimeout)
}

// request writes the REQ.
func (m *Manager) request(c *conn, r *Request) {
	c.said.Init(ib.AttrREQ, c.tid)
	q := (*ib.REQ)(&c.said)
	q.SetLocalID(uint32(c.id))
	q.SetService(c.service)
	q.SetGUID(m.cfg.GUID)
	q.SetQPN(r.QP.QPN)
	q.SetResources(r.QP.Resources)
	q.SetDepth(r.QP.Depth)
	q.SetRemoteTimeout(m.cfg.ResponseTimeout)
	q.SetLocalTimeout(m.cfg.ResponseTimeout)
	q.SetTransport(ib.RC)
	q.SetFlowControl(r.QP.FlowControl)
	q.SetPSN(r.QP.PSN)
	q.SetRetry(r.Retry)
	q.SetPKey(c.pkey)
	q.SetMTU(ib.CodeOfMTU(r.MTU))
	q.SetRNRRetry(r.QP.RNRRetry)
	q.SetMaxRetries(m.cfg.MaxRetries)
	q.SetSRQ(r.QP.SRQ)
	q.SetLocalLID(permissiveLID)
	q.SetRemoteLID(permissiveLID)
	q.SetLocalGID(r.Path.Source)
	q.SetRemoteGID(r.Path.Dest)
	q.SetHopLimit(ib.HopLimit)
	q.SetAckTimeout(m.cfg.ackTimeout())
	private(q.Private(), r.From, r.Path.Dest, r.Private)
}

// permissiveLID is the LID of those that have none.
const permissiveLID = 0xffff

// private fills the private data: the header of the RDMA connection manager, if there is a source
// for it, and the consumer's own.
func private(dst []byte, from netip.AddrPort, to netip.Addr, own []byte) {
	if from.IsValid() {
		(*ib.IPHeader)(dst).Set(from, to)
		dst = dst[ib.IPHeaderLen:]
	}
	copy(dst, own)
}

// receiveREP is the answer to a REQ of ours, or its repetition.
func (m *Manager) receiveREP(now unit.Time, p Path, mad *ib.MAD) frame.Reason {
	r := (*ib.REP)(mad)
	c := m.conns[ID(r.RemoteID())]
	if c == nil || !c.active || c.path.Dest != p.Dest {
		return m.strangeREP(p, mad, ib.RejInvalidCommID)
	}
	if !c.state.is(REQSent, MRAREQRcvd) {
		return m.repeatedREP(now, c, p, mad)
	}
	c.peerID, c.peerGUID = r.LocalID(), r.GUID()
	c.remote = QP{QPN: r.QPN(), PSN: r.PSN(), Resources: r.Resources(), Depth: r.Depth(),
		RNRRetry: r.RNRRetry(), FlowControl: r.FlowControl(), SRQ: r.SRQ()}
	if old := m.link(c); old != nil { // the peer has forgotten a connection that we believe in
		m.strangeREP(p, mad, ib.RejStaleConnection)
		m.stale(now, old)
		m.end(c, Event{Kind: Rejected, Reason: ib.RejStaleConnection})
		return frame.NoReason
	}
	c.timeout = ib.AckTimeout(m.cfg.PacketLifetime, r.AckDelay())
	c.enter(REPRcvd)
	m.patience(now, c)
	m.tell(c, Event{Kind: Replied, QP: c.remote, MTU: c.mtu, Private: clone(r.Private())})
	return frame.NoReason
}

// repeatedREP is a REP in a state in which none is waited for.
func (m *Manager) repeatedREP(now unit.Time, c *conn, p Path, mad *ib.MAD) frame.Reason {
	if c.peerID != (*ib.REP)(mad).LocalID() {
		return m.strangeREP(p, mad, ib.RejInvalidCommInstance)
	}
	m.counters.Duplicates.add(ib.AttrREP)
	switch c.state {
	case Running: // our RTU was lost
		m.send(c)
	case REPRcvd: // our application is slow
		m.delay(now, c, m.cfg.ServiceTimeout)
	case MRAREPSent:
		m.send(c)
	case Timewait:
		return m.strangeREP(p, mad, ib.RejStaleConnection)
	}
	return frame.NoReason
}

// strangeREP refuses a REP that belongs to no connection of ours.
func (m *Manager) strangeREP(p Path, mad *ib.MAD, why ib.RejectReason) frame.Reason {
	m.counters.Unknown++
	r := (*ib.REP)(mad)
	var answer ib.MAD
	answer.Init(ib.AttrREJ, mad.TID())
	j := (*ib.REJ)(&answer)
	j.SetLocalID(r.RemoteID())
	j.SetRemoteID(r.LocalID())
	j.SetMessage(ib.AboutREP)
	j.SetReason(why)
	m.queue(p, &answer)
	return frame.DropUnexpected
}

// Confirm sends the RTU: our QP runs, and the connection is established.
func (m *Manager) Confirm(_ unit.Time, id ID, own []byte) error {
	c, err := m.find(id, "confirm", REPRcvd, MRAREPSent)
	if err != nil {
		return err
	}
	if len(own) > ib.RTUPrivateLen {
		return tooLong(len(own), ib.RTUPrivateLen)
	}
	c.said.Init(ib.AttrRTU, c.tid)
	r := (*ib.RTU)(&c.said)
	r.SetLocalID(uint32(c.id))
	r.SetRemoteID(c.peerID)
	copy(r.Private(), own)
	c.enter(Running)
	m.timers.set(c, unit.Never)
	m.send(c)
	return nil
}

// receiveMRA is the peer's application being slow.
func (m *Manager) receiveMRA(now unit.Time, p Path, mad *ib.MAD) frame.Reason {
	r := (*ib.MRA)(mad)
	c := m.conns[ID(r.RemoteID())]
	if c == nil || c.path.Dest != p.Dest ||
		r.Message() != ib.AboutREQ && c.peerID != r.LocalID() {
		return m.unknown()
	}
	switch {
	case c.state == REQSent && r.Message() == ib.AboutREQ:
		c.enter(MRAREQRcvd)
	case c.state == REPSent && r.Message() == ib.AboutREP:
		c.enter(MRAREPRcvd)
	default:
		m.counters.Duplicates.add(ib.AttrMRA)
		return frame.NoReason
	}
	// The time of the MRA and of the way. Linux drivers/infiniband/core/cm.c, cm_mra_handler.
	c.interval = ib.TimeOf(r.ServiceTimeout()) + ib.TimeOf(c.timeout)
	m.timers.set(c, now.Add(c.interval))
	m.tell(c, Event{Kind: Delayed, Private: clone(r.Private())})
	return frame.NoReason
}
