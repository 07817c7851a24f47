package qp

import (
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

func newExchange(b *testing.B, qps int) *exchange {
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

func (e *exchange) move(b *testing.B, from, to *side, o *ib.Outgoing) {
	n := from.headers.Build(e.frame, o)
	p, ok := ib.Open(e.frame[:n], 14, 34)
	if !ok || !p.CheckICRC() {
		b.Fatal("own packet refused")
	}
	to.Receive(0, &p)
}

// message carries out one request and returns how many packets that took.
func (e *exchange) message(b *testing.B, i int, wr *WR) (packets int) {
	x, y := e.a[i], e.b[i]
	if err := x.Post(*wr); err != nil {
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

// Requester plus responder on one core, both ends' work on the headers included.
func BenchmarkMessages(b *testing.B) {
	for _, op := range []Op{Write, Read, FetchAdd} {
		for _, n := range []int{8, 4096, 65536} {
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
	for _, qps := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprint(qps), func(b *testing.B) {
			e := newExchange(b, qps)
			e.run(b, e.wr(Write, 8))
		})
	}
}

// maxState bounds what a QP takes beside its queues, whose lengths are the owner's choice.
const maxState = 1024

// The memory of a QP. What the queues take is printed too.
func TestMemoryPerQP(t *testing.T) {
	size := func(v any) int { return int(reflect.TypeOf(v).Size()) }
	c := DefaultConfig()
	t.Logf("QP %d bytes; a send %d, a receive %d, a READ or atomic kept %d, a completion %d",
		size(QP{}), size(sendWQE{}), size(receiveWQE{}), size(resource{}), size(Completion{}))
	t.Logf("by default %d bytes of kept READs and atomics", c.Resources*size(resource{}))
	if size(QP{}) > maxState {
		t.Errorf("%d bytes of state, at most %d", size(QP{}), maxState)
	}
}
