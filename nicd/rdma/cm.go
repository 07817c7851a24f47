package rdma

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/rocelab/rocelab/nicd/uverbs/abi"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// Params are what the ends of a connection tell each other by the connection manager.
type Params struct {
	// PrivateData is for the other program: at most 56 bytes in Dial, behind the header of RDMA CM,
	// and 196 in Accept. Who receives it gets all that the message has room for, zeros behind.
	PrivateData []byte
	ReadDepth   uint8 // READs and atomics that we want in flight: initiator depth
	Resources   uint8 // READs and atomics of the peer that we keep: responder resources
	RetryCount  uint8 // Dial: retransmissions without progress, of both sides, 0 to 7
	RNRRetry    uint8 // of the other side, when we are not ready to receive, 0 to 7; 7 is for ever
}

// DefaultParams retries as often as the messages can say, for ever when the peer is not ready to
// receive, and has room for 16 READs and atomics each way, which is our choice.
func DefaultParams() Params {
	return Params{ReadDepth: 16, Resources: 16, RetryCount: 7, RNRRetry: 7}
}

func (p *Params) abi() abi.Params {
	return abi.Params{Private: p.PrivateData, Depth: p.ReadDepth, Resources: p.Resources,
		Retry: p.RetryCount, RNRRetry: p.RNRRetry}
}

func params(p *abi.Params) Params {
	return Params{PrivateData: p.Private, ReadDepth: p.Depth, Resources: p.Resources,
		RetryCount: p.Retry, RNRRetry: p.RNRRetry}
}

// link is a connection, or one in the making, by what the daemon tells of it.
type link struct {
	up   chan struct{} // closed when it stands
	over chan struct{} // closed when it has ended, or will not come about
	said abi.CM        // what closed up
	last abi.CM        // what closed over
	qp   *QP           // that it connects, or will; under Device.mu
}

func newLink() *link { return &link{up: make(chan struct{}), over: make(chan struct{})} }

