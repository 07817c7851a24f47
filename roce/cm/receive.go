package cm

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// Receive takes a MAD that came to QP1 by a path, whose other end is the sender.
func (m *Manager) Receive(now unit.Time, p Path, b []byte) frame.Reason {
	mad, ok := ib.AsMAD(b)
	if !ok || !mad.IsCM() {
		m.counters.Invalid++
		if ok && mad.OtherClassVersion() {
			m.otherVersion(p, mad)
		}
		return frame.DropUnexpected
	}
	m.counters.Received.add(mad.Attribute())
	switch mad.Attribute() {
	case ib.AttrREQ:
		return m.receiveREQ(now, p, mad)
	case ib.AttrMRA:
		return m.receiveMRA(now, p, mad)
	case ib.AttrREJ:
		return m.receiveREJ(now, p, mad)
	case ib.AttrREP:
		return m.receiveREP(now, p, mad)
	case ib.AttrRTU:
		return m.receiveRTU(p, mad)
	case ib.AttrDREQ:
		return m.receiveDREQ(now, p, mad)
	case ib.AttrDREP:
		return m.receiveDREP(now, p, mad)
	case ib.AttrSIDRREQ:
		return m.receiveSIDRREQ(now, p, mad)
	case ib.AttrSIDRREP:
		return m.receiveSIDRREP(p, mad)
	}
	m.counters.Invalid++ // alternate paths, which RoCE does not have, and what nobody defined
	return frame.DropUnexpected
}

// otherVersion refuses a request in a version of the messages that we do not know; where it has
// its id is where ours have it.
func (m *Manager) otherVersion(p Path, mad *ib.MAD) {
	switch mad.Attribute() {
	case ib.AttrREQ:
		m.rejectREQ(p, mad, Refusal{Reason: ib.RejInvalidVersion})
	case ib.AttrSIDRREQ:
		r := (*ib.SIDRREQ)(mad)
		m.reply(&conn{path: p, service: r.Service(), peerID: r.RequestID(), tid: mad.TID()},
			Found{Status: ib.SIDRUnsupportedVersion})
	}
}

// pair finds a connection by both ids, nil if it is not one with that peer.
func (m *Manager) pair(p Path, local, remote uint32) *conn {
	c := m.conns[ID(local)]
	if c == nil || c.peerID != remote || c.path.Dest != p.Dest ||
		c.state.is(SIDRREQSent, SIDRREQRcvd) {
		return nil
	}
	return c
}

func (m *Manager) unknown() frame.Reason {
	m.counters.Unknown++
	return frame.DropUnexpected
}

// find is the connection of a call, which must be in one of the states.
func (m *Manager) find(id ID, call string, in ...State) (*conn, error) {
	c := m.conns[id]
	if c == nil {
		return nil, fmt.Errorf("%s connection %08x: %w", call, uint32(id), ErrNoConnection)
	}
	if !c.state.is(in...) {
		return nil, fmt.Errorf("%s connection %08x: %w: %v", call, uint32(id), ErrState, c.state)
	}
	return c, nil
}

// Attributes is what the connection's QP needs to run: on the active side once the REP is here,
// on the passive side once Offer or Accept was called.
func (m *Manager) Attributes(id ID) (Attributes, bool) {
	c := m.conns[id]
	if c == nil || c.local.QPN == 0 || c.remote.QPN == 0 {
		return Attributes{}, false
	}
	a := Attributes{Path: c.path, Local: c.local.QPN, Remote: c.remote.QPN,
		ReceivePSN: c.local.PSN, SendPSN: c.remote.PSN, MTU: c.mtu, PKey: c.pkey,
		Timeout: c.timeout, Retry: c.retry, RNRRetry: c.remote.RNRRetry,
		Resources: min(c.local.Resources, c.remote.Depth),
		Depth:     min(c.local.Depth, c.remote.Resources), Credits: c.remote.FlowControl}
	return a, true
}

func (p *Path) valid() bool {
	return p.Source.IsValid() && p.Dest.IsValid() && p.Source.Is4() == p.Dest.Is4()
}

func pkeyOr(k uint16) uint16 { return cmp.Or(k, ib.DefaultPKey) }

func tooLong(n, room int) error {
	return fmt.Errorf("%w: %d bytes, room is %d", ErrTooLong, n, room)
}

func clone(b []byte) []byte { return bytes.Clone(b) }
