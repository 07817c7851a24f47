package perftest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/rocelab/rocelab/nicd/rdma"
)

// controlReceives is the number of receives posted on the control QP. A peer sends nothing before
// it has our answer, so that two would do.
const controlReceives = 4

// control is the exchange over a QP that the connection manager made, one SEND a message.
type control struct {
	ctx    context.Context
	c      *Config
	res    *resources
	conn   connection
	client bool

	sent     int // messages
	done     int // of them, completed
	received int // messages taken
	arrived  []int
	ended    error         // why the QP carries nothing any more
	each     time.Duration // that a wait may take; 0: as long as the peer is there
}

// controlSlot is the room for one message: the keys are the longest.
const controlSlot = 64

func newControl(ctx context.Context, c *Config, res *resources, client bool) (*control, error) {
	k := &control{ctx: ctx, c: c, res: res, client: client}
	for n := range controlReceives {
		if err := k.postReceive(n); err != nil {
			return nil, fmt.Errorf("post receives for the exchange: %w", err)
		}
	}
	return k, nil
}

// slot is where message n is received. The one behind all of them is what we send from.
func (k *control) slot(n, size int) rdma.Segment {
	return k.res.mem.Segment(n%controlReceives*controlSlot, size)
}

func (k *control) postReceive(n int) error {
	_, err := k.res.qps[0].PostReceive(rdma.ReceiveWR{ID: receiveID(0, n),
		Local: k.slot(n, controlSlot)})
	return err
}

func (k *control) bound(d time.Duration) { k.each = d }

func (k *control) swap(out, in []byte) error {
	if k.client {
		if err := k.send(out); err != nil {
			return err
		}
		return k.receive(in)
	}
	if err := k.receive(in); err != nil {
		return err
	}
	return k.send(out)
}

func (k *control) keys(own Keys) (Keys, error) {
	in := make([]byte, keysBinaryLen)
	if err := k.swap(own.AppendBinary(nil), in); err != nil {
		return Keys{}, err
	}
	return ParseBinaryKeys(in)
}

// send sends one message and waits until the peer's NIC has it.
func (k *control) send(b []byte) error {
	const from = controlReceives * controlSlot
	copy(k.res.mem.Bytes[from:from+controlSlot], b)
	if err := k.wait(k.idle); err != nil { // for a probe
		return err
	}
	if err := k.post(rdma.WR{Op: rdma.Send, Local: k.res.mem.Segment(from, len(b))}); err != nil {
		return err
	}
	return k.wait(k.idle)
}

func (k *control) post(wr rdma.WR) error {
	k.sent++
	wr.ID = sendID(0, k.sent)
	_, err := k.res.qps[0].Post(wr)
	return err
}

// idle reports whether the peer's NIC has acknowledged all that was posted.
func (k *control) idle() bool { return k.done >= k.sent }

// probe asks whether the peer's NIC is there: it acknowledges a WRITE of no bytes, of which nobody
// else learns and which needs no key (IBTA 9.7.5.2.4). If it does not, the QP fails with its
// retries.
func (k *control) probe() error {
	if !k.idle() {
		return nil
	}
	return k.post(rdma.WR{Op: rdma.Write})
}

// receive takes the next message, which must have the size of b.
func (k *control) receive(b []byte) error {
	if err := k.wait(func() bool { return len(k.arrived) > 0 }); err != nil {
		return err
	}
	n, size := k.received, k.arrived[0]
	if size != len(b) {
		return fmt.Errorf("the peer sent %d bytes where %d were due: it may be of another "+
			"version, or run another test", size, len(b))
	}
	at := n % controlReceives * controlSlot
	copy(b, k.res.mem.Bytes[at:at+size])
	k.arrived = k.arrived[1:]
	k.received++
	if err := k.postReceive(n + controlReceives); err != nil && k.ended == nil {
		k.ended = err // the peer may have left after its last message
	}
	return nil
}

// wait takes completions until something has happened, or the peer has left. While a test runs,
// that may last; then the peer's NIC is probed, because one that dies with its daemon sends no word
// of the connection manager. Who has what it waits for is well, even if the QP has ended in the
// same moment: a peer that has our last answer disconnects, and that may be seen together with its
// message.
func (k *control) wait(happened func() bool) error {
	ctx, cancel := context.WithCancelCause(k.ctx)
	defer cancel(nil)
	if k.each > 0 {
		silent := time.AfterFunc(k.each, func() {
			cancel(fmt.Errorf("%w, now %v", errSilent, k.each))
		})
		defer silent.Stop()
	}
	if k.conn != nil {
		left := k.conn.Disconnected()
		go func() {
			select {
			case <-left:
				cancel(errLeft)
			case <-ctx.Done():
			}
		}()
	}
	var cs [controlReceives + 1]rdma.Completion
	for !happened() {
		if k.ended != nil {
			return k.why()
		}
		n, silent, err := k.look(ctx, cs[:])
		for i := range cs[:n] {
			k.complete(&cs[i])
		}
		switch {
		case n > 0:
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case silent:
			if err := k.probe(); err != nil {
				return err
			}
		case err != nil:
			return err
		}
	}
	return nil
}

// look waits for completions. In a wait without a bound it reports silence after the user's
// patience.
func (k *control) look(ctx context.Context, cs []rdma.Completion) (n int, silent bool, err error) {
	if k.each == 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, k.c.Patience)
		defer stop()
	}
	n, err = k.res.cq.Wait(ctx, cs)
	return n, errors.Is(ctx.Err(), context.DeadlineExceeded), err
}

