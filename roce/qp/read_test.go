package qp

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/roce/ib"
)

func reader(t *testing.T, n int, change func(*Config)) (a, b *side) {
	t.Helper()
	a, b = pair(t, change)
	b.fill(5)
	a.post(t, WR{ID: 1, Op: Read, Local: a.local(0, n), Remote: b.remote(0)})
	return a, b
}

// IBTA 9.4.4: sizes around packet boundaries, over the wrap of the PSN.
func TestReadSizes(t *testing.T) {
	for _, n := range []int{0, 1, 3, 255, 256, 257, 512, 5000} {
		a, b := reader(t, n, nil)
		a.post(t, WR{ID: 2, Op: Write, Local: a.local(40_000, 9), Remote: b.remote(6000)})
		settle(t, 0, a, b)
		got := a.polled()
		wantStatus(t, got, Success, Success)
		if got[0].ID != 1 || got[0].Op != Read || got[0].Bytes != n {
			t.Errorf("%+v", got[0])
		}
		sameBytes(t, "fetched", a.region.Bytes[:n], b.region.Bytes[:n])
		sameBytes(t, "behind", a.region.Bytes[n:], make([]byte, regionSize-n))
		if a.counters != (Counters{}) || b.Stats.PacketsRetransmitted != 0 {
			t.Errorf("%d bytes: %+v", n, a.counters)
		}
	}
}

// A response that is lost is found out by the next one (implied NAK), which asks for what is
// missing and no more; what else comes of the old answer is not taken for another loss.
func TestReadResumesInTheMiddle(t *testing.T) {
	a, b := reader(t, 256*6, nil)
	b.receive(t, 0, a.next(0))
	a.receive(t, 0, b.next(0))
	a.receive(t, 0, b.next(0))
	b.next(0) // lost
	for range 3 {
		a.receive(t, 0, b.next(0))
	}
	p := opened(t, a.next(0))
	if p.BTH.PSN() != ib.PSN(0xfffffe).Add(2) || p.RETH.VA() != b.region.VA+512 ||
		p.RETH.Length() != 1024 {
		t.Fatalf("asks again for PSN %d, VA +%d, %d bytes", p.BTH.PSN(), p.RETH.VA()-b.region.VA,
			p.RETH.Length())
	}
	b.receive(t, 0, a.packet(&ib.Outgoing{Opcode: ib.ReadRequest, PSN: p.BTH.PSN(),
		RDMA: ib.RDMA{VA: p.RETH.VA(), RKey: p.RETH.RKey(), Length: 1024}}))
	for _, want := range []ib.Opcode{ib.ReadResponseFirst, ib.ReadResponseMiddle,
		ib.ReadResponseMiddle, ib.ReadResponseLast} {
		r := b.next(0)
		if got := opened(t, r).BTH.Opcode(); got != want {
			t.Errorf("%v, want %v", got, want)
		}
		a.receive(t, 0, r)
	}
	wantStatus(t, a.polled(), Success)
	sameBytes(t, "fetched", a.region.Bytes[:1536], b.region.Bytes[:1536])
	if a.counters.ImpliedNakSeqErr != 1 || b.counters.DuplicateRequest != 1 {
		t.Errorf("%+v, %+v", a.counters, b.counters)
	}
}

// The answer never comes: the timer, and the whole again. IBTA 9.7.6.1.3.
func TestReadTimeout(t *testing.T) {
	a, b := reader(t, 1000, nil)
	b.receive(t, 0, a.next(0))
	for b.next(0) != nil {
	}
	now := a.Deadline()
	if !a.Wake(now) {
		t.Fatal("no timeout")
	}
	settle(t, now, a, b)
	wantStatus(t, a.polled(), Success)
	sameBytes(t, "fetched", a.region.Bytes[:1000], b.region.Bytes[:1000])
}

// Each response restarts the timer, so that a long answer may take longer than one timeout.
func TestReadProgressRestartsTimer(t *testing.T) {
	a, b := reader(t, 512, nil)
	b.receive(t, 0, a.next(0))
	before := a.Deadline()
	a.receive(t, 1000, b.next(1000))
	if a.Deadline() != before+1000 {
		t.Errorf("deadline %v after %v", a.Deadline(), before)
	}
}

