package qp

import (
	"errors"
	"fmt"

	"github.com/rocelab/rocelab/roce/ib"
)

// Op is what a work request does.
type Op uint8

// The operations. Receive occurs in completions only.
const (
	Send Op = iota
	SendImm
	Write
	WriteImm
	Read
	FetchAdd
	CmpSwap
	Receive
	operations = Receive // of the send queue
)

var opNames = [...]string{"send", "send_imm", "write", "write_imm", "read", "fetch_add",
	"cmp_swap", "receive"}

func (o Op) String() string { return opNames[o] }

// Fetches reports whether the answer brings bytes from the peer, into the local memory of the
// work request.
func (o Op) Fetches() bool { return o == Read || o.Atomic() }

// Atomic reports FETCH_ADD and CMP_SWAP.
func (o Op) Atomic() bool { return o == FetchAdd || o == CmpSwap }

// Local names bytes in a region of the caller's own.
type Local struct {
	Key    uint32
	VA     uint64
	Length int // 0 to MaxMessage
}

// Remote names where in the peer's memory a WRITE, READ or atomic goes.
type Remote struct {
	VA   uint64
	RKey uint32
}

// takesReceive reports whether the peer needs a receive for it.
func (o Op) takesReceive() bool { return o == Send || o == SendImm || o == WriteImm }

// AtomicLen is what an atomic works on: an integer of 64 bits, in the byte order of the machine
// whose memory it is. IBTA 9.4.5.
const AtomicLen = 8

// WR is a work request for the send queue.
type WR struct {
	ID     uint64 // comes back in the completion
	Op     Op
	Local  Local  // bytes to send; for what fetches, where they go
	Remote Remote // WRITE, READ and atomics
	Imm    uint32 // with immediate only
	Atomic ib.AtomicOperands

	// Inline, if not nil, is what to send in place of Local: copied when it is posted, at most
	// Config.MaxInline bytes.
	Inline    []byte
	Solicited bool // SEND and WRITE with immediate: the peer's completion is an event
	Fence     bool // wait for the READs and atomics before it, IBTA 10.8.3.3
}

// ReceiveWR is a buffer for one incoming SEND, or a place for one immediate.
type ReceiveWR struct {
	ID    uint64
	Local Local
}

// MaxMessage bounds one message. IBTA 9.7.7.3.
const MaxMessage = 1 << 31

// Errors of posting. They say nothing about the network.
var (
	ErrQueueFull = errors.New("work queue or completion queue is full")
	ErrState     = errors.New("QP is in the wrong state")
	ErrOp        = errors.New("operation is not offered by this QP")
	ErrLocal     = errors.New("local protection: not bytes of a region of this domain")
	ErrLength    = fmt.Errorf("message is longer than %d bytes", MaxMessage)
)

// seq is a PSN that does not wrap: its low 24 bits are the PSN. A requester counts in these, so
// that what is posted may be any number of packets; only what is in flight is bounded.
type seq int64

func (s seq) psn() ib.PSN { return ib.MakePSN(uint32(s)) }

// near is the position nearest to s that has this PSN.
func (s seq) near(p ib.PSN) seq { return s + seq(p.Sub(s.psn())) }

// sendWQE is a work request in the send queue.
type sendWQE struct {
	id      uint64
	op      Op
	imm     uint32
	remote  Remote
	atomic  ib.AtomicOperands
	local   span
	ssn     uint64 // send sequence number: counts requests from 1, IBTA 9.7.7.2
	flags   wqeFlags
	first   seq // of its first packet, or of the first of the answer to it
	packets seq // PSNs that it takes
}

type wqeFlags struct {
	solicited, fence bool
	waits            bool // its first packet went without credit, and the rest waits for that
}

func (w *sendWQE) end() seq { return w.first + w.packets }

type receiveWQE struct {
	id    uint64
	local span
}

// queue is a ring of fixed size; positions count up and never wrap in practice.
type queue[T any] struct {
	slots      []T
	head, tail uint64
}

func newQueue[T any](n int) queue[T] { return queue[T]{slots: make([]T, n)} }

func (q *queue[T]) at(pos uint64) *T { return &q.slots[pos%uint64(len(q.slots))] }
func (q *queue[T]) len() int         { return int(q.tail - q.head) }
func (q *queue[T]) full() bool       { return q.len() == len(q.slots) }

// push returns the new last slot; the queue must not be full.
func (q *queue[T]) push() *T {
	q.tail++
	return q.at(q.tail - 1)
}
