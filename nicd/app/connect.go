package app

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/cm"
	"github.com/rocelab/rocelab/roce/ib"
)

// Connector is told what the connection manager has to say about what is its own. It may call the
// host.
//
// Of a connection that it asked for it hears Replied once it is established, and needs not confirm
// it; of one that it accepted, Established. Disconnected is told after the QP went to ERR, whoever
// ended the connection, and is answered for it.
type Connector interface {
	Connection(now unit.Time, e *cm.Event)
}

// serve tells everybody what happened, until nothing happens any more. Who is told may call the
// host: that it then calls serve again is of no use.
func (h *Host) serve(now unit.Time) {
	if h.connectors.serving || !h.nic.HasNews() {
		return
	}
	h.connectors.serving = true
	for again := true; again; again = h.serveCM(now) {
		h.deliver(now)
	}
	h.connectors.serving = false
}

// connectors says to whom listeners and connections belong.
type connectors struct {
	services    map[ib.ServiceID]Connector
	connections map[cm.ID]Connector
	serving     bool
}

func newConnectors() connectors {
	return connectors{services: map[ib.ServiceID]Connector{},
		connections: map[cm.ID]Connector{}}
}

// ListenCM waits for requests for a service, Requested or Asked, with up to backlog of them
// half-open.
func (h *Host) ListenCM(now unit.Time, s ib.ServiceID, backlog int, owner Connector) (err error) {
	h.nic.Communicate(now, func(m *cm.Manager) { err = m.Listen(s, backlog) })
	if err == nil {
		h.connectors.services[s] = owner
	}
	return err
}

// UnlistenCM ends that. Connections that came by it stay.
func (h *Host) UnlistenCM(now unit.Time, s ib.ServiceID) {
	h.nic.Communicate(now, func(m *cm.Manager) { m.Unlisten(s) })
	delete(h.connectors.services, s)
}

// ConnectCM asks a peer to connect the QP that r names.
func (h *Host) ConnectCM(now unit.Time, r cm.Request, owner Connector) (cm.ID, error) {
	id, err := h.nic.ConnectCM(now, r)
	if err == nil {
		h.connectors.connections[id] = owner
	}
	h.serve(now)
	return id, err
}

// ResolveCM asks for the QP of a datagram service.
func (h *Host) ResolveCM(now unit.Time, l cm.Lookup, owner Connector) (id cm.ID, err error) {
	id, err = h.nic.ResolveCM(now, l)
	if err == nil {
		h.connectors.connections[id] = owner
	}
	return id, err
}

// AcceptCM answers a request with the QP that r names.
func (h *Host) AcceptCM(now unit.Time, id cm.ID, r cm.Reply) error {
	err := h.nic.AcceptCM(now, id, r)
	h.serve(now)
	return err
}

// RejectCM refuses a request.
func (h *Host) RejectCM(now unit.Time, id cm.ID, r cm.Refusal) (err error) {
	h.nic.Communicate(now, func(m *cm.Manager) { err = m.Reject(now, id, r) })
	if err == nil {
		delete(h.connectors.connections, id)
	}
	return err
}

// AnswerCM answers who asked for a datagram service.
func (h *Host) AnswerCM(now unit.Time, id cm.ID, f cm.Found) (err error) {
	h.nic.Communicate(now, func(m *cm.Manager) { err = m.Answer(id, f) })
	if err == nil {
		delete(h.connectors.connections, id)
	}
	return err
}

// DisconnectCM ends a connection. Disconnected follows, when the peer has answered.
func (h *Host) DisconnectCM(now unit.Time, id cm.ID, private []byte) error {
	err := h.nic.DisconnectCM(now, id, private)
	h.serve(now)
	return err
}

// CloseCM ends a connection or a question in whatever state. Nothing more is told of it.
func (h *Host) CloseCM(now unit.Time, id cm.ID) {
	delete(h.connectors.connections, id)
	h.nic.Communicate(now, func(m *cm.Manager) { m.Close(now, id) })
	h.serve(now)
}

// serveCM tells the connectors what happened, and reports whether anything did.
func (h *Host) serveCM(now unit.Time) (some bool) {
	for h.nic.CM().HasEvent() {
		e, _ := h.nic.CM().NextEvent()
		h.happened(now, &e)
		some = true
	}
	return some
}

// happened sees to one event.
func (h *Host) happened(now unit.Time, e *cm.Event) {
	c := &h.connectors
	switch e.Kind {
	case cm.Requested, cm.Asked:
		if owner := c.services[e.Service]; owner != nil {
			c.connections[e.ID] = owner
		}
	case cm.Replied:
		h.confirm(now, e)
	case cm.Disconnecting:
		if err := h.nic.DisconnectCM(now, e.ID, nil); err != nil {
			panic(fmt.Sprintf("app: the end of a connection is not answered: %v", err))
		}
		return // Disconnected is the next event
	case cm.Disconnected:
		h.nic.FailCM(now, e.ID)
	}
	owner := c.connections[e.ID]
	switch e.Kind {
	case cm.Rejected, cm.Unreachable, cm.Resolved, cm.Unresolved, cm.TimewaitOver:
		delete(c.connections, e.ID)
	}
	if owner != nil {
		owner.Connection(now, e)
	} else if e.Kind == cm.Requested || e.Kind == cm.Asked {
		h.CloseCM(now, e.ID)
	}
}

// confirm starts the QP of a connection that the peer has accepted. If it has gone, or cannot run
// as the peer wants it to, the connection does not come about.
func (h *Host) confirm(now unit.Time, e *cm.Event) {
	if err := h.nic.ConfirmCM(now, e.ID, nil); err == nil {
		return
	}
	refusal := cm.Refusal{Reason: ib.RejNoQP}
	h.nic.Communicate(now, func(m *cm.Manager) {
		if err := m.Reject(now, e.ID, refusal); err != nil {
			panic(fmt.Sprintf("app: %v", err)) // it was replied a moment ago
		}
	})
	e.Kind, e.Reason = cm.Rejected, refusal.Reason
}
