package rdma_test

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/rocelab/rocelab/nicd/rdma"
	"github.com/rocelab/rocelab/nicd/uverbs"
	"github.com/rocelab/rocelab/roce/ib"
)

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	return ctx
}

// A program dials, the other accepts; private data goes both ways, a message too; who disconnects
// ends it for both.
func TestDialAcceptDisconnect(t *testing.T) {
	s := newLab(t, uverbs.DefaultLimits())
	a, b := open(t, s[0], rdma.QPConfig{}), open(t, s[1], rdma.QPConfig{})
	l, err := b.dev.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	ctx := within(t)
	type result struct {
		conn *rdma.Conn
		err  error
	}
	dialed := make(chan result, 1)
	go func() {
		p := rdma.DefaultParams()
		p.PrivateData = []byte("hello")
		c, err := a.dev.Dial(ctx, netip.AddrPortFrom(s[1].ip, l.Port()), a.qp, p)
		dialed <- result{c, err}
	}()
	r, err := l.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(r.PrivateData, []byte("hello\x00")) || r.From.Addr() != s[0].ip ||
		r.QPN != a.qp.QPN() || r.Params.ReadDepth != 16 {
		t.Errorf("request %+v", r)
	}
	receive(t, b.qp, rdma.ReceiveWR{ID: 3, Local: b.mem.Segment(0, 100)})
	p := rdma.DefaultParams()
	p.PrivateData = []byte("welcome")
	passive, err := r.Accept(ctx, b.qp, p)
	if err != nil {
		t.Fatal(err)
	}
	active := <-dialed
	if active.err != nil {
		t.Fatal(active.err)
	}
	if !bytes.HasPrefix(active.conn.PrivateData, []byte("welcome\x00")) {
		t.Errorf("answered %q", active.conn.PrivateData)
	}
	copy(a.mem.Bytes, "ping")
	post(t, a.qp, rdma.WR{ID: 1, Op: rdma.Send, Local: a.mem.Segment(0, 4)})
	if c := b.next(t); c.ID != 3 || c.Bytes != 4 || string(b.mem.Bytes[:4]) != "ping" {
		t.Errorf("received %+v", c)
	}
	if err := active.conn.Disconnect(ctx); err != nil {
		t.Fatal(err)
	}
	<-passive.Disconnected()
	for _, e := range []*end{a, b} {
		if st, err := e.qp.State(); err != nil || st.String() != "ERR" {
			t.Errorf("state %v, %v", st, err)
		}
	}
}

// Nobody listens, and somebody who refuses: the reasons differ, and the private data of the refusal
// comes along.
func TestDialRejected(t *testing.T) {
	s := newLab(t, uverbs.DefaultLimits())
	a, b := open(t, s[0], rdma.QPConfig{}), open(t, s[1], rdma.QPConfig{})
	ctx := within(t)
	_, err := a.dev.Dial(ctx, netip.AddrPortFrom(s[1].ip, 7), a.qp, rdma.DefaultParams())
	var why *rdma.Rejection
	if !errors.As(err, &why) || !errors.Is(err, rdma.ErrRejected) ||
		why.Reason != uint16(ib.RejInvalidServiceID) {
		t.Errorf("nobody listens: %v", err)
	}
	l, err := b.dev.Listen(18515)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.dev.Listen(18515); !errors.Is(err, rdma.ErrInUse) {
		t.Errorf("second listener: %v", err)
	}
	go func() {
		if r, err := l.Accept(ctx); err == nil {
			_ = r.Reject([]byte("full"))
		}
	}()
	_, err = a.dev.Dial(ctx, netip.AddrPortFrom(s[1].ip, 18515), a.qp, rdma.DefaultParams())
	if !errors.As(err, &why) || why.Reason != uint16(ib.RejConsumer) ||
		!bytes.HasPrefix(why.PrivateData, []byte("full")) {
		t.Errorf("refused: %v", err)
	}
}

// SIDR finds a UD QP, to which a datagram then goes, with its network header in front.
func TestSIDRAndDatagram(t *testing.T) {
	s := newLab(t, uverbs.DefaultLimits())
	ud := rdma.QPConfig{Type: rdma.UD, QKey: 0x1234567}
	a, b := open(t, s[0], ud), open(t, s[1], ud)
	if err := b.dev.ServeSIDR(7174, b.qp, []byte("info")); err != nil {
		t.Fatal(err)
	}
	ctx := within(t)
	found, err := a.pd.Resolve(ctx, netip.AddrPortFrom(s[1].ip, 7174), []byte("who"))
	if err != nil {
		t.Fatal(err)
	}
	if found.QPN != b.qp.QPN() || found.QKey != 0x1234567 ||
		!bytes.HasPrefix(found.PrivateData, []byte("info")) {
		t.Errorf("found %+v", found)
	}
	receive(t, b.qp, rdma.ReceiveWR{ID: 9, Local: b.mem.Segment(0, 200)})
	if _, err := b.qp.State(); err != nil { // the receive is there: a datagram waits for none
		t.Fatal(err)
	}
	copy(a.mem.Bytes, "datagram")
	post(t, a.qp, rdma.WR{ID: 4, Op: rdma.SendImm, Imm: 5, Local: a.mem.Segment(0, 8),
		To: found.Target()})
	c := b.next(t)
	if c.ID != 9 || c.SourceQP != a.qp.QPN() || c.Bytes != rdma.GRHLen+8 || c.Imm != 5 ||
		string(b.mem.Bytes[rdma.GRHLen:rdma.GRHLen+8]) != "datagram" {
		t.Errorf("received %+v", c)
	}
	if c := a.next(t); c.ID != 4 || c.Status != rdma.Success {
		t.Errorf("sent %+v", c)
	}
	_, err = a.pd.Resolve(ctx, netip.AddrPortFrom(s[1].ip, 7175), nil)
	if !errors.Is(err, rdma.ErrRejected) {
		t.Errorf("no such service: %v", err)
	}
}
