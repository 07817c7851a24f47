package rdma

import (
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// What programs and the transport have in common.
type (
	// Op is what a work request does.
	Op = qp.Op
	// Status says how a work request ended.
	Status = qp.Status
	// State is that of a QP.
	State = qp.State
	// Access is what may be done with memory beside reading it locally.
	Access = qp.Access
	// Segment is bytes of the program's own memory, see Memory.Segment.
	Segment = qp.Local
	// Target is where in the peer's memory a WRITE, READ or atomic goes.
	Target = qp.Remote
)

// The operations. Receive occurs in completions only.
const (
	Send     = qp.Send
	SendImm  = qp.SendImm
	Write    = qp.Write
	WriteImm = qp.WriteImm
	Read     = qp.Read
	FetchAdd = qp.FetchAdd
	CmpSwap  = qp.CmpSwap
	Receive  = qp.Receive
)

// The statuses. IBTA 11.6.2.
const (
	Success              = qp.Success
	LocalLength          = qp.LocalLength
	LocalProtection      = qp.LocalProtection
	BadResponse          = qp.BadResponse
	RemoteAccess         = qp.RemoteAccess
	RemoteInvalidRequest = qp.RemoteInvalidRequest
	RemoteOperational    = qp.RemoteOperational
	RetryExceeded        = qp.RetryExceeded
	RNRRetryExceeded     = qp.RNRRetryExceeded
	Flushed              = qp.Flushed
	LocalOperation       = qp.LocalOperation
)

// MaxMessage bounds one message, in bytes. IBTA 9.7.7.3.
const MaxMessage = qp.MaxMessage

// MaxInline bounds QPConfig.MaxInline, in bytes.
const MaxInline = 1024

// GRHLen is the space that a UD receive has in front of the payload, for the network header: that
// of IPv6, or 20 bytes that mean nothing and that of IPv4.
const GRHLen = qp.GRHLen

// WR is a work request for a send queue.
type WR struct {
	ID     uint64 // comes back in the completion
	Op     Op
	Local  Segment // bytes to send; for what fetches, where they go
	Remote Target  // WRITE, READ and atomics
	Imm    uint32  // SendImm and WriteImm

	// Inline, if not nil, is what to send in place of Local, copied by Post: at most the QP's
	// MaxInline bytes, of any memory of the program.
	Inline []byte

	SwapAdd uint64 // FETCH_ADD: what to add; CMP_SWAP: what to put
	Compare uint64 // CMP_SWAP: if this is there

	Solicited  bool // the peer's completion is an event even if it asked for solicited ones only
	Fence      bool // wait for the READs and atomics before it, IBTA 10.8.3.3
	Unsignaled bool // no completion if it succeeds; a later one, with one, tells of its end too

	To UDTarget // UD only: whom it goes to
}

// UDTarget is a QP to send a datagram to.
type UDTarget struct {
	Address *Address
	QPN     ib.QPN
	QKey    uint32 // with its highest bit set, the sender's own counts: IBTA 10.2.5
}

// ReceiveWR is a buffer for one incoming message, or a place for one immediate. For UD its first
// GRHLen bytes are for the network header.
type ReceiveWR struct {
	ID    uint64
	Local Segment
}

// Completion tells the end of one work request.
type Completion struct {
	ID     uint64
	QPN    ib.QPN
	Op     Op // of a receive always Receive
	Status Status
	Bytes  int // of the message; for UD with the GRHLen in front
	Imm    uint32
	HasImm bool

	Solicited bool      // receives: the peer asked for an event
	SourceQP  ib.QPN    // receives of datagrams
	At        unit.Time // when it ended, virtual
	Posted    unit.Time // when the NIC took the request from the program; 0 of receives

	// Lost is what Device.Lost was when it ended.
	Lost time.Duration
}
