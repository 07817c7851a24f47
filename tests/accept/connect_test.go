package accept

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rocelab/rocelab/nicd/rdma"
	"github.com/rocelab/rocelab/roce/ib"
)

// program is one end of a connection: a program on a host of a lab.
type program struct {
	dev *rdma.Device
	mem *rdma.Memory
	cq  *rdma.CQ
	qp  *rdma.QP
}

func newProgram(t *testing.T, lab, host string) *program {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	p := &program{}
	var err error
	p.dev, err = rdma.Open(filepath.Join("/run/rocelab", lab, host+".verbs"))
	must(err)
	t.Cleanup(func() { p.dev.Close() })
	pd, err := p.dev.AllocPD()
	must(err)
	p.mem, err = pd.Allocate(1<<16, rdma.Access{LocalWrite: true, RemoteWrite: true,
		RemoteRead: true})
	must(err)
	p.cq, err = p.dev.CreateCQ(64)
	must(err)
	p.qp, err = pd.CreateQP(rdma.QPConfig{SendCQ: p.cq})
	must(err)
	return p
}

// completed waits for one completion.
func (p *program) completed(ctx context.Context, t *testing.T) {
	t.Helper()
	var c [1]rdma.Completion
	if _, err := p.cq.Wait(ctx, c[:]); err != nil || c[0].Status != rdma.Success {
		t.Fatalf("%+v: %v", c[0], err)
	}
}

// TestConnectionsAcrossTheLab: two programs on two hosts of a lab connect by the connection
// manager across the switch, on real frames. The daemons ask the hosts' kernels for the way.
func TestConnectionsAcrossTheLab(t *testing.T) {
	lab, c := upStar(t)
	a, b := newProgram(t, lab, "h1"), newProgram(t, lab, "h2")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	to := netip.MustParseAddrPort("10.0.0.2:7174")
	_, err := a.dev.Dial(ctx, to, a.qp, rdma.DefaultParams())
	var why *rdma.Rejection
	if !errors.As(err, &why) || why.Reason != uint16(ib.RejInvalidServiceID) {
		t.Fatalf("where nobody listens: %v", err)
	}
	l, err := b.dev.Listen(to.Port())
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan *rdma.Conn, 1)
	go func() {
		defer close(accepted)
		r, err := l.Accept(ctx)
		if err != nil {
			t.Error(err)
			return
		}
		if !bytes.HasPrefix(r.PrivateData, []byte("hello\x00")) {
			t.Errorf("private data %q", r.PrivateData)
		}
		conn, err := r.Accept(ctx, b.qp, rdma.DefaultParams())
		if err != nil {
			t.Error(err)
			return
		}
		accepted <- conn
	}()
	params := rdma.DefaultParams()
	params.PrivateData = []byte("hello")
	conn, err := a.dev.Dial(ctx, to, a.qp, params)
	if err != nil {
		t.Fatal(err)
	}
	peer := <-accepted
	if peer == nil {
		t.FailNow()
	}
	for i := range a.mem.Bytes {
		a.mem.Bytes[i] = byte(i * 7)
	}
	if _, err := a.qp.Post(rdma.WR{Op: rdma.Write, Local: a.mem.Segment(0, 1<<16),
		Remote: b.mem.Target(0)}); err != nil {
		t.Fatal(err)
	}
	a.completed(ctx, t)
	if !bytes.Equal(a.mem.Bytes, b.mem.Bytes) {
		t.Error("the bytes did not arrive")
	}
	if err := conn.Disconnect(ctx); err != nil {
		t.Fatal(err)
	}
	select {
	case <-peer.Disconnected():
	case <-ctx.Done():
		t.Error("the other end does not know of the end")
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := c.end(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, c.err.String())
	}
	nothingLeft(t, lab)
}
