package cm

import (
	"net/netip"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// conn is a connection, or a SIDR request.
type conn struct {
	id      ID
	state   State
	active  bool // we sent the REQ
	silent  bool // nobody wants to hear of it any more
	service ib.ServiceID
	path    Path

	peerID   uint32 // communication id of the peer, or its SIDR request
	peerGUID uint64
	tid      uint64
	local    QP
	remote   QP
	mtu      int
	pkey     uint16
	retry    uint8
	timeout  uint8 // code of the retransmission timeout of our QP
	backlog  *listener

	said     ib.MAD // what is repeated
	interval time.Duration
	left     uint8 // repetitions
	deadline unit.Time
	place    int // in the queue of deadlines
}

// peerKey is how a peer names a connection. The address is part of it, because GUIDs are only as
// unique as those who make them are careful.
type peerKey struct {
	addr netip.Addr
	guid uint64
	id   uint32
	sidr bool
}

// qpKey is a queue pair of a peer.
type qpKey struct {
	addr netip.Addr
	guid uint64
	qpn  ib.QPN
}

func (c *conn) peerKey() peerKey {
	return peerKey{c.path.Dest, c.peerGUID, c.peerID, c.state == SIDRREQRcvd}
}

func (c *conn) qpKey() qpKey { return qpKey{c.path.Dest, c.peerGUID, c.remote.QPN} }

// listener is somebody who waits for requests.
type listener struct {
	backlog int
	half    int // connections that are not established
}

// enter changes the state. A connection that leaves the half-open states leaves the backlog.
func (c *conn) enter(s State) {
	c.state = s
	if c.backlog != nil && !s.is(REQRcvd, MRAREQSent, REPSent, MRAREPRcvd, SIDRREQRcvd) {
		c.backlog.half--
		c.backlog = nil
	}
}