// complete takes note of one completion.
func (k *control) complete(c *rdma.Completion) {
	_, count, receive := splitID(c.ID)
	switch {
	case c.Status == rdma.Success && receive:
		k.arrived = append(k.arrived, c.Bytes)
	case c.Status == rdma.Success:
		k.done = count
	case k.ended == nil || errors.Is(k.ended, errFlushed):
		k.ended = fmt.Errorf("exchange with the peer: %v: %v: %s", c.Op, c.Status,
			advices[c.Status])
		if c.Status == rdma.Flushed {
			k.ended = errFlushed
		}
	}
}

// errFlushed says that the QP is in ERR, and nothing tells why: the connection manager does.
var errFlushed = errors.New("the QP of the exchange with the peer is in error")

// why is the reason for which the QP has ended. The connection manager's is not far.
func (k *control) why() error {
	if !errors.Is(k.ended, errFlushed) || k.conn == nil {
		return k.ended
	}
	bound, cancel := context.WithTimeout(k.ctx, farewell)
	defer cancel()
	select {
	case <-k.conn.Disconnected():
		return errLeft
	case <-bound.Done():
		if k.ctx.Err() != nil {
			return context.Cause(k.ctx)
		}
		return k.ended
	}
}

var errLeft = errors.New("the peer closed the connection: its own output should say why")

// finish is the disconnection: perftest sends nothing.
func (k *control) finish() error { return nil }

func (k *control) close() {
	if k.conn != nil {
		leave(k.conn)
	}
	k.res.close()
}

// leave ends a connection, without waiting long for who may have gone.
func leave(c connection) {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	_ = c.Disconnect(ctx)
}

// meetCM finds the peer by the connection manager and makes the control QP. A server listens until
// the end, so that a client may be early with its other connections.
func (s *session) meetCM(ctx context.Context) (err error) {
	res, err := s.nic.control(controlSlot)
	if err != nil {
		return err
	}
	k, err := newControl(ctx, s.c, res, s.c.client())
	if err != nil {
		res.close()
		return err
	}
	s.x, s.control = k, k
	if !s.c.client() {
		if s.listener, err = s.nic.listen(s.c.Port, s.c.Patience); err != nil {
			return fmt.Errorf("listen on port %d of the connection manager: %w", s.c.Port, err)
		}
		s.report.waiting()
		if s.listening != nil {
			s.listening(&net.TCPAddr{IP: s.ip.AsSlice(), Port: int(s.c.Port)})
		}
	}
	k.conn, err = s.join(ctx, res.qps[0], rdma.Params{RetryCount: s.c.Retries, RNRRetry: 7})
	return err
}

// connectCM connects the QPs of the test, between two barriers.
func (s *session) connectCM(ctx context.Context) error {
	if err := s.barrier(); err != nil {
		return err
	}
	p := rdma.Params{RetryCount: s.c.Retries, RNRRetry: s.c.Retries}
	if s.c.Test.Verb == Read || s.c.Test.Verb == Atomic {
		depth := uint8(min(s.c.outReads(s.attr.MaxReadDepth), 255))
		p.ReadDepth, p.Resources = depth, depth
	}
	for i, q := range s.res.qps {
		join, cancel := context.WithTimeoutCause(ctx, s.c.Patience, errSilent)
		conn, err := s.joinAgain(join, q, p)
		cancel()
		if err != nil {
			return fmt.Errorf("connection %d of %d: %w", i+1, len(s.res.qps), err)
		}
		s.conns = append(s.conns, conn)
	}
	return s.barrier()
}

// joinPause is what perftest's client waits before it tries again.
const joinPause = 100 * time.Millisecond

// joinAgain makes one connection, and tries again if nobody listens: perftest's server stops
// listening for a moment between the first connection and the others. That it has gone for good its
// first connection tells.
func (s *session) joinAgain(ctx context.Context, q queuePair, p rdma.Params) (connection, error) {
	for {
		conn, err := s.join(ctx, q, p)
		if !errors.Is(err, rdma.ErrRejected) {
			return conn, err
		}
		select {
		case <-time.After(joinPause):
		case <-s.control.conn.Disconnected():
			return nil, errors.Join(errLeft, err)
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), err)
		}
	}
}

// join makes one connection, as client or as server.
func (s *session) join(ctx context.Context, q queuePair, p rdma.Params) (connection, error) {
	if !s.c.client() {
		conn, err := s.listener.accept(ctx, q, p)
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("accept a connection: %w", err)
		}
		return conn, nil
	}
	ip, err := resolve(ctx, s.c.Server, s.ip.Is6())
	if err != nil {
		return nil, err
	}
	to := netip.AddrPortFrom(ip, s.c.Port)
	dial, cancel := context.WithTimeout(ctx, s.c.Patience)
	defer cancel()
	conn, err := s.nic.dial(dial, to, q, p)
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case dial.Err() != nil:
		return nil, fmt.Errorf("%v does not answer the connection manager (waited %v): is it the "+
			"address of an RDMA NIC, and is there a way to it?", to, s.c.Patience)
	case errors.Is(err, rdma.ErrRejected):
		return nil, fmt.Errorf("%v: %w: is the server started, with -R and the same --port?", to,
			err)
	}
	return nil, fmt.Errorf("connect to %v: %w", to, err)
}

// resolve finds the address of a host.
func resolve(ctx context.Context, host string, six bool) (netip.Addr, error) {
	network := "ip4"
	if six {
		network = "ip6"
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, network, host)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("address of the server: %w", err)
	}
	return addrs[0].Unmap(), nil
}

// closeCM ends the connections of the test.
func (s *session) closeCM() {
	for _, c := range s.conns {
		leave(c)
	}
}
