package perftest

import (
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/rdma"
	"github.com/rocelab/rocelab/roce/ib"
)

// world is two ideal NICs on a link, in virtual time: messages are serialised at the link's rate
// with the headers of their packets, arrive after its delay, and are acknowledged at once. Nothing
// takes time but the link. Time goes on when both programs wait, so results are exact.
type world struct {
	mu     sync.Mutex
	woken  *sync.Cond
	now    unit.Time
	seq    int
	events eventQueue
	rate   unit.Rate
	delay  time.Duration
	nics   [2]*model
	free   [2]unit.Time   // when the wire of a side is idle
	serial [2]unit.Serial // of that wire
}

type event struct {
	at  unit.Time
	seq int
	do  func()
}

type eventQueue []event

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(e any)   { *q = append(*q, e.(event)) }
func (q *eventQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func newWorld(rate unit.Rate, delay time.Duration) *world {
	w := &world{rate: rate, delay: delay}
	w.woken = sync.NewCond(&w.mu)
	for i := range w.nics {
		w.nics[i] = &model{w: w, side: i, qps: map[ib.QPN]*modelQP{}, dials: make(chan *modelQP)}
	}
	return w
}

func (w *world) after(at unit.Time, do func()) {
	w.seq++
	heap.Push(&w.events, event{at, w.seq, do})
}

// carry sends bytes of payload over a side's wire and calls back when the last has arrived.
func (w *world) carry(side, payload, mtu int, arrived func()) {
	packets := max(1, (payload+mtu-1)/mtu)
	w.free[side] = max(w.free[side], w.now).Add(
		w.serial[side].Time(unit.Bytes(payload+packets*header), w.rate))
	w.after(w.free[side].Add(w.delay), arrived)
}

// advance handles the next event if both programs wait.
func (w *world) advance() bool {
	for _, m := range w.nics {
		// Who has something to do is about to wake.
		if !m.idle || m.waits != nil && len(m.waits.queue) > 0 {
			return false
		}
	}
	if len(w.events) == 0 {
		return false
	}
	e := heap.Pop(&w.events).(event)
	w.now = max(w.now, e.at)
	e.do()
	w.woken.Broadcast()
	return true
}

// model is one of the NICs.
type model struct {
	w     *world
	side  int
	idle  bool     // its program waits
	waits *modelCQ // for this, if not for the other end
	qps   map[ib.QPN]*modelQP
	dials chan *modelQP
	mtu   int
	drop  bool // every message is lost
	slow  int  // it loses so many times the time that passes for it
	warn  io.Writer
}

func (m *model) ip() netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(1 + m.side)}) }

func (m *model) Query() (rdma.Attributes, error) {
	return rdma.Attributes{Name: fmt.Sprintf("nic%d", m.side), Addresses: []netip.Addr{m.ip()},
		MTU: 1024, MaxReadDepth: 16, Rate: m.w.rate}, nil
}

func (m *model) Now() unit.Time {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	return m.w.now
}

// Lost is by the world's time, which is the NIC's.
func (m *model) Lost() time.Duration {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	return m.lost()
}

func (m *model) lost() time.Duration { return time.Duration(m.slow) * time.Duration(m.w.now) }

func (m *model) open(c *Config, lay *layout, _ depths) (*resources, error) {
	return m.make(lay.bytes(), c.QPs), nil
}

func (m *model) control(size int) (*resources, error) {
	return m.make((controlReceives+1)*size, 1), nil
}

func (m *model) make(size, count int) *resources {
	cq := &modelCQ{m: m}
	r := &resources{cq: cq, close: func() {}}
	// Places of both sides differ, so that confusing them is an error.
	r.mem = &rdma.Memory{Bytes: make([]byte, size), VA: uint64(m.side+1) << 40, Key: 7}
	for range count {
		q := &modelQP{m: m, qpn: ib.QPN(16 + len(m.qps) + 100*m.side), cq: cq, mem: r.mem}
		m.qps[q.qpn] = q
		r.qps = append(r.qps, q)
	}
	r.connect = func(_ context.Context, qp int, _, peer Keys, mtu int) error {
		m.mtu = mtu
		r.qps[qp].(*modelQP).peer = m.w.nics[1-m.side].qps[peer.QPN]
		return nil
	}
	return r
}

func (m *model) listen(uint16, time.Duration) (listener, error) { return m, nil }

func (m *model) Close() error { return nil }

func (m *model) dial(ctx context.Context, _ netip.AddrPort, q queuePair,
	_ rdma.Params) (connection, error) {
	m.mtu = 1024
	m.mark(true)
	defer m.mark(false)
	return modelConn{}, m.meet(ctx, m.w.nics[1-m.side].dials, q.(*modelQP))
}

