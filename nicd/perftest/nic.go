package perftest

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/rdma"
	"github.com/rocelab/rocelab/roce/ib"
)

// adapter is what a session needs of a NIC: an *rdma.Device, or a model of one in tests.
type adapter interface {
	Query() (rdma.Attributes, error)
	Now() unit.Time
	Lost() time.Duration // of its time against real time, until now
	// open makes the QPs of a test, with one completion queue and so much memory.
	open(c *Config, lay *layout, depths depths) (*resources, error)
	// listen waits for connections by the connection manager, each of which must stand within
	// the patience from when it is asked for; dial makes one.
	listen(port uint16, patience time.Duration) (listener, error)
	dial(ctx context.Context, to netip.AddrPort, q queuePair, p rdma.Params) (connection, error)
	// control makes a QP for the messages that are exchanged by the connection manager.
	control(size int) (*resources, error)
}

// depths are those of the queues of every QP.
type depths struct{ send, receive int }

// resources are QPs and what belongs to them.
type resources struct {
	mem     *rdma.Memory
	cq      completionQueue
	qps     []queuePair
	connect func(ctx context.Context, qp int, own, peer Keys, mtu int) error
	close   func()
}

// listener and connection are those of the connection manager.
type listener interface {
	accept(ctx context.Context, q queuePair, p rdma.Params) (connection, error)
	Close() error
}

type connection interface {
	Disconnect(ctx context.Context) error
	Disconnected() <-chan struct{}
}

// device is a NIC of a running nicd.
type device struct{ *rdma.Device }

func (d device) open(c *Config, lay *layout, n depths) (*resources, error) {
	qc := rdma.QPConfig{SendDepth: n.send, ReceiveDepth: max(n.receive, 1),
		MaxInline: max(c.Inline, 0), DSCP: c.dscp()}
	return d.make(qc, lay.bytes(), c.QPs, c)
}

func (d device) control(size int) (*resources, error) {
	return d.make(rdma.QPConfig{SendDepth: 1, ReceiveDepth: controlReceives},
		size*(controlReceives+1), 1, nil)
}

// make makes all of it, or nothing.
func (d device) make(qc rdma.QPConfig, size, count int, c *Config) (r *resources, err error) {
	var undo []func()
	undoAll := func() {
		for i := len(undo) - 1; i >= 0; i-- {
			undo[i]()
		}
	}
	defer func() {
		if err != nil {
			undoAll()
		}
	}()
	r = &resources{close: undoAll}
	pd, err := d.AllocPD()
	if err != nil {
		return nil, fmt.Errorf("allocate a protection domain: %w", err)
	}
	undo = append(undo, func() { _ = pd.Free() })
	cq, err := d.CreateCQ(count * (qc.SendDepth + qc.ReceiveDepth))
	if err != nil {
		return nil, fmt.Errorf("create a completion queue: %w", err)
	}
	undo = append(undo, func() { cq.Close() })
	access := rdma.Access{LocalWrite: true, RemoteWrite: true, RemoteRead: true,
		RemoteAtomic: true}
	mem, err := pd.Allocate(size, access)
	if err != nil {
		return nil, fmt.Errorf("allocate %d bytes: %w", size, err)
	}
	undo = append(undo, func() { _ = mem.Free() })
	qc.SendCQ, r.cq, r.mem = cq, cq, mem
	qps := make([]*rdma.QP, count)
	for i := range qps {
		q, err := pd.CreateQP(qc)
		if err != nil {
			return nil, fmt.Errorf("create QP %d of %d: %w", i+1, count, err)
		}
		undo = append(undo, func() { q.Close() })
		qps[i] = q
		r.qps = append(r.qps, q)
	}
	r.connect = func(ctx context.Context, qp int, own, peer Keys, mtu int) error {
		return connect(ctx, qps[qp], c, own, peer, mtu)
	}
	return r, nil
}

// minRNRTimer is perftest's: 0.64 ms until a SEND without a receive is tried again.
const minRNRTimer = 12

// connect brings a QP to RTS with perftest's attributes.
func connect(ctx context.Context, q *rdma.QP, c *Config, own, peer Keys, mtu int) error {
	receive, send := q.ReceiveAttributes(), q.SendAttributes()
	receive.MTU, receive.Resources = mtu, own.OutReads
	receive.MinRNRTimer = ib.RNRTimer(minRNRTimer)
	send.PSN, send.Timeout, send.RetryCount = own.PSN, c.Timeout, c.Retries
	send.RNRRetry, send.ReadDepth = 7, min(peer.OutReads, own.OutReads)
	return q.Connect(ctx, rdma.Remote{QPN: peer.QPN, PSN: peer.PSN,
		Path:    rdma.Path{IP: peer.GID, Source: own.GID, DSCP: c.dscp()},
		Receive: &receive, Send: &send})
}

// dscp is what packets carry; nil is the NIC's own. A service level becomes the class selector of
// the same number, RFC 2474 4.2.2.
func (c *Config) dscp() *uint8 {
	v := c.TrafficClass >> 2
	if c.TrafficClass == 0 {
		v = c.ServiceLevel << 3
	}
	if v == 0 {
		return nil
	}
	return &v
}

type deviceListener struct {
	*rdma.Listener
	patience time.Duration
}

func (d device) listen(port uint16, patience time.Duration) (listener, error) {
	l, err := d.Listen(port)
	return deviceListener{l, patience}, err
}

func (l deviceListener) accept(ctx context.Context, q queuePair,
	p rdma.Params) (connection, error) {
	r, err := l.Accept(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, l.patience, errSilent)
	defer cancel()
	conn, err := r.Accept(ctx, q.(*rdma.QP), p)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("connection of %v: %w", r.From, context.Cause(ctx))
	}
	return conn, err
}

func (d device) dial(ctx context.Context, to netip.AddrPort, q queuePair,
	p rdma.Params) (connection, error) {
	return d.Dial(ctx, to, q.(*rdma.QP), p)
}