// told is an event of the connection manager. It is for the goroutine that reads.
func (d *Device) told(body []byte) {
	e, err := decodeCM(body)
	if err != nil {
		return // of a daemon that knows more than we do
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if e.Kind == abi.CMRequest {
		d.requested(e)
		return
	}
	l := d.links[e.Conn]
	if l == nil {
		return
	}
	if e.Kind == abi.CMUp {
		select {
		case <-l.up: // once is enough
		default:
			l.said = e
			close(l.up)
		}
		return
	}
	delete(d.links, e.Conn)
	l.end(e)
}

// end closes over, once the link is not in the device's any more, whose mu is held.
func (l *link) end(e abi.CM) {
	l.last = e
	select {
	case <-l.up:
		if l.qp != nil {
			l.qp.broken(ErrDisconnected)
		}
	default: // the QP was not used, and may be connected again
	}
	close(l.over)
}

// unlink ends the links of a QP that was closed, or of all if q is nil: nobody will tell of them.
func (d *Device) unlink(q *QP) {
	for number, l := range d.links {
		if q == nil || l.qp == q {
			delete(d.links, number)
			l.end(abi.CM{Kind: abi.CMDown})
		}
	}
}

// requested puts a request into its listener's queue, which holds as many as the daemon lets wait.
func (d *Device) requested(e abi.CM) {
	l := d.ports[e.Listener]
	if l == nil {
		return // closed meanwhile: the daemon rejects it
	}
	r := &Request{PrivateData: e.Params.Private, From: e.From, QPN: e.QPN,
		To: netip.AddrPortFrom(e.To, e.Port), Params: params(&e.Params), dev: d, number: e.Conn,
		link: newLink()}
	select {
	case l.requests <- r:
		d.links[e.Conn] = r.link
	default: // of so many some have died here: the other end asks again
		go func() { _ = d.do(abi.CallHangUp, abi.Conn{Conn: e.Conn}, nil) }()
	}
}

// Listener takes connections to a port of RDMA CM's TCP port space.
type Listener struct {
	dev      *Device
	handle   uint32
	port     uint16
	requests chan *Request
	closed   chan struct{}
}

// Listen waits for connections to a port; 0 chooses one.
func (d *Device) Listen(port uint16) (*Listener, error) {
	l := &Listener{dev: d, requests: make(chan *Request, abi.Backlog),
		closed: make(chan struct{})}
	d.mu.Lock()
	d.dialed++
	l.handle = d.dialed | abi.Ours
	d.ports[l.handle] = l // before the first request can come
	d.mu.Unlock()
	var made abi.Listening
	if err := d.do(abi.CallListen, abi.Listen{Handle: l.handle, Port: port}, &made); err != nil {
		d.mu.Lock()
		delete(d.ports, l.handle)
		d.mu.Unlock()
		return nil, err
	}
	l.port = made.Port
	return l, nil
}

// Port is where it listens.
func (l *Listener) Port() uint16 { return l.port }

// Accept waits for the next request, until ctx ends.
func (l *Listener) Accept(ctx context.Context) (*Request, error) {
	for {
		select {
		case r := <-l.requests:
			if r.link.ended() { // who asked has given up
				continue
			}
			return r, nil
		case <-l.closed:
			return nil, ErrClosed
		case <-l.dev.Done():
			return nil, l.dev.Err()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *link) ended() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

// Close ends the listener. Requests that nobody took are rejected.
func (l *Listener) Close() error {
	d := l.dev
	d.mu.Lock()
	_, open := d.ports[l.handle]
	delete(d.ports, l.handle)
	d.mu.Unlock()
	if !open {
		return ErrClosed
	}
	close(l.closed)
	err := d.do(abi.CallUnlisten, abi.Handle{Handle: l.handle}, nil)
	for {
		select {
		case r := <-l.requests:
			_ = r.Reject(nil)
		default:
			return err
		}
	}
}

// Request is somebody who wants a connection. It must be accepted or rejected.
type Request struct {
	PrivateData []byte
	From        netip.AddrPort
	To          netip.AddrPort
	QPN         ib.QPN
	Params      Params // what the other end asks for

	dev    *Device
	number uint32
	link   *link
}

// Accept connects q, an RC QP in INIT, and answers. The connection stands when it returns. To
// receive from the first moment on, post receives before.
func (r *Request) Accept(ctx context.Context, q *QP, p Params) (*Conn, error) {
	_, err := r.dev.call(ctx, abi.CallAccept, abi.Accept{Conn: r.number, QP: q.handle,
		Params: p.abi()}, nil, 0)
	if err != nil {
		return nil, err
	}
	q.state.Store(uint32(qp.StateRTS))
	r.dev.mu.Lock()
	r.link.qp = q
	r.dev.mu.Unlock()
	c := &Conn{QP: q, Remote: r.From, number: r.number, link: r.link}
	return c, c.stand(ctx)
}

// Reject refuses, with the reason 28: consumer reject.
func (r *Request) Reject(private []byte) error {
	r.dev.forgetLink(r.number)
	return r.dev.do(abi.CallReject, abi.Conn{Conn: r.number, Private: private}, nil)
}

// Conn is a connection that the connection manager made.
type Conn struct {
	QP          *QP
	PrivateData []byte // that came with the answer; empty for the passive side
	Params      Params // of the answer: what the other end keeps and wants in flight
	Remote      netip.AddrPort

	number uint32
	link   *link
}

// Dial connects q, an RC QP in INIT, to who listens at the other end. If the other end refuses, the
// error is a *Rejection.
func (d *Device) Dial(ctx context.Context, to netip.AddrPort, q *QP, p Params) (*Conn, error) {
	c := &Conn{QP: q, Remote: to, link: newLink()}
	c.link.qp = q
	c.number = d.newLink(c.link)
	_, err := d.call(ctx, abi.CallDial, abi.Dial{Conn: c.number, QP: q.handle, To: to,
		Params: p.abi()}, nil, 0)
	if err != nil {
		d.hangUp(c.number)
		return nil, err
	}
	if err := c.stand(ctx); err != nil {
		return nil, err
	}
	q.state.Store(uint32(qp.StateRTS))
	c.PrivateData, c.Params = c.link.said.Params.Private, params(&c.link.said.Params)
	return c, nil
}

// newLink numbers a connection that we ask for.
func (d *Device) newLink(l *link) uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dialed++
	number := d.dialed | abi.Ours
	d.links[number] = l
	return number
}

func (d *Device) forgetLink(number uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.links, number)
}

// hangUp gives a connection up, in whatever state.
func (d *Device) hangUp(number uint32) {
	d.forgetLink(number)
	if d.Err() == nil {
		_ = d.do(abi.CallHangUp, abi.Conn{Conn: number}, nil) // it may never have been
	}
}

// stand waits until the connection stands.
func (c *Conn) stand(ctx context.Context) error {
	d := c.QP.pd.dev
	select {
	case <-c.link.up:
		return nil
	case <-c.link.over:
		select {
		case <-c.link.up: // it stood, and has ended meanwhile
			return nil
		default:
			return ending(&c.link.last)
		}
	case <-d.Done():
		return d.Err()
	case <-ctx.Done():
		d.hangUp(c.number)
		return ctx.Err()
	}
}

// ending is why a connection did not come about.
func ending(e *abi.CM) error {
	switch e.Kind {
	case abi.CMRejected:
		return &Rejection{Reason: e.Reason, PrivateData: e.Params.Private}
	case abi.CMUnreachable:
		return ErrTimeout
	}
	return ErrDisconnected
}

// Disconnect ends the connection on both sides; its QP goes to ERR. It returns when the other end
// has answered, or when the connection manager has given it up.
func (c *Conn) Disconnect(ctx context.Context) error {
	d := c.QP.pd.dev
	if c.link.ended() {
		return nil
	}
	_, err := d.call(ctx, abi.CallDisconnect, abi.Conn{Conn: c.number}, nil, 0)
	if err != nil {
		if c.link.ended() { // the other end was faster
			return nil
		}
		return err
	}
	select {
	case <-c.link.over:
		return nil
	case <-d.Done():
		return d.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Disconnected is closed when either side has ended the connection, when the QP or the device was
// closed, and when the daemon has gone.
func (c *Conn) Disconnected() <-chan struct{} { return c.link.over }

// Rejection is the refusal of the other end. It is an ErrRejected.
type Rejection struct {
	// Reason is of enum ib_cm_rej_reason, Linux include/rdma/ib_cm.h. 8: nobody listens there; 28:
	// the program refused.
	Reason      uint16
	PrivateData []byte
}

// Error says why.
func (r *Rejection) Error() string {
	return fmt.Sprintf("%v: %v", ErrRejected, ib.RejectReason(r.Reason))
}

// Unwrap is ErrRejected.
func (r *Rejection) Unwrap() error { return ErrRejected }