// An ACK behind a READ whose answer is missing acknowledges nothing of it.
func TestAckBehindLostRead(t *testing.T) {
	a, b := reader(t, 10, nil)
	a.post(t, WR{ID: 2, Op: Write, Local: a.local(0, 9), Remote: b.remote(6000)})
	b.receive(t, 0, a.next(0))
	b.receive(t, 0, a.next(0))
	if b.HasResponse() {
		t.Error("the ACK may overtake the READ's answer")
	}
	b.next(0) // lost
	a.receive(t, 0, b.answer())
	wantStatus(t, a.polled())
	settle(t, 0, a, b)
	wantStatus(t, a.polled(), Success, Success)
}

// IBTA 9.4.4: no more in flight than the peer can keep; a peer that breaks this is refused.
func TestReadDepth(t *testing.T) {
	a, b := reader(t, 300, func(c *Config) { c.ReadDepth, c.Resources = 2, 2 })
	for range 3 {
		a.post(t, WR{Op: FetchAdd, Local: a.local(512, 8), Remote: b.remote(512)})
	}
	b.receive(t, 0, a.next(0))
	b.receive(t, 0, a.next(0))
	if a.Pending(0) {
		t.Error("a third READ or atomic in flight")
	}
	a.receive(t, 0, b.next(0))
	if a.Pending(0) {
		t.Error("half an answer frees a place")
	}
	settle(t, 0, a, b)
	wantStatus(t, a.polled(), Success, Success, Success, Success)

	c, d := reader(t, 300, func(c *Config) { c.ReadDepth, c.Resources = 3, 2 })
	for range 2 {
		c.post(t, WR{Op: Read, Local: c.local(512, 8), Remote: d.remote(512)})
	}
	settle(t, 0, c, d) // the first answers go out before the third asks
	wantStatus(t, c.polled(), Success, Success, Success)
	for range 3 {
		c.post(t, WR{Op: Read, Local: c.local(512, 8), Remote: d.remote(512)})
		d.receive(t, 0, c.next(0))
	}
	settle(t, 0, c, d)
	wantStatus(t, c.polled(), Success, Success, RemoteInvalidRequest)
}

func TestReadNotOffered(t *testing.T) {
	a, _ := pair(t, func(c *Config) { c.ReadDepth = 0 })
	if err := a.Post(0, WR{Op: Read}); !errors.Is(err, ErrOp) {
		t.Error(err)
	}
	if err := a.Post(0, WR{Op: CmpSwap}); !errors.Is(err, ErrOp) {
		t.Error(err)
	}
	c, d := pair(t, func(c *Config) { c.Resources = 0 })
	c.post(t, WR{Op: Read, Remote: d.remote(0)})
	settle(t, 0, c, d)
	wantStatus(t, c.polled(), RemoteInvalidRequest)
}

// IBTA 9.4.5: a repeated atomic is answered from memory, and executed once.
func TestAtomics(t *testing.T) {
	a, b := pair(t, nil)
	counter := func() uint64 { return binary.NativeEndian.Uint64(b.region.Bytes[64:]) }
	found := func() uint64 { return binary.NativeEndian.Uint64(a.region.Bytes[8:]) }
	for i, c := range []struct {
		op            Op
		swap, compare uint64
		before, after uint64
	}{
		{FetchAdd, 5, 0, 0, 5}, {FetchAdd, ^uint64(0), 0, 5, 4}, {CmpSwap, 9, 3, 4, 4},
		{CmpSwap, 9, 4, 4, 9}, {CmpSwap, 1 << 63, 9, 9, 1 << 63},
	} {
		a.post(t, WR{Op: c.op, Local: a.local(8, 8), Remote: b.remote(64),
			Atomic: ib.AtomicOperands{SwapAdd: c.swap, Compare: c.compare}})
		request := a.next(0)
		for range 3 {
			b.receive(t, 0, request)
			p := opened(t, b.answer())
			if p.AtomicAck.Original() != c.before || p.AETH.MSN() != ib.MSN(i+1) {
				t.Errorf("%d: found %d, MSN %d", i, p.AtomicAck.Original(), p.AETH.MSN())
			}
		}
		b.receive(t, 0, request)
		a.receive(t, 0, b.answer())
		wantStatus(t, a.polled(), Success)
		if counter() != c.after || found() != c.before {
			t.Errorf("%d: %v made %d of %d, want %d of %d", i, c.op, counter(), found(), c.after,
				c.before)
		}
	}
}

