package qp

import "github.com/rocelab/rocelab/roce/ib"

// fault says why the responder does not execute a request. All but faultNotReady end the QP: they
// are what IBTA calls class C.
type fault uint8

const (
	noFault        fault = iota
	faultNotReady        // no receive is posted: come again
	faultSequence        // an opcode that may not follow the one before
	faultOpcode          // an opcode that is not offered: SEND with invalidate
	faultPacket          // a payload that its place in the message does not allow
	faultMessage         // a message longer than its receive, or not what its RETH said
	faultTooMany         // more READs and atomics than were agreed
	faultAlignment       // an atomic across two words
	faultAccess          // memory that the peer may not touch
	faultLocal           // memory of ours that is gone
)

// faults tells of each what the peer is told, how the receive that it took ends, and who counts it.
var faults = [...]struct {
	nak     ib.Syndrome
	receive Status
	count   func(*Counters) *uint64
}{
	faultSequence: {ib.NAKInvalidRequest, RemoteInvalidRequest,
		func(c *Counters) *uint64 { return &c.RespOpcodeSequence }},
	faultOpcode: {ib.NAKInvalidRequest, RemoteInvalidRequest,
		func(c *Counters) *uint64 { return &c.RespUnsupportedOpcode }},
	faultPacket: {ib.NAKInvalidRequest, RemoteInvalidRequest,
		func(c *Counters) *uint64 { return &c.RespPacketLength }},
	faultMessage: {ib.NAKInvalidRequest, LocalLength,
		func(c *Counters) *uint64 { return &c.RespLocalLengthError }},
	faultTooMany: {ib.NAKInvalidRequest, RemoteInvalidRequest,
		func(c *Counters) *uint64 { return &c.RespTooManyReads }},
	faultAlignment: {ib.NAKInvalidRequest, RemoteInvalidRequest,
		func(c *Counters) *uint64 { return &c.RespMisalignedAtomic }},
	faultAccess: {ib.NAKRemoteAccess, RemoteAccess,
		func(c *Counters) *uint64 { return &c.RespRemoteAccessErrors }},
	faultLocal: {ib.NAKRemoteOperational, LocalProtection,
		func(c *Counters) *uint64 { return &c.RespRemoteOperationalErrors }},
}

// refuse ends the QP after a request that must not be executed. The receive that the message took
// ends with it; a NAK that is owed still goes out.
func (q *QP) refuse(f fault) {
	*faults[f].count(q.counters)++
	if faults[f].nak == ib.NAKInvalidRequest {
		q.counters.RespRemoteInvalidRequest++
	}
	if q.resp.holds && q.resp.verb == ib.Send {
		q.completeReceive(faults[f].receive, nil)
	}
	q.flush()
}
