package rdma

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/rocelab/rocelab/nicd/uverbs/abi"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// Type is the service of a QP.
type Type uint8

// The services. IBTA 9.7 and 9.8.3.
const (
	RC Type = iota // reliable connection
	UD             // unreliable datagram
)

// QPConfig is what a QP is made with. Zero fields stand for the daemon's defaults, see Attributes,
// but for those that say otherwise.
type QPConfig struct {
	Type      Type
	SendCQ    *CQ
	ReceiveCQ *CQ  // nil: SendCQ
	SRQ       *SRQ // nil: receives are the QP's own

	SendDepth    int // work requests
	ReceiveDepth int
	MaxInline    int // bytes, 0 is none
	MTU          int // path MTU at most; UD: largest message

	DSCP      *uint8 // nil: the NIC's for data
	Algorithm string // of congestion control, "": the NIC's
	QKey      uint32 // UD
}

// QP is a queue pair. Make it with PD.CreateQP.
type QP struct {
	pd     *PD
	cfg    QPConfig
	handle uint32
	qpn    ib.QPN
	psn    ib.PSN
	in     ReceiveAttributes
	out    SendAttributes

	state  atomic.Uint32         // as far as the program has taken it
	err    atomic.Pointer[error] // why it is of no more use
	closed atomic.Bool

	sent         uint32 // posted so far; under Device.post
	received     uint32
	ended        atomic.Uint32 // of those, that have ended
	receivesDone atomic.Uint32
}

// Remote is the peer of a QP.
type Remote struct {
	QPN ib.QPN
	PSN ib.PSN // it sends from here on
	Path

	// Attributes that differ from the QP's own (ReceiveAttributes, SendAttributes); nil: none do.
	Receive *ReceiveAttributes
	Send    *SendAttributes
}

// ReceiveAttributes are those of the transition from INIT to RTR. ReadyToReceive takes Remote and
// PSN from its other argument.
type ReceiveAttributes = qp.ReceiveAttributes

// SendAttributes are those of the transition from RTR to RTS.
type SendAttributes = qp.SendAttributes

// CreateQP makes a QP in INIT (UD: in RTS): receives may be posted.
func (p *PD) CreateQP(c QPConfig) (*QP, error) {
	if c.ReceiveCQ == nil {
		c.ReceiveCQ = c.SendCQ
	}
	if c.SendCQ == nil || c.Type > UD {
		return nil, fmt.Errorf("create QP: %w: no completion queue, or no such type", ErrInvalid)
	}
	req := abi.CreateQP{PD: p.handle, UD: c.Type == UD, SendCQ: c.SendCQ.handle,
		ReceiveCQ: c.ReceiveCQ.handle, SendDepth: c.SendDepth, ReceiveDepth: c.ReceiveDepth,
		MaxInline: c.MaxInline, MTU: c.MTU, DSCP: c.DSCP, Algorithm: c.Algorithm, QKey: c.QKey}
	if c.SRQ != nil {
		req.SRQ = c.SRQ.handle
	}
	var made abi.CreatedQP
	if err := p.dev.do(abi.CallCreateQP, req, &made); err != nil {
		return nil, err
	}
	c.SendDepth, c.ReceiveDepth, c.MTU = made.Send, made.Receive, made.MTU
	q := &QP{pd: p, cfg: c, handle: made.Handle, qpn: made.QPN, psn: made.PSN, in: made.In,
		out: made.Out}
	q.out.PSN = q.psn
	q.state.Store(uint32(qp.StateInit))
	if c.Type == UD {
		q.state.Store(uint32(qp.StateRTS))
	}
	p.dev.mu.Lock()
	p.dev.queues[q.handle] = q
	p.dev.mu.Unlock()
	return q, nil
}

// QPN is the queue pair's number, for the peer to know.
func (q *QP) QPN() ib.QPN { return q.qpn }

// PSN is what Connect sends from, for the peer to know.
func (q *QP) PSN() ib.PSN { return q.psn }

// Config is what the QP was made with, with the depths that it has.
func (q *QP) Config() QPConfig { return q.cfg }

// ReceiveAttributes are the QP's own, for a caller to change.
func (q *QP) ReceiveAttributes() ReceiveAttributes { return q.in }

// SendAttributes are the QP's own, for a caller to change.
func (q *QP) SendAttributes() SendAttributes { return q.out }

// Connect takes an RC QP from INIT to RTS with its peer.
func (q *QP) Connect(ctx context.Context, r Remote) error {
	if err := q.ReadyToReceive(ctx, r); err != nil {
		return err
	}
	out := q.out
	if r.Send != nil {
		out = *r.Send
	}
	return q.ReadyToSend(out)
}

// ReadyToReceive takes an RC QP from INIT to RTR with its peer: what the peer sends is received.
func (q *QP) ReadyToReceive(ctx context.Context, r Remote) error {
	in := q.in
	if r.Receive != nil {
		in = *r.Receive
	}
	_, err := q.pd.dev.call(ctx, abi.CallReadyReceive, abi.ReadyReceive{Handle: q.handle,
		QPN: r.QPN, PSN: r.PSN, Path: abi.Path(r.Path), Attributes: in}, nil, 0)
	if err == nil {
		q.state.CompareAndSwap(uint32(qp.StateInit), uint32(qp.StateRTR))
	}
	return err
}

// ReadyToSend takes an RC QP from RTR to RTS: work requests may be posted.
func (q *QP) ReadyToSend(a SendAttributes) error {
	err := q.pd.dev.do(abi.CallReadySend, abi.ReadySend{Handle: q.handle, Attributes: a}, nil)
	if err == nil {
		q.state.CompareAndSwap(uint32(qp.StateRTR), uint32(qp.StateRTS))
	}
	return err
}

// Fail takes the QP to ERR: everything posted completes as flushed.
func (q *QP) Fail() error {
	return q.pd.dev.do(abi.CallFailQP, abi.Handle{Handle: q.handle}, nil)
}

// State asks the daemon for the QP's state.
func (q *QP) State() (State, error) {
	var st abi.QPState
	err := q.pd.dev.do(abi.CallQueryQP, abi.Handle{Handle: q.handle}, &st)
	return st.State, err
}

// Err is why the QP can do nothing any more: ErrDaemonGone, ErrClosed, or the first error that a
// completion or an event told of; nil if it can.
func (q *QP) Err() error {
	if q.closed.Load() {
		return ErrClosed
	}
	if err := q.pd.dev.Err(); err != nil {
		return err
	}
	if err := q.err.Load(); err != nil {
		return *err
	}
	return nil
}

// broken notes the first reason why the QP is of no more use.
func (q *QP) broken(why error) { q.err.CompareAndSwap(nil, &why) }

// Close destroys the QP. Its completions that were not polled stay in their queues.
func (q *QP) Close() error {
	if q.closed.Swap(true) {
		return ErrClosed
	}
	d := q.pd.dev
	err := d.do(abi.CallDestroyQP, abi.Handle{Handle: q.handle}, nil)
	d.mu.Lock()
	delete(d.queues, q.handle)
	d.unlink(q)
	d.mu.Unlock()
	return err
}
