package qp

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/rocelab/rocelab/roce/ib"
)

// exchange moves one work request from post to completion, through packets in memory: headers are
// built and opened, the ICRC is made and checked.
type exchange struct {
	a, b   []*side
	frame  []byte
	polled [4]Completion
}

func newExchange(b testing.TB, qps int) *exchange {
	b.Helper()
	e := &exchange{frame: make([]byte, 8192)}
	cfg := DefaultConfig()
	cfg.PD, cfg.MTU, cfg.SendQueue, cfg.ReceiveQueue = 1, 4096, 2, 2
	x0, y0 := newSide(b, 0, nil), newSide(b, 1, nil)
	for i := range qps {
		cfg.QPN = ib.QPN(16 + i)
		x, y := *x0, *y0 // one memory for all, as in a NIC
		x.QP = New(cfg, x0.mem, NewCQ(4), &x0.counters)
		y.QP = New(cfg, y0.mem, NewCQ(4), &y0.counters)
		connect(b, &x, &y, 0, 0)
		e.a, e.b = append(e.a, &x), append(e.b, &y)
	}
	return e
}

func (e *exchange) move(b testing.TB, from, to *side, o *ib.Outgoing) {
	n := from.headers.Build(e.frame, o)
	p, ok := ib.Open(e.frame[:n], 14, 34)
	if !ok || !p.CheckICRC() {
		b.Fatal("own packet refused")
	}
	to.Receive(0, &p)
}

// message carries out one request and returns how many packets that took.
func (e *exchange) message(b testing.TB, i int, wr *WR) (packets int) {
	x, y := e.a[i], e.b[i]
	if wr.Op.takesReceive() {
		if err := y.PostReceive(0, ReceiveWR{Local: y.local(0, regionSize)}); err != nil {
			b.Fatal(err)
		}
	}
	if err := x.Post(0, *wr); err != nil {
		b.Fatal(err)
	}
	var o ib.Outgoing
	for x.Next(0, 0, &o) {
		e.move(b, x, y, &o)
		packets++
		for y.Next(0, 0, &o) || y.NextResponse(&o) {
			e.move(b, y, x, &o)
			packets++
		}
	}
	if x.CQ().Poll(e.polled[:]) != 1 || e.polled[0].Status != Success {
		b.Fatalf("not complete: %+v", e.polled[0])
	}
	y.CQ().Poll(e.polled[:])
	return packets
}

func (e *exchange) wr(op Op, n int) *WR {
	return &WR{Op: op, Local: e.a[0].local(0, n), Remote: e.b[0].remote(0)}
}

func (e *exchange) run(b *testing.B, wr *WR) {
	packets, i := 0, 0
	b.SetBytes(int64(wr.Local.Length))
	b.ReportAllocs()
	for b.Loop() {
		packets += e.message(b, i, wr)
		if i++; i == len(e.a) {
			i = 0
		}
	}
	seconds := b.Elapsed().Seconds()
	b.ReportMetric(float64(b.N)/seconds, "messages/s")
	b.ReportMetric(seconds*1e9/float64(packets), "ns/packet")
}

// sizes of messages: the smallest that means something, a packet, sixteen packets.
var sizes = []int{8, 4096, 65536}

// Requester plus responder on one core, both ends' work on headers, ICRC and memory included.
func BenchmarkMessages(b *testing.B) {
	for _, op := range []Op{Send, Write, Read, FetchAdd} {
		for _, n := range sizes {
			if op == FetchAdd && n != AtomicLen {
				continue
			}
			b.Run(fmt.Sprintf("%v/%d", op, n), func(b *testing.B) {
				e := newExchange(b, 1)
				e.run(b, e.wr(op, min(n, regionSize)))
			})
		}
	}
}

// The same work spread over many QPs, which no longer fit the caches.
func BenchmarkQPs(b *testing.B) {
	for _, qps := range []int{1, 10, 100, 1000, 10_000} {
		b.Run(fmt.Sprint(qps), func(b *testing.B) {
			e := newExchange(b, qps)
			e.run(b, e.wr(Write, 8))
		})
	}
}

// A message of any kind, from post to poll, makes no garbage, with one QP or with many.
func TestNoAllocation(t *testing.T) {
	for _, qps := range []int{1, 100} {
		e, i := newExchange(t, qps), 0
		for _, op := range []Op{Send, SendImm, Write, WriteImm, Read, FetchAdd, CmpSwap} {
			wr := e.wr(op, 5000)
			if op.Atomic() {
				wr = e.wr(op, AtomicLen)
			}
			if n := testing.AllocsPerRun(100, func() {
				e.message(t, i, wr)
				i = (i + 1) % qps
			}); n != 0 {
				t.Errorf("%v over %d QPs: %v allocations", op, qps, n)
			}
		}
	}
}

// maxState bounds what the transport of a QP takes beside its queues, whose lengths are the owner's
// choice, and what it keeps of READs and atomics, whose number the peers agree on. nicd/nic
// bounds it together with congestion control.
const maxState = 640

// The memory of a QP. What the queues take is printed too.
func TestMemoryPerQP(t *testing.T) {
	size := func(v any) int { return int(reflect.TypeOf(v).Size()) }
	c := DefaultConfig()
	t.Logf("QP %d bytes; a send %d, a receive %d, a READ or atomic kept %d, a completion %d",
		size(QP{}), size(sendWQE{}), size(receiveWQE{}), size(resource{}), size(Completion{}))
	queues := c.SendQueue*size(sendWQE{}) + c.ReceiveQueue*size(receiveWQE{}) +
		(c.SendQueue+c.ReceiveQueue)*size(Completion{})
	kept := c.Resources * size(resource{})
	t.Logf("by default %d bytes of queues, %d of kept READs and atomics", queues, kept)
	if size(QP{}) > maxState {
		t.Errorf("%d bytes of state, at most %d", size(QP{}), maxState)
	}
	c.Resources = 0 // as the connection manager agrees for tools that only write
	q := New(c, nil, NewCQ(1), nil)
	in := q.receives(1, 2)
	if err := errors.Join(q.Init(), q.ReadyToReceive(in)); err != nil ||
		len(q.resp.kept.slots) != 0 {
		t.Errorf("%v; keeps room for %d answers that nobody agreed on", err,
			len(q.resp.kept.slots))
	}
}
