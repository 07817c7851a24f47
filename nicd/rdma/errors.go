package rdma

import "errors"

// Errors of this package. Those of calls to the daemon wrap one of them, or say what the daemon
// found wrong.
var (
	// ErrDaemonGone says that the daemon ended, or ended the connection with this program. Nothing
	// of the device is of use any more.
	ErrDaemonGone = errors.New("nicd has gone")
	// ErrClosed says that the program closed the object itself.
	ErrClosed = errors.New("closed")
	// ErrQueueFull says that a work queue has no room: poll completions and post again.
	ErrQueueFull = errors.New("work queue is full")
	// ErrState says that the QP is not in a state for it.
	ErrState = errors.New("QP is in the wrong state")
	// ErrInvalid says that a work request or an argument cannot be.
	ErrInvalid = errors.New("invalid")
	// ErrCQ says that a completion queue overflowed: completions are lost, and the QPs that used
	// it are in ERR. IBTA 10.2.6.
	ErrCQ = errors.New("completion queue overflowed")
	// ErrLimit says that the program has as many of something as the daemon gives one program.
	ErrLimit = errors.New("limit of a program")
	// ErrInUse says that something else still needs it.
	ErrInUse = errors.New("in use")
	// ErrPath says that there is no way to the host: no route, no answer from the neighbour, no
	// address of our own in that IP version.
	ErrPath = errors.New("no path")
	// ErrRejected says that the other end refused a connection.
	ErrRejected = errors.New("connection rejected")
	// ErrTimeout says that the other end did not answer the connection manager.
	ErrTimeout = errors.New("no answer from the other end")
	// ErrDisconnected says that the connection has ended.
	ErrDisconnected = errors.New("disconnected")

	errFatal = errors.New("QP is in error")
)