// A repeated request that is not what was asked for at its PSN is not answered.
func TestDuplicatesThatDoNotMatch(t *testing.T) {
	a, b := reader(t, 600, nil)
	settle(t, 0, a, b)
	for _, o := range []ib.Outgoing{
		{Opcode: ib.ReadRequest, PSN: 0xffffff,
			RDMA: ib.RDMA{VA: b.region.VA, RKey: b.region.Key, Length: 344}},
		{Opcode: ib.ReadRequest, PSN: 0xfffffe,
			RDMA: ib.RDMA{VA: b.region.VA, RKey: b.region.Key, Length: 601}},
		{Opcode: ib.ReadRequest, PSN: 0xfffffe,
			RDMA: ib.RDMA{VA: b.region.VA, RKey: b.region.Key + 1, Length: 600}},
		{Opcode: ib.FetchAdd, PSN: 0xfffffe,
			RDMA: ib.RDMA{VA: b.region.VA, RKey: b.region.Key}},
		{Opcode: ib.ReadRequest, PSN: 0xfffffd,
			RDMA: ib.RDMA{VA: b.region.VA, RKey: b.region.Key, Length: 10}},
	} {
		if why := b.receive(t, 0, a.packet(&o)); why != frame.DropUnexpected || b.Pending(0) ||
			b.HasResponse() {
			t.Errorf("%v at %d of %d bytes: %v", o.Opcode, o.PSN, o.RDMA.Length, why)
		}
	}
}

// A region that is deregistered in the middle of a message is touched no more.
func TestDeregisteredUnderWay(t *testing.T) {
	a, b := reader(t, 600, nil)
	b.receive(t, 0, a.next(0))
	a.receive(t, 0, b.next(0))
	b.mem.Deregister(b.region)
	settle(t, 0, a, b)
	wantStatus(t, a.polled(), RemoteOperational)
	sameBytes(t, "not fetched", a.region.Bytes[256:], make([]byte, regionSize-256))

	a, b = reader(t, 600, nil)
	b.receive(t, 0, a.next(0))
	a.mem.Deregister(a.region)
	a.receive(t, 0, b.next(0))
	wantStatus(t, a.polled(), LocalProtection)

	a, b = pair(t, nil)
	a.fill(1)
	a.post(t, WR{Op: Write, Local: a.local(0, 600), Remote: b.remote(0)})
	b.receive(t, 0, a.next(0))
	b.mem.Deregister(b.region)
	settle(t, 0, a, b)
	wantStatus(t, a.polled(), RemoteAccess)
	sameBytes(t, "not written", b.region.Bytes[256:], make([]byte, regionSize-256))

	a, b = pair(t, nil)
	a.post(t, WR{ID: 1, Op: Write, Local: a.local(0, 9), Remote: b.remote(0)})
	a.next(0)
	a.post(t, WR{ID: 2, Op: Write, Local: a.local(0, 9), Remote: b.remote(0)})
	a.mem.Deregister(a.region)
	if a.next(0) != nil {
		t.Error("sends what is no longer registered")
	}
	wantStatus(t, a.polled(), Flushed, LocalProtection)
}

// A response of another shape than the request ends the connection rather than memory.
func TestBadResponses(t *testing.T) {
	for _, o := range []ib.Outgoing{
		{Opcode: ib.ReadResponseFirst, Payload: make([]byte, 255)},
		{Opcode: ib.ReadResponseOnly, Payload: make([]byte, 256)},
		{Opcode: ib.AtomicAcknowledge},
		{Opcode: ib.ReadResponseFirst, Payload: make([]byte, 256),
			AETH: ib.Acknowledgement{Syndrome: ib.NAKSequence}},
	} {
		a, _ := reader(t, 600, nil)
		a.next(0)
		o.PSN = 0xfffffe
		a.receive(t, 0, a.packet(&o))
		wantStatus(t, a.polled(), BadResponse)
	}
}

// The peer may ask for more as soon as it has the oldest answer, though that is owed again to a
// repeated request which came late.
func TestReadDepthAfterRepeat(t *testing.T) {
	a, b := pair(t, func(c *Config) { c.ReadDepth, c.Resources = 1, 1 })
	for range 2 {
		a.post(t, WR{Op: Read, Local: a.local(0, 9), Remote: b.remote(0)})
	}
	first := a.next(0)
	b.receive(t, 0, first)
	a.receive(t, 0, b.next(0))
	b.receive(t, 0, first)
	b.receive(t, 0, a.next(0))
	settle(t, 0, a, b)
	wantStatus(t, a.polled(), Success, Success)
}
