package perftest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/nicd/rdma"
)

// batches is a completion queue of which each look gives one batch.
type batches [][]rdma.Completion

func (b *batches) Poll(dst []rdma.Completion) (int, error) {
	if len(*b) == 0 {
		return 0, nil
	}
	n := copy(dst, (*b)[0])
	*b = (*b)[1:]
	return n, nil
}

func (b *batches) Wait(ctx context.Context, dst []rdma.Completion) (int, error) {
	if n, err := b.Poll(dst); n > 0 {
		return n, err
	}
	<-ctx.Done()
	return 0, ctx.Err()
}

// gone is a connection that the peer has ended.
type gone struct{ modelConn }

func (gone) Disconnected() <-chan struct{} {
	over := make(chan struct{})
	close(over)
	return over
}

// A peer that has our last answer disconnects. On a busy machine we see its message, the end of our
// answer and the end of the QP at once: the exchange was well, and only what comes after is not.
func TestPeerLeavesWithItsLastMessage(t *testing.T) {
	c, err := parse("write_bw -R")
	if err != nil {
		t.Fatal(err)
	}
	nic := newWorld(testRate, testDelay).nics[0]
	nic.mtu = 1024
	res, err := nic.control(controlSlot)
	if err != nil {
		t.Fatal(err)
	}
	res.qps[0].(*modelQP).peer = res.qps[0].(*modelQP)
	flushed := rdma.Completion{ID: receiveID(0, 1), Op: rdma.Receive, Status: rdma.Flushed}
	res.cq = &batches{{{ID: receiveID(0, 0), Op: rdma.Receive, Bytes: 2},
		{ID: sendID(0, 1), Op: rdma.Send}, flushed, flushed}}
	k, err := newControl(t.Context(), c, res, false)
	if err != nil {
		t.Fatal(err)
	}
	k.conn = gone{}
	if err := k.swap([]byte("us"), make([]byte, 2)); err != nil {
		t.Errorf("the last exchange: %v", err)
	}
	if err := k.swap([]byte("us"), make([]byte, 2)); !errors.Is(err, errLeft) {
		t.Errorf("one more: %v", err)
	}
}

// recorder takes note of what is posted.
type recorder struct {
	queuePair
	posted []rdma.WR
}

func (r *recorder) Post(wr ...rdma.WR) (int, error) {
	r.posted = append(r.posted, wr...)
	return len(wr), nil
}

// A server waits as long as its client measures, and asks the client's NIC now and then whether it
// is there: with a WRITE of no bytes, one at a time. One that has gone ends the wait.
func TestServerProbes(t *testing.T) {
	c, err := parse("read_lat -R")
	if err != nil {
		t.Fatal(err)
	}
	c.Patience = time.Millisecond
	nic := newWorld(testRate, testDelay).nics[0]
	nic.mtu = 1024
	res, err := nic.control(controlSlot)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{queuePair: res.qps[0]}
	k, err := newControl(t.Context(), c, res, false)
	if err != nil {
		t.Fatal(err)
	}
	res.qps[0] = r
	// It looks: nothing, the answer to the first probe, nothing, the end of the second.
	res.cq = &batches{{}, {{ID: sendID(0, 1), Op: rdma.Write}}, {},
		{{ID: sendID(0, 2), Op: rdma.Write, Status: rdma.RetryExceeded}}}
	err = k.swap([]byte("us"), make([]byte, 2))
	if err == nil || !strings.Contains(err.Error(), "the peer's NIC does not answer") {
		t.Errorf("the NIC has gone: %v", err)
	}
	if len(r.posted) != 2 {
		t.Fatalf("posted %+v, want two probes", r.posted)
	}
	for _, wr := range r.posted {
		if wr.Op != rdma.Write || wr.Local.Length != 0 || wr.Remote != (rdma.Target{}) {
			t.Errorf("a probe is %+v", wr)
		}
	}
}

// In a test of WRITE's latency nothing says when the peer begins: what it has written before we
// look must stay.
func TestEarlyWriteStays(t *testing.T) {
	c, err := parse("write_lat --check -s 64 -n 5")
	if err != nil {
		t.Fatal(err)
	}
	c.Patience = 10 * time.Second
	nic := newWorld(testRate, testDelay).nics[0]
	s := session{c: c, nic: nic, g: greeting{cycle: 4096, cacheLine: 64, mtu: 1024}}
	if s.attr, err = nic.Query(); err != nil {
		t.Fatal(err)
	}
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	const mark = 0xa5
	written := s.traffic.lay.receiveArea(0) + 63
	s.res.mem.Bytes[written] = mark
	_ = s.measureLatency(t.Context()) // it is not connected
	if s.res.mem.Bytes[written] != mark {
		t.Error("the first message of the peer was wiped")
	}
}
