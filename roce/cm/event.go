package cm

import (
	"fmt"
	"net/netip"

	"github.com/rocelab/rocelab/roce/ib"
)

// EventKind is what happened.
type EventKind uint8

// The events. Those with "over" are the last of their connection but TimewaitOver.
const (
	Requested     EventKind = iota // passive: a REQ came. Call Accept or Reject
	Replied                        // active: a REP came. Start the QP, then call Confirm, or Reject
	Delayed                        // the peer's application needs longer: an MRA
	Established                    // passive: the RTU came, or data
	Rejected                       // over: a REJ came
	Unreachable                    // over: no answer to the REQ or REP, or none of our user
	Disconnecting                  // the peer has sent a DREQ. Call Disconnect
	Disconnected                   // over: the connection has ended
	TimewaitOver                   // nothing is under way or known any more: the QP is free again
	Asked                          // a SIDR_REQ came. Call Answer
	Resolved                       // over: a SIDR_REP came
	Unresolved                     // over: nobody answered the SIDR_REQ
)

var kindNames = [...]string{"requested", "replied", "delayed", "established", "rejected",
	"unreachable", "disconnecting", "disconnected", "timewait over", "asked", "resolved",
	"unresolved"}

func (k EventKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("event %d", uint8(k))
}

// Event is what a manager tells its user. Fields that the kind does not have are zero.
type Event struct {
	Kind    EventKind
	ID      ID
	Service ib.ServiceID
	Path    Path
	QP      QP    // the peer's: Requested, Replied
	MTU     int   // Requested
	Retry   uint8 // Requested
	PKey    uint16

	From    netip.AddrPort // of Requested and Asked, if the peer said by the RDMA CM's header
	To      netip.Addr
	Private []byte // all that the message has room for: who receives it cannot tell the length

	Reason ib.RejectReason // Rejected
	Info   []byte          // Rejected: the additional information

	Found Found // Resolved
}