func (m *model) accept(ctx context.Context, q queuePair, _ rdma.Params) (connection, error) {
	m.mtu = 1024
	m.mark(true)
	defer m.mark(false)
	select {
	case peer := <-m.dials:
		q.(*modelQP).peer, peer.peer = peer, q.(*modelQP)
		return modelConn{}, m.meet(ctx, m.dials, nil)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (m *model) meet(ctx context.Context, c chan *modelQP, q *modelQP) error {
	if q == nil {
		<-c // the dialer has seen that it is connected
		return nil
	}
	for range 2 {
		select {
		case c <- q:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

type modelConn struct{}

func (modelConn) Disconnect(context.Context) error { return nil }
func (modelConn) Disconnected() <-chan struct{}    { return nil }

// modelCQ is a completion queue without bound.
type modelCQ struct {
	m     *model
	queue []rdma.Completion
}

func (c *modelCQ) Poll(dst []rdma.Completion) (int, error) {
	c.m.w.mu.Lock()
	defer c.m.w.mu.Unlock()
	return c.take(dst), nil
}

func (c *modelCQ) take(dst []rdma.Completion) int {
	n := copy(dst, c.queue)
	c.queue = c.queue[n:]
	return n
}

// Wait lets time go on. When its context ends in a world in which nothing happens any more, some
// time has passed.
func (c *modelCQ) Wait(ctx context.Context, dst []rdma.Completion) (int, error) {
	w := c.m.w
	defer context.AfterFunc(ctx, func() { w.mu.Lock(); w.woken.Broadcast(); w.mu.Unlock() })()
	w.mu.Lock()
	defer w.mu.Unlock()
	c.m.idle, c.m.waits = true, c
	defer func() { c.m.idle, c.m.waits = false, nil }()
	for len(c.queue) == 0 {
		if ctx.Err() != nil {
			w.now = w.now.Add(time.Millisecond)
			return 0, ctx.Err()
		}
		if !w.advance() {
			w.woken.Wait()
		}
	}
	return c.take(dst), nil
}

// modelQP is a queue pair.
type modelQP struct {
	m        *model
	qpn      ib.QPN
	cq       *modelCQ
	mem      *rdma.Memory
	peer     *modelQP
	receives []rdma.ReceiveWR
}

func (q *modelQP) QPN() ib.QPN { return q.qpn }

func (q *modelQP) PostReceive(wr ...rdma.ReceiveWR) (int, error) {
	q.m.w.mu.Lock()
	defer q.m.w.mu.Unlock()
	q.receives = append(q.receives, wr...)
	return len(wr), nil
}

var errNotConnected = errors.New("not connected")

func (q *modelQP) Post(wrs ...rdma.WR) (int, error) {
	q.m.w.mu.Lock()
	defer q.m.w.mu.Unlock()
	if q.peer == nil {
		return 0, errNotConnected
	}
	for _, wr := range wrs {
		q.begin(wr)
	}
	return len(wrs), nil
}

// begin sends what a request sends; completions come back after the link's delay.
func (q *modelQP) begin(wr rdma.WR) {
	w, m, peer, posted := q.m.w, q.m, q.peer, q.m.w.now
	if m.drop {
		w.after(w.now.Add(time.Second), func() { q.end(wr, posted, rdma.RetryExceeded) })
		return
	}
	back := func(s rdma.Status) { w.after(w.now.Add(w.delay), func() { q.end(wr, posted, s) }) }
	switch wr.Op {
	case rdma.Send:
		payload := append([]byte(nil), slice(q.mem, wr.Local)...)
		w.carry(m.side, len(payload), m.mtu, func() {
			if len(peer.receives) == 0 {
				back(rdma.RNRRetryExceeded)
				return
			}
			r := peer.receives[0]
			peer.receives = peer.receives[1:]
			copy(slice(peer.mem, r.Local), payload)
			peer.cq.queue = append(peer.cq.queue, rdma.Completion{ID: r.ID, QPN: peer.qpn,
				Op: rdma.Receive, Bytes: len(payload), At: w.now, Lost: peer.m.lost()})
			back(rdma.Success)
		})
	case rdma.Write:
		payload := append([]byte(nil), slice(q.mem, wr.Local)...)
		w.carry(m.side, len(payload), m.mtu, func() {
			copy(slice(peer.mem, rdma.Segment{VA: wr.Remote.VA, Length: len(payload)}), payload)
			back(rdma.Success)
		})
	default:
		w.carry(m.side, 0, m.mtu, func() { q.fetch(wr, posted) })
	}
}

// fetch is the peer's part of a READ or an atomic.
func (q *modelQP) fetch(wr rdma.WR, posted unit.Time) {
	w, peer := q.m.w, q.peer
	there := slice(peer.mem, rdma.Segment{VA: wr.Remote.VA, Length: wr.Local.Length})
	data := append([]byte(nil), there...)
	v := binary.NativeEndian.Uint64(append(data[:len(data):len(data)], make([]byte, 8)...))
	switch {
	case wr.Op == rdma.FetchAdd:
		binary.NativeEndian.PutUint64(there, v+wr.SwapAdd)
	case wr.Op == rdma.CmpSwap && v == wr.Compare:
		binary.NativeEndian.PutUint64(there, wr.SwapAdd)
	}
	w.carry(peer.m.side, len(data), q.m.mtu, func() {
		copy(slice(q.mem, wr.Local), data)
		q.end(wr, posted, rdma.Success)
	})
}

func (q *modelQP) end(wr rdma.WR, posted unit.Time, s rdma.Status) {
	if s != rdma.Success || !wr.Unsignaled {
		q.cq.queue = append(q.cq.queue, rdma.Completion{ID: wr.ID, QPN: q.qpn, Op: wr.Op,
			Status: s, At: q.m.w.now, Posted: posted, Lost: q.m.lost()})
	}
}

// slice is the memory that a segment names; it panics if it is not of that memory.
func slice(m *rdma.Memory, s rdma.Segment) []byte {
	at := s.VA - m.VA
	return m.Bytes[at : at+uint64(s.Length)]
}

// idleConn marks a program that reads from the peer as waiting.
type idleConn struct {
	*net.TCPConn
	m *model
}

func (c idleConn) Read(b []byte) (int, error) {
	c.m.mark(true)
	defer c.m.mark(false)
	return c.TCPConn.Read(b)
}

func (m *model) mark(idle bool) {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	m.idle = idle
	m.w.woken.Broadcast()
}

func peerTargets(r *resources) []rdma.Target {
	return []rdma.Target{{VA: r.mem.VA, RKey: r.mem.Key}}
}
