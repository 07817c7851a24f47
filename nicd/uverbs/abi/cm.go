package abi

import (
	"net/netip"

	"github.com/rocelab/rocelab/roce/ib"
)

// The calls about connections.
const (
	CallListen     = "listen"
	CallUnlisten   = "unlisten"
	CallDial       = "dial"
	CallAccept     = "accept"
	CallReject     = "reject"
	CallDisconnect = "disconnect"
	CallHangUp     = "hang_up" // forget a connection in whatever state
	CallResolve    = "resolve"
	CallServeSIDR  = "serve_sidr"
)

// Backlog is how many requests of one listener may wait to be accepted.
const Backlog = 128

// Ours marks the numbers of connections and listeners that the program chose: for what it asks for.
// So it knows them before the first event about them. Those of requests that come to it are the
// daemon's.
const Ours = 1 << 31

// Listen waits for connections to a port; 0 chooses one.
type Listen struct {
	Handle uint32 `json:"handle"` // with Ours
	Port   uint16 `json:"port"`
}

// Listening is the answer.
type Listening struct {
	Port uint16 `json:"port"`
}

// Params are what the ends of a connection tell each other.
type Params struct {
	Private   []byte `json:"private,omitempty"`
	Depth     uint8  `json:"depth"`
	Resources uint8  `json:"resources"`
	Retry     uint8  `json:"retry"`
	RNRRetry  uint8  `json:"rnr_retry"`
}

// Dial asks for a connection of a queue pair. Answered at once; EventCM tells how it went.
type Dial struct {
	Conn   uint32         `json:"conn"` // with Ours
	QP     uint32         `json:"qp"`
	To     netip.AddrPort `json:"to"`
	Path   Path           `json:"path"`
	Params Params         `json:"params"`
}

// Accept answers a request with a queue pair.
type Accept struct {
	Conn   uint32 `json:"conn"`
	QP     uint32 `json:"qp"`
	Params Params `json:"params"`
}

// Conn names a connection, with what to tell the other end.
type Conn struct {
	Conn    uint32 `json:"conn"`
	Private []byte `json:"private,omitempty"`
}

// Resolve asks for a datagram service.
type Resolve struct {
	Conn    uint32         `json:"conn"` // with Ours
	To      netip.AddrPort `json:"to"`
	Path    Path           `json:"path"`
	Private []byte         `json:"private,omitempty"`
}

// ServeSIDR answers who asks for a port with a UD queue pair.
type ServeSIDR struct {
	Port    uint16 `json:"port"`
	QP      uint32 `json:"qp"`
	Private []byte `json:"private,omitempty"`
}

// EventCM is the event whose body is a CM.
const EventCM = "cm"

// CM is what the connection manager tells.
type CM struct {
	Kind     string         `json:"kind"` // one of the below
	Conn     uint32         `json:"conn"`
	Listener uint32         `json:"listener,omitempty"` // of a request
	From     netip.AddrPort `json:"from"`
	To       netip.Addr     `json:"to"`
	Port     uint16         `json:"port,omitempty"` // of a request
	QPN      ib.QPN         `json:"qpn,omitempty"`
	QKey     uint32         `json:"qkey,omitempty"`
	Params   Params         `json:"params"`
	Reason   uint16         `json:"reason,omitempty"`
	Status   uint8          `json:"status,omitempty"` // of a SIDR_REP
}

// The kinds. Up means that work may be posted on both sides.
const (
	CMRequest     = "request"
	CMUp          = "up"
	CMRejected    = "rejected"
	CMUnreachable = "unreachable"
	CMDown        = "down"
	CMResolved    = "resolved"
)
