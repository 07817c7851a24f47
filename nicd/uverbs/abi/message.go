package abi

import (
	"encoding/json"
	"net/netip"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// Version is that of everything in this package. A daemon refuses programs of another one.
const Version = 2

// MaxMessage bounds a control message, in bytes.
const MaxMessage = 32 << 10

// The calls of a program.
const (
	CallHello        = "hello" // must be the first
	CallQuery        = "query"
	CallAllocPD      = "alloc_pd"
	CallFreePD       = "free_pd"
	CallRegister     = "register" // + descriptor of the memory
	CallDeregister   = "deregister"
	CallCreateCQ     = "create_cq" // + descriptors of ring and event
	CallDestroyCQ    = "destroy_cq"
	CallCreateSRQ    = "create_srq"
	CallArmSRQ       = "arm_srq"
	CallDestroySRQ   = "destroy_srq"
	CallCreateAH     = "create_ah"
	CallDestroyAH    = "destroy_ah"
	CallCreateQP     = "create_qp"
	CallReadyReceive = "ready_to_receive"
	CallReadySend    = "ready_to_send"
	CallFailQP       = "fail_qp"
	CallQueryQP      = "query_qp"
	CallDestroyQP    = "destroy_qp"
)

// Request is one call.
type Request struct {
	ID   uint64          `json:"id"` // not 0; comes back in the response
	Call string          `json:"call"`
	Body json.RawMessage `json:"body,omitempty"`
}

// Response answers a call, or tells of an event if ID is 0.
type Response struct {
	ID    uint64          `json:"id"`
	Error *Error          `json:"error,omitempty"`
	Event string          `json:"event,omitempty"` // which; ID is 0
	Body  json.RawMessage `json:"body,omitempty"`
}

// Error is why a call failed.
type Error struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

func (e *Error) Error() string { return e.Text }

// Codes of errors.
const (
	CodeInvalid  = "invalid"
	CodeLimit    = "limit"
	CodeState    = "state"
	CodeInUse    = "in_use"
	CodePath     = "path"
	CodeTimeout  = "timeout"
	CodeRejected = "rejected"
	CodeOther    = "other"
)

// Hello opens a connection; the answer's descriptors are the submission ring and the doorbell.
type Hello struct {
	Version int    `json:"version"`
	Program string `json:"program"` // its name, for whoever looks at the daemon
}

// Limits is what one program may have.
type Limits struct {
	Queues   int   `json:"queues"`   // QPs
	Objects  int   `json:"objects"`  // of each other kind
	Memory   int64 `json:"memory"`   // bytes, with rings and queues
	Depth    int   `json:"depth"`    // of a work queue
	CQDepth  int   `json:"cq_depth"` // of a completion queue
	Programs int   `json:"programs"` // at a time, on one daemon
}

// Device is the answer to Hello and Query.
type Device struct {
	Name       string       `json:"name"`
	Addresses  []netip.Addr `json:"addresses"`
	MAC        wire.MAC     `json:"mac"`
	Rate       int64        `json:"rate"` // bits per second
	Limits     Limits       `json:"limits"`
	QP         qp.Config    `json:"qp"` // of a QP by default
	Algorithms []string     `json:"algorithms"`
}

// Handle names one object of a program in its kind.
type Handle struct {
	Handle uint32 `json:"handle"`
}

// Register asks for memory.
type Register struct {
	PD     uint32    `json:"pd"`
	Size   int       `json:"size"`
	Access qp.Access `json:"access"`
}

// Registered is the memory.
type Registered struct {
	VA  uint64 `json:"va"`
	Key uint32 `json:"key"`
}

// CreateCQ asks for a completion queue.
type CreateCQ struct {
	Depth int `json:"depth"`
}

// CreatedCQ is one, of Entries entries.
type CreatedCQ struct {
	Handle  uint32 `json:"handle"`
	Entries int    `json:"entries"`
}

// CreateSRQ asks for a shared receive queue.
type CreateSRQ struct {
	PD    uint32 `json:"pd"`
	Depth int    `json:"depth"`
}

// ArmSRQ asks for an event when fewer than Limit receives are left.
type ArmSRQ struct {
	Handle uint32 `json:"handle"`
	Limit  int    `json:"limit"`
}

// Path is the way to a host; a zero MAC is to be found out.
type Path struct {
	IP     netip.Addr `json:"ip"`
	Source netip.Addr `json:"source"`
	MAC    wire.MAC   `json:"mac"`
	VLAN   ib.VLAN    `json:"vlan"`
	DSCP   *uint8     `json:"dscp,omitempty"`
}

// CreateAH asks for an address handle.
type CreateAH struct {
	PD   uint32 `json:"pd"`
	Path Path   `json:"path"`
}

// CreateQP asks for a queue pair. Zero depths are the defaults.
type CreateQP struct {
	PD           uint32 `json:"pd"`
	UD           bool   `json:"ud"`
	SendCQ       uint32 `json:"send_cq"`
	ReceiveCQ    uint32 `json:"receive_cq"`
	SRQ          uint32 `json:"srq"` // 0: none
	SendDepth    int    `json:"send_depth"`
	ReceiveDepth int    `json:"receive_depth"`
	MaxInline    int    `json:"max_inline"`
	MTU          int    `json:"mtu"`
	DSCP         *uint8 `json:"dscp,omitempty"`
	Algorithm    string `json:"algorithm"`
	QKey         uint32 `json:"qkey"`
}

// CreatedQP is one.
type CreatedQP struct {
	Handle  uint32               `json:"handle"`
	QPN     ib.QPN               `json:"qpn"`
	PSN     ib.PSN               `json:"psn"`
	Send    int                  `json:"send"`    // depths
	Receive int                  `json:"receive"` // 0 with an SRQ
	MTU     int                  `json:"mtu"`
	In      qp.ReceiveAttributes `json:"in"`
	Out     qp.SendAttributes    `json:"out"`
}

// ReadyReceive takes a queue pair to RTR.
type ReadyReceive struct {
	Handle     uint32               `json:"handle"`
	QPN        ib.QPN               `json:"qpn"`
	PSN        ib.PSN               `json:"psn"`
	Path       Path                 `json:"path"`
	Attributes qp.ReceiveAttributes `json:"attributes"`
}

// ReadySend takes a queue pair to RTS.
type ReadySend struct {
	Handle     uint32            `json:"handle"`
	Attributes qp.SendAttributes `json:"attributes"`
}

// QPState is the answer to query_qp.
type QPState struct {
	State qp.State `json:"state"`
}

// EventAsync is the event whose body is an Async.
const EventAsync = "async"

// Async is what happened without a completion.
type Async struct {
	Kind   uint8     `json:"kind"` // rdma.EventKind
	Handle uint32    `json:"handle"`
	At     unit.Time `json:"at"`
	Text   string    `json:"text,omitempty"`
}
