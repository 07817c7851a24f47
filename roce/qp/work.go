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
	Receive
)

var opNames = [...]string{"send", "send_imm", "write", "write_imm", "receive"}

func (o Op) String() string { return opNames[o] }

// Local names bytes in a region of the caller's own.
type Local struct {
	Key    uint32
	VA     uint64
	Length int // 0 to MaxMessage
}

// Remote names where in the peer's memory a WRITE goes.
type Remote struct {
	VA   uint64
	RKey uint32
}

// WR is a work request for the send queue.
type WR struct {
	ID     uint64 // comes back in the completion
	Op     Op
	Local  Local
	Remote Remote // WRITE only
	Imm    uint32 // with immediate only
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
	ErrLocal     = errors.New("local protection: not bytes of a region of this domain")
	ErrLength    = fmt.Errorf("message is longer than %d bytes", MaxMessage)
)

// sendWQE is a work request in the send queue.
type sendWQE struct {
	wr      WR
	data    []byte
	psn     ib.PSN // of its first packet
	packets int
}

type receiveWQE struct {
	id   uint64
	data []byte
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
