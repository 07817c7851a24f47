package rdma_test

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"

	"github.com/rocelab/rocelab/nicd/rdma"
	"github.com/rocelab/rocelab/nicd/uverbs"
	"github.com/rocelab/rocelab/roce/ib"
)

func listen(t testing.TB, e *end) *rdma.Listener {
	t.Helper()
	l, err := e.dev.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func params(private string) rdma.Params {
	p := rdma.DefaultParams()
	p.PrivateData = []byte(private)
	return p
}

func text(b []byte) string { return string(bytes.TrimRight(b, "\x00")) }

// accept takes one request in the background; the result comes by the channel.
func accept(t testing.TB, l *rdma.Listener, q *rdma.QP) <-chan *rdma.Conn {
	t.Helper()
	ctx, conns := within(t), make(chan *rdma.Conn, 1)
	go func() {
		defer close(conns)
		r, err := l.Accept(ctx)
		if err != nil {
			t.Error(err)
			return
		}
		c, err := r.Accept(ctx, q, params("welcome"))
		if err != nil {
			t.Error(err)
			return
		}
		conns <- c
	}()
	return conns
}

// ended waits for the end of a connection.
func ended(t testing.TB, c *rdma.Conn) {
	t.Helper()
	select {
	case <-c.Disconnected():
	case <-within(t).Done():
		t.Fatal("the connection does not end")
	}
}

// established is a connection between programs on both stations.
func established(t testing.TB, s [2]*station) (a, b *end, dialled, accepted *rdma.Conn) {
	t.Helper()
	a, b = open(t, s[0], rdma.QPConfig{}), open(t, s[1], rdma.QPConfig{})
	l := listen(t, b)
	conns := accept(t, l, b.qp)
	at := netip.AddrPortFrom(s[1].ip, l.Port())
	dialled, err := a.dev.Dial(within(t), at, a.qp, params("hello"))
	if err != nil {
		t.Fatal(err)
	}
	if accepted = <-conns; accepted == nil {
		t.FailNow()
	}
	return a, b, dialled, accepted
}

// Two programs find each other by a port, data goes both ways, and either can end it.
func TestConnectionBothWays(t *testing.T) {
	s := newLab(t, uverbs.DefaultLimits())
	a, b, dialled, accepted := established(t, s)
	if text(dialled.PrivateData) != "welcome" || accepted.Remote.Addr() != s[0].ip {
		t.Errorf("dialled %+v, accepted %+v", dialled, accepted)
	}
	fill(a.mem.Bytes[:5000], 4)
	receive(t, b.qp, rdma.ReceiveWR{ID: 1, Local: b.mem.Segment(0, 8192)})
	post(t, a.qp, rdma.WR{ID: 2, Op: rdma.Send, Local: a.mem.Segment(0, 5000)})
	if c := b.next(t); c.Status != rdma.Success ||
		!bytes.Equal(a.mem.Bytes[:5000], b.mem.Bytes[:5000]) {
		t.Errorf("%+v", c)
	}
	a.next(t)
	post(t, b.qp, rdma.WR{ID: 3, Op: rdma.Read, Local: b.mem.Segment(10000, 700),
		Remote: a.mem.Target(300)})
	if c := b.next(t); c.Status != rdma.Success ||
		!bytes.Equal(a.mem.Bytes[300:1000], b.mem.Bytes[10000:10700]) {
		t.Errorf("%+v", c)
	}
	receive(t, a.qp, rdma.ReceiveWR{ID: 4, Local: a.mem.Segment(0, 100)})
	if err := accepted.Disconnect(within(t)); err != nil {
		t.Fatal(err)
	}
	ended(t, dialled)
	ended(t, accepted)
	if c := a.next(t); c.ID != 4 || c.Status != rdma.Flushed {
		t.Errorf("after the end: %+v", c)
	}
	if err := dialled.Disconnect(within(t)); err != nil {
		t.Errorf("the end of what has ended: %v", err)
	}
	if a.qp.Err() == nil || b.qp.Err() == nil {
		t.Error("QPs of an ended connection are of use")
	}
}

// The request tells who asks for what, and who was refused may ask again with the same QP.
func TestRejectAndDialAgain(t *testing.T) {
	s := newLab(t, uverbs.DefaultLimits())
	a, b := open(t, s[0], rdma.QPConfig{}), open(t, s[1], rdma.QPConfig{})
	l := listen(t, b)
	refused := make(chan error, 1)
	go func() {
		at := netip.AddrPortFrom(s[1].ip, l.Port())
		_, err := a.dev.Dial(within(t), at, a.qp, params("hello"))
		refused <- err
	}()
	r, err := l.Accept(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if text(r.PrivateData) != "hello" || r.From.Addr() != s[0].ip || r.From.Port() == 0 ||
		r.To != netip.AddrPortFrom(s[1].ip, l.Port()) || r.QPN != a.qp.QPN() ||
		r.Params.ReadDepth != 16 || r.Params.Resources != 16 || r.Params.RetryCount != 7 ||
		r.Params.RNRRetry != 7 {
		t.Errorf("request %+v", r)
	}
	if err := r.Reject([]byte("full")); err != nil {
		t.Fatal(err)
	}
	var why *rdma.Rejection
	if err := <-refused; !errors.As(err, &why) || !errors.Is(err, rdma.ErrRejected) ||
		why.Reason != uint16(ib.RejConsumer) || text(why.PrivateData) != "full" {
		t.Errorf("refused: %v", err)
	}
	// The QP was not touched: it can be connected now.
	conns := accept(t, l, b.qp)
	_, err = a.dev.Dial(within(t), netip.AddrPortFrom(s[1].ip, l.Port()), a.qp, params(""))
	if err != nil || <-conns == nil {
		t.Error(err)
	}
}

// What cannot be is refused with the error of its family, at once.
func TestDialErrors(t *testing.T) {
	s := newLab(t, uverbs.DefaultLimits())
	a, b := open(t, s[0], rdma.QPConfig{}), open(t, s[1], rdma.QPConfig{})
	l := listen(t, b)
	var why *rdma.Rejection
	at := netip.AddrPortFrom(s[1].ip, l.Port())
	_, err := a.dev.Dial(within(t), netip.AddrPortFrom(s[1].ip, 9), a.qp, params(""))
	if !errors.As(err, &why) || why.Reason != uint16(ib.RejInvalidServiceID) {
		t.Errorf("nobody listens: %v", err)
	}
	_, err = a.dev.Dial(within(t), netip.MustParseAddrPort("10.9.9.9:1"), a.qp, params(""))
	if !errors.Is(err, rdma.ErrPath) {
		t.Errorf("no way: %v", err)
	}
	_, err = a.dev.Dial(within(t), at, a.qp, rdma.Params{PrivateData: make([]byte, 57)})
	if !errors.Is(err, rdma.ErrInvalid) {
		t.Errorf("too much private data: %v", err)
	}
	if _, err := b.dev.Listen(l.Port()); !errors.Is(err, rdma.ErrInUse) {
		t.Errorf("listened twice: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if _, err := l.Accept(within(t)); err != nil {
			t.Error(err)
		}
		cancel() // nobody will answer
	}()
	if _, err := a.dev.Dial(ctx, at, a.qp, params("")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := l.Accept(within(t)); !errors.Is(err, rdma.ErrClosed) {
		t.Errorf("a closed listener: %v", err)
	}
}

// A program that ends takes its connections with it, and its peers know.
func TestProgramEndsConnections(t *testing.T) {
	s := newLab(t, uverbs.DefaultLimits())
	a, _, dialled, accepted := established(t, s)
	if err := a.dev.Close(); err != nil {
		t.Fatal(err)
	}
	ended(t, accepted)
	ended(t, dialled)
	if err := dialled.Disconnect(within(t)); !errors.Is(err, rdma.ErrClosed) && err != nil {
		t.Errorf("disconnect of a closed device: %v", err)
	}
}

// A QP that is closed takes its connection with it.
func TestQPEndsConnection(t *testing.T) {
	_, b, dialled, accepted := established(t, newLab(t, uverbs.DefaultLimits()))
	if err := b.qp.Close(); err != nil {
		t.Fatal(err)
	}
	ended(t, dialled)
	ended(t, accepted)
}

// The end of the daemon ends everything that waits.
func TestDaemonEndsConnections(t *testing.T) {
	s := newLab(t, uverbs.DefaultLimits())
	_, b, _, accepted := established(t, s)
	l := listen(t, b)
	failed := make(chan error, 1)
	go func() {
		_, err := l.Accept(within(t))
		failed <- err
	}()
	s[1].stop()
	ended(t, accepted)
	if err := <-failed; !errors.Is(err, rdma.ErrDaemonGone) {
		t.Errorf("accept: %v", err)
	}
}

// A thousand connections to one listener, many at a time, each used and ended by its dialler.
func TestThousandDials(t *testing.T) {
	s := newLab(t, uverbs.DefaultLimits())
	a, b := open(t, s[0], rdma.QPConfig{}), open(t, s[1], rdma.QPConfig{})
	l := listen(t, b)
	create := func(e *end) *rdma.QP {
		q, err := e.pd.CreateQP(rdma.QPConfig{SendCQ: e.cq, SendDepth: 2, ReceiveDepth: 2})
		if err != nil {
			t.Error(err)
		}
		return q
	}
	const workers, each = 20, 50
	ctx := within(t)
	var wg sync.WaitGroup
	work := func(fn func()) {
		wg.Add(workers)
		for range workers {
			go func() {
				defer wg.Done()
				for range each {
					fn()
				}
			}()
		}
	}
	work(func() {
		r, err := l.Accept(ctx)
		if err != nil {
			t.Error(err)
			return
		}
		q := create(b)
		c, err := r.Accept(ctx, q, params(""))
		if err != nil {
			t.Error(err)
			return
		}
		<-c.Disconnected()
		q.Close()
	})
	work(func() {
		q := create(a)
		c, err := a.dev.Dial(ctx, netip.AddrPortFrom(s[1].ip, l.Port()), q, params(""))
		if err != nil {
			t.Error(err)
			return
		}
		if err := c.Disconnect(ctx); err != nil {
			t.Error(err)
		}
		q.Close()
	})
	wg.Wait()
	for i := range s {
		if st, err := s[i].server.Stats(); err != nil || st.Queues != 1 {
			t.Errorf("station %d: %+v, %v", i, st, err)
		}
	}
}

// A datagram service goes with its QP, and its port is free again.
func TestServiceEndsWithQP(t *testing.T) {
	s := newLab(t, uverbs.DefaultLimits())
	ud := rdma.QPConfig{Type: rdma.UD, QKey: 0x01234567}
	a, b, c := open(t, s[0], ud), open(t, s[1], ud), open(t, s[1], ud)
	ask := func() (*rdma.Service, error) {
		return a.pd.Resolve(within(t), netip.AddrPortFrom(s[1].ip, 9), nil)
	}
	if err := b.dev.ServeSIDR(9, b.qp, nil); err != nil {
		t.Fatal(err)
	}
	if found, err := ask(); err != nil || found.QPN != b.qp.QPN() {
		t.Errorf("found %+v: %v", found, err)
	}
	if err := c.dev.ServeSIDR(9, c.qp, nil); !errors.Is(err, rdma.ErrInUse) {
		t.Errorf("two services at one port: %v", err)
	}
	if err := b.qp.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(); !errors.Is(err, rdma.ErrRejected) {
		t.Errorf("a service that has gone: %v", err)
	}
	if err := c.dev.ServeSIDR(9, c.qp, nil); err != nil {
		t.Error(err)
	}
}
