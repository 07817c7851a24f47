package rdma_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/rocelab/rocelab/nicd/rdma"
	"github.com/rocelab/rocelab/nicd/uverbs"
	"github.com/rocelab/rocelab/roce/qp"
)

// What a program may have is bounded, and what is given back counts no more.
func TestLimits(t *testing.T) {
	limits := uverbs.DefaultLimits()
	limits.Queues, limits.Memory, limits.Programs = 2, 4<<20, 2
	s := newLab(t, limits)
	a := open(t, s[0], rdma.QPConfig{})
	second, err := a.pd.CreateQP(rdma.QPConfig{SendCQ: a.cq})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.pd.CreateQP(rdma.QPConfig{SendCQ: a.cq}); !errors.Is(err, rdma.ErrLimit) {
		t.Errorf("third QP: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if _, err := a.pd.CreateQP(rdma.QPConfig{SendCQ: a.cq}); err != nil {
		t.Errorf("after closing one: %v", err)
	}
	for range 3 {
		m, err := a.pd.Allocate(1<<20, everything)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.pd.Allocate(2<<20, everything); !errors.Is(err, rdma.ErrLimit) {
			t.Errorf("beyond the limit: %v", err)
		}
		if err := m.Free(); err != nil {
			t.Error(err)
		}
	}
	open(t, s[0], rdma.QPConfig{})
	if d, err := rdma.Open(s[0].path); !errors.Is(err, rdma.ErrDaemonGone) {
		t.Errorf("third program: %v, %v", d, err)
	}
}

// A call that waits for a neighbour holds up no other, and ends with the program.
func TestWaitingHoldsNobodyUp(t *testing.T) {
	s := newLab(t, uverbs.DefaultLimits())
	a := open(t, s[0], rdma.QPConfig{})
	ended := make(chan error, 1)
	go func() {
		_, err := a.pd.CreateAddress(t.Context(), rdma.Path{IP: silent})
		ended <- err
	}()
	// One that is given up while its way is looked for leaves nothing behind.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := a.dev.Dial(ctx, netip.AddrPortFrom(silent, 7), a.qp, rdma.DefaultParams())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	for range 10 {
		pd, err := a.dev.AllocPD()
		if err != nil {
			t.Fatal(err)
		}
		if err := pd.Free(); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-ended:
		t.Fatalf("the call that was to wait: %v", err)
	default:
	}
	a.dev.Close()
	if err := <-ended; err == nil {
		t.Error("a way to nobody was found")
	}
}

