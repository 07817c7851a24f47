package interop

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/nicd/rdma"
	"github.com/rocelab/rocelab/roce/ib"
)

// caller is a program of ours that connects by the connection manager.
type caller struct {
	dev *rdma.Device
	pd  *rdma.PD
	mem *rdma.Memory
	cq  *rdma.CQ
}

func (s *station) newCaller(t *testing.T) *caller {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c := &caller{}
	var err error
	c.dev, err = rdma.Open(s.verbs)
	must(err)
	t.Cleanup(func() { c.dev.Close() })
	c.pd, err = c.dev.AllocPD()
	must(err)
	c.mem, err = c.pd.Allocate(4096, rdma.Access{LocalWrite: true, RemoteRead: true,
		RemoteWrite: true})
	must(err)
	c.cq, err = c.dev.CreateCQ(16)
	must(err)
	return c
}

// queue makes a QP with one receive posted.
func (c *caller) queue(t *testing.T, config rdma.QPConfig) *rdma.QP {
	t.Helper()
	config.SendCQ = c.cq
	q, err := c.pd.CreateQP(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.PostReceive(rdma.ReceiveWR{Local: c.mem.Segment(0, 2048)}); err != nil {
		t.Fatal(err)
	}
	return q
}

// one waits for a completion.
func (c *caller) one(ctx context.Context, t *testing.T) rdma.Completion {
	t.Helper()
	var done [1]rdma.Completion
	if _, err := c.cq.Wait(ctx, done[:]); err != nil || done[0].Status != rdma.Success {
		t.Fatalf("%+v: %v", done[0], err)
	}
	return done[0]
}

// rpingParams are what rping asks for, and so all that it grants.
func rpingParams() rdma.Params {
	p := rdma.DefaultParams()
	p.ReadDepth, p.Resources = 1, 1
	return p
}

// Linux' connection manager is the passive side: it refuses where nobody listens, accepts at
// rping's port by either IP version, takes our message, and learns of our disconnecting.
func TestDialLinux(t *testing.T) {
	s := at(t, 1500)
	s.judge(t, tolerance{slow: true})
	for i, address := range []string{guest4, guest6} {
		ctx := within(t, caseTime)
		c := s.newCaller(t)
		to := netip.AddrPortFrom(netip.MustParseAddr(address), uint16(7200+i))
		q := c.queue(t, rdma.QPConfig{MTU: s.pathMTU()})
		var why *rdma.Rejection
		_, err := c.dev.Dial(ctx, to, q, rpingParams())
		if !errors.As(err, &why) || why.Reason != uint16(ib.RejInvalidServiceID) {
			t.Fatalf("%v: nobody listens: %v", to, err)
		}
		server, err := s.guest.Start(fmt.Sprintf("rping -s -a %s -p %d -v -d", address, to.Port()))
		if err != nil {
			t.Fatal(err)
		}
		conn, err := c.dev.Dial(ctx, to, q, rpingParams())
		for errors.Is(err, rdma.ErrRejected) { // it does not listen yet
			conn, err = c.dev.Dial(ctx, to, q, rpingParams())
		}
		if err != nil {
			t.Fatalf("%v: %v\n%s", to, err, server.Output())
		}
		if err := conn.Disconnect(ctx); err != nil {
			t.Error(err)
		}
		// It ends with an error, because we have not asked for anything.
		if out, _ := server.Wait(ctx); !strings.Contains(out, "DISCONNECT") {
			t.Errorf("%v: the end:\n%s", to, out)
		}
	}
}

// Linux' connection manager is the active side: it understands both of our refusals, and a
// connection of rping comes about, carries its first message, and ends by our DREQ.
func TestLinuxDials(t *testing.T) {
	s := at(t, 1500)
	s.judge(t, tolerance{slow: true})
	ctx := within(t, caseTime)
	c := s.newCaller(t)
	rping := func(port uint16) string {
		t.Helper()
		out, _ := s.guest.Run(ctx, fmt.Sprintf("rping -c -a %s -p %d -C 1 -v -d", ours4, port))
		return out // it fails in each of these cases
	}
	if out := rping(7300); !strings.Contains(out, "error 8") {
		t.Errorf("nobody listens:\n%s", out)
	}
	l, err := c.dev.Listen(7301)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		r, err := l.Accept(ctx)
		if err != nil {
			t.Error(err)
			return
		}
		if r.From.Addr() != netip.MustParseAddr(guest4) || r.Params.RetryCount != 7 {
			t.Errorf("request %+v", r)
		}
		if err := r.Reject(nil); err != nil {
			t.Error(err)
		}
	}()
	if out := rping(7301); !strings.Contains(out, "error 28") {
		t.Errorf("refused:\n%s", out)
	}
	said := make(chan string, 1)
	go func() { said <- rping(7301) }()
	r, err := l.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := r.Accept(ctx, c.queue(t, rdma.QPConfig{MTU: s.pathMTU()}), rpingParams())
	if err != nil {
		t.Fatal(err)
	}
	if done := c.one(ctx, t); done.Bytes != 16 { // where rping's data is: address, key, length
		t.Errorf("rping's first message: %+v", done)
	}
	if err := conn.Disconnect(ctx); err != nil {
		t.Error(err)
	}
	if out := <-said; !strings.Contains(out, "DISCONNECT") {
		t.Errorf("the end:\n%s", out)
	}
}

// SIDR both ways: udaddy finds our datagram service, and we find udaddy's.
func TestSIDRWithLinux(t *testing.T) {
	s := at(t, 1500)
	s.judge(t, tolerance{slow: true})
	ctx := within(t, caseTime)
	c := s.newCaller(t)
	const port, qkey = 7174, 0x01234567 // udaddy's default and RDMA_UDP_QKEY
	q := c.queue(t, rdma.QPConfig{Type: rdma.UD, QKey: qkey})
	server, err := s.guest.Start("udaddy -b " + guest4)
	if err != nil {
		t.Fatal(err)
	}
	var found *rdma.Service
	for found == nil {
		found, err = c.pd.Resolve(ctx, netip.AddrPortFrom(netip.MustParseAddr(guest4), port), nil)
		if err != nil && !errors.Is(err, rdma.ErrRejected) { // it may not listen yet
			t.Fatalf("%v\n%s", err, server.Output())
		}
	}
	if found.QKey != qkey || found.QPN == 0 {
		t.Errorf("found %+v", found)
	}
	server.Kill()

	if err := c.dev.ServeSIDR(port, q, nil); err != nil {
		t.Fatal(err)
	}
	client, err := s.guest.Start("udaddy -C 1 -S 100 -s " + ours4)
	if err != nil {
		t.Fatal(err)
	}
	if done := c.one(ctx, t); done.Bytes != rdma.GRHLen+100 {
		t.Errorf("udaddy's datagram: %+v\n%s", done, client.Output())
	}
	client.Kill() // it waits for an answer
}
