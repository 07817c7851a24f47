package ib

import (
	"fmt"
	"time"
)

// MessageKind is which message a REJ or an MRA is about.
type MessageKind uint8

// The kinds. Linux drivers/infiniband/core/cm_msgs.h, enum cm_msg_response.
const (
	AboutREQ MessageKind = iota
	AboutREP
	AboutOther // no answer to a REQ or REP: in a REJ, a timeout
)

// TimeOf is how long a code of the connection manager is: 4.096 us x 2^code, code 0 to 31.
func TimeOf(code uint8) time.Duration { return 4096 * time.Nanosecond << (code & 31) }

// AckTimeout is the code of the retransmission timeout on a path: twice its packet lifetime and
// the delay until the receiver acknowledges, both codes too. Codes double, so we take the larger
// and one more if the other is at least half as long. Linux drivers/infiniband/core/cm.c,
// cm_ack_timeout.
func AckTimeout(lifetime, delay uint8) uint8 {
	trip := lifetime + 1 // there and back
	code := max(trip, delay)
	if min(trip, delay)+1 >= code {
		code++
	}
	return min(code, 31)
}

// MTUCode is the path MTU in a REQ: 1 is 256 bytes, 5 is 4096.
type MTUCode uint8

// CodeOfMTU is the code of a path MTU of 256 to 4096 bytes, 0 if it is none.
func CodeOfMTU(bytes int) MTUCode {
	for c := MTUCode(1); c <= 5; c++ {
		if c.Bytes() == bytes {
			return c
		}
	}
	return 0
}

// Bytes is the path MTU, 0 if the code is not defined.
func (c MTUCode) Bytes() int {
	if c < 1 || c > 5 {
		return 0
	}
	return 128 << c
}

// SIDRStatus is whether a datagram service was found.
type SIDRStatus uint8

// The statuses. Linux include/rdma/ib_cm.h, enum ib_cm_sidr_status.
const (
	SIDRSuccess SIDRStatus = iota
	SIDRUnsupported
	SIDRReject
	SIDRNoQP
	SIDRRedirect
	SIDRUnsupportedVersion
)

var sidrNames = [...]string{"success", "service not supported", "rejected", "no QP", "redirect",
	"version not supported"}

func (s SIDRStatus) String() string {
	if int(s) < len(sidrNames) {
		return sidrNames[s]
	}
	return fmt.Sprintf("SIDR status %d", uint8(s))
}

// RejectReason is why a REJ was sent.
type RejectReason uint16

// The reasons. Linux include/rdma/ib_cm.h, enum ib_cm_rej_reason.
const (
	RejNoQP                RejectReason = 1
	RejNoEEC               RejectReason = 2
	RejNoResources         RejectReason = 3
	RejTimeout             RejectReason = 4
	RejUnsupported         RejectReason = 5
	RejInvalidCommID       RejectReason = 6
	RejInvalidCommInstance RejectReason = 7
	RejInvalidServiceID    RejectReason = 8
	RejInvalidTransport    RejectReason = 9
	RejStaleConnection     RejectReason = 10
	RejRDCNotExist         RejectReason = 11
	RejInvalidGID          RejectReason = 12
	RejInvalidLID          RejectReason = 13
	RejInvalidSL           RejectReason = 14
	RejInvalidTrafficClass RejectReason = 15
	RejInvalidHopLimit     RejectReason = 16
	RejInvalidPacketRate   RejectReason = 17
	RejInvalidAltGID       RejectReason = 18
	RejInvalidAltLID       RejectReason = 19
	RejInvalidAltSL        RejectReason = 20
	RejInvalidAltClass     RejectReason = 21
	RejInvalidAltHopLimit  RejectReason = 22
	RejInvalidAltRate      RejectReason = 23
	RejCMRedirect          RejectReason = 24
	RejPortRedirect        RejectReason = 25
	RejInvalidMTU          RejectReason = 26
	RejInsufficient        RejectReason = 27
	RejConsumer            RejectReason = 28
	RejInvalidRNRRetry     RejectReason = 29
	RejDuplicateCommID     RejectReason = 30
	RejInvalidVersion      RejectReason = 31
	RejInvalidFlowLabel    RejectReason = 32
	RejInvalidAltFlowLabel RejectReason = 33
	RejVendorOption        RejectReason = 35
)

// rejectNames by number.
var rejectNames = [...]string{1: "no QP", "no EE context", "no resources", "timeout",
	"unsupported request", "invalid communication id", "invalid communication instance",
	"invalid service id", "invalid transport", "stale connection", "RDC does not exist",
	"invalid GID", "invalid LID", "invalid service level", "invalid traffic class",
	"invalid hop limit", "invalid packet rate", "invalid alternate GID",
	"invalid alternate LID", "invalid alternate service level",
	"invalid alternate traffic class", "invalid alternate hop limit",
	"invalid alternate packet rate", "redirect of the connection manager", "redirect of the port",
	"invalid path MTU", "insufficient responder resources", "consumer", "invalid RNR retry count",
	"duplicate communication id", "invalid class version", "invalid flow label",
	"invalid alternate flow label", 35: "vendor option not supported"}

func (r RejectReason) String() string {
	if int(r) < len(rejectNames) && rejectNames[r] != "" {
		return rejectNames[r]
	}
	return fmt.Sprintf("reason %d", uint16(r))
}