// A domain, a queue and a completion queue that are in use stay.
func TestInUse(t *testing.T) {
	a := open(t, newLab(t, uverbs.DefaultLimits())[0], rdma.QPConfig{})
	for what, err := range map[string]error{"PD": a.pd.Free(), "CQ": a.cq.Close()} {
		if !errors.Is(err, rdma.ErrInUse) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, err := range []error{a.qp.Close(), a.mem.Free(), a.cq.Close(), a.pd.Free()} {
		if err != nil {
			t.Error(err)
		}
	}
	var c [1]rdma.Completion
	if _, err := a.cq.Poll(c[:]); !errors.Is(err, rdma.ErrClosed) {
		t.Errorf("poll of a closed queue: %v", err)
	}
}

// Posting judges before anything reaches the daemon, and bounds what is outstanding.
func TestPostJudges(t *testing.T) {
	s := newLab(t, uverbs.DefaultLimits())
	a, b := pair(t, s, rdma.QPConfig{SendDepth: 4, ReceiveDepth: 2, MaxInline: 200})
	for name, wr := range map[string]rdma.WR{
		"no such key":   {Op: rdma.Send, Local: rdma.Segment{Key: 1, VA: a.mem.VA, Length: 8}},
		"past the end":  {Op: rdma.Send, Local: a.mem.Segment(memorySize-4, 8)},
		"before":        {Op: rdma.Send, Local: a.mem.Segment(-8, 8)},
		"no operation":  {Op: rdma.Receive},
		"atomic length": {Op: rdma.FetchAdd, Local: a.mem.Segment(0, 4)},
		"inline length": {Op: rdma.Send, Inline: make([]byte, 201)},
		"inline read":   {Op: rdma.Read, Inline: make([]byte, 8)},
		"negative":      {Op: rdma.Send, Local: rdma.Segment{Length: -1}},
	} {
		if n, err := a.qp.Post(wr); n != 0 || !errors.Is(err, rdma.ErrInvalid) {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	r := rdma.ReceiveWR{Local: b.mem.Segment(0, 1000)}
	if n, err := b.qp.PostReceive(r, r, r); n != 2 || !errors.Is(err, rdma.ErrQueueFull) {
		t.Errorf("posted %d receives of 2: %v", n, err)
	}
	one := open(t, s[0], rdma.QPConfig{})
	if _, err := one.qp.Post(rdma.WR{Op: rdma.Send}); !errors.Is(err, rdma.ErrState) {
		t.Errorf("not connected: %v", err)
	}
	inline := []byte("these bytes are the caller's again when Post returns")
	wr := rdma.WR{ID: 1, Op: rdma.Write, Inline: inline, Remote: b.mem.Target(0)}
	post(t, a.qp, wr)
	clear(inline)
	if c := a.next(t); c.Status != rdma.Success || string(b.mem.Bytes[:5]) != "these" {
		t.Errorf("inline: %+v, %q", c, b.mem.Bytes[:10])
	}
}

// Requests without completions give their places back when a later one completes.
func TestUnsignaled(t *testing.T) {
	a, b := pair(t, newLab(t, uverbs.DefaultLimits()), rdma.QPConfig{SendDepth: 4})
	for round := range uint64(10) {
		for i := range uint64(4) {
			post(t, a.qp, rdma.WR{ID: 4*round + i, Op: rdma.Write, Local: a.mem.Segment(0, 64),
				Remote: b.mem.Target(0), Unsignaled: i != 3})
		}
		if c := a.next(t); c.ID != 4*round+3 || c.Status != rdma.Success {
			t.Fatalf("round %d: %+v", round, c)
		}
	}
	post(t, a.qp, rdma.WR{ID: 77, Op: rdma.Write, Local: a.mem.Segment(0, 64), Unsignaled: true,
		Remote: rdma.Target{VA: b.mem.VA, RKey: b.mem.Key + 1}})
	if c := a.next(t); c.ID != 77 || c.Status != rdma.RemoteAccess {
		t.Errorf("a failure is told whatever was asked: %+v", c)
	}
	if e := a.event(t); e.Kind != rdma.QPFatal || e.QP != a.qp {
		t.Errorf("event %+v", e)
	}
	if a.qp.Err() == nil {
		t.Error("the QP does not know that it is in error")
	}
}

// A completion queue that nobody polls overflows: what fits is there, then the queue is in error,
// and so are its QPs.
func TestOverflow(t *testing.T) {
	s := newLab(t, uverbs.DefaultLimits())
	a, b := open(t, s[0], rdma.QPConfig{}), open(t, s[1], rdma.QPConfig{})
	small, err := a.dev.CreateCQ(4)
	if err != nil {
		t.Fatal(err)
	}
	if a.qp, err = a.pd.CreateQP(rdma.QPConfig{SendCQ: small}); err != nil {
		t.Fatal(err)
	}
	connect(t, a, b, s[1].ip)
	connect(t, b, a, s[0].ip)
	for i := range uint64(small.Depth() + 1) {
		post(t, a.qp, rdma.WR{ID: i, Op: rdma.Write, Local: a.mem.Segment(0, 8),
			Remote: b.mem.Target(0)})
	}
	for kinds := map[rdma.EventKind]bool{}; !kinds[rdma.CQError]; {
		e := a.event(t)
		kinds[e.Kind] = true
		if e.Kind == rdma.CQError && e.CQ != small {
			t.Errorf("event %+v", e)
		}
	}
	var c [16]rdma.Completion
	n, err := small.Poll(c[:])
	if n != small.Depth() || err != nil {
		t.Errorf("%d completions, %v", n, err)
	}
	if _, err := small.Wait(t.Context(), c[:]); !errors.Is(err, rdma.ErrCQ) {
		t.Errorf("then %v", err)
	}
	if st, err := a.qp.State(); st != qp.StateErr || err != nil {
		t.Errorf("QP in %v, %v", st, err)
	}
}

// QPs share receives; the limit tells once when few are left; what was taken may be posted again.
func TestSharedReceives(t *testing.T) {
	s := newLab(t, uverbs.DefaultLimits())
	a, b := open(t, s[0], rdma.QPConfig{}), open(t, s[1], rdma.QPConfig{})
	srq, err := b.pd.CreateSRQ(4)
	if err != nil {
		t.Fatal(err)
	}
	if b.qp, err = b.pd.CreateQP(rdma.QPConfig{SendCQ: b.cq, SRQ: srq}); err != nil {
		t.Fatal(err)
	}
	connect(t, a, b, s[1].ip)
	connect(t, b, a, s[0].ip)
	r := rdma.ReceiveWR{Local: b.mem.Segment(0, 64)}
	if n, err := srq.PostReceive(r, r, r, r, r); n != 4 || !errors.Is(err, rdma.ErrQueueFull) {
		t.Fatalf("posted %d: %v", n, err)
	}
	if err := srq.Arm(3); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		post(t, a.qp, rdma.WR{Op: rdma.Send, Local: a.mem.Segment(0, 8)})
		if c := b.next(t); c.Op != rdma.Receive || c.Bytes != 8 {
			t.Fatalf("message %d: %+v", i, c)
		}
		if i == 1 {
			if e := b.event(t); e.Kind != rdma.SRQLimit || e.SRQ != srq {
				t.Errorf("event %+v", e)
			}
		}
		if i == 0 {
			continue // so that two are left after the next
		}
		if n, err := srq.PostReceive(r); n != 1 || err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
	if err := srq.Free(); !errors.Is(err, rdma.ErrInUse) {
		t.Errorf("freed a queue in use: %v", err)
	}
}

// A wait ends with its context, and the next one is none the worse.
func TestWaitEnds(t *testing.T) {
	a, b := pair(t, newLab(t, uverbs.DefaultLimits()), rdma.QPConfig{})
	var c [1]rdma.Completion
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := a.cq.Wait(ctx, c[:])
			ended <- err
		}()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("wait: %v", err)
		}
	}
	post(t, a.qp, rdma.WR{ID: 5, Op: rdma.Write, Local: a.mem.Segment(0, 8),
		Remote: b.mem.Target(0)})
	if c := a.next(t); c.ID != 5 {
		t.Errorf("then %+v", c)
	}
}
