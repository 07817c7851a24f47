package qp

import (
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// Status says how a work request ended.
type Status uint8

// The statuses. IBTA 11.6.2.
const (
	Success Status = iota
	LocalLength
	LocalProtection
	BadResponse
	RemoteAccess
	RemoteInvalidRequest
	RemoteOperational
	RetryExceeded
	RNRRetryExceeded
	Flushed
	LocalOperation // the request itself cannot be: IBTA's local QP operation error
)

var statusNames = [...]string{"success", "local length error", "local protection error",
	"bad response error", "remote access error", "remote invalid request",
	"remote operational error", "transport retry counter exceeded", "RNR retry counter exceeded",
	"work request flushed",
	"local QP operation error"}

func (s Status) String() string { return statusNames[s] }

// Completion tells the end of one work request.
type Completion struct {
	ID     uint64
	QPN    ib.QPN
	Op     Op
	Status Status
	Bytes  int
	Imm    uint32 // if HasImm
	HasImm bool
	At     unit.Time // when it ended

	Solicited bool   // receives: the peer asked for an event
	SourceQP  ib.QPN // receives of datagrams
}
