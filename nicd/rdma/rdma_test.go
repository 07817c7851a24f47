package rdma_test

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/rocelab/rocelab/nicd/rdma"
	"github.com/rocelab/rocelab/nicd/uverbs"
)

// fill writes a pattern that depends on the place.
func fill(b []byte, seed byte) {
	for i := range b {
		b[i] = byte(i>>8) ^ byte(i)*7 ^ seed
	}
}

// A SEND, a WRITE, a READ and the atomics go from program to program by way of both daemons; the
// payload is in the memory that the programs see.
func TestEveryVerb(t *testing.T) {
	a, b := pair(t, newLab(t, uverbs.DefaultLimits()), rdma.QPConfig{})
	fill(a.mem.Bytes[:5000], 1)
	receive(t, b.qp, rdma.ReceiveWR{ID: 7, Local: b.mem.Segment(0, 8192)})
	post(t, a.qp, rdma.WR{ID: 1, Op: rdma.SendImm, Local: a.mem.Segment(0, 5000), Imm: 99})
	if c := b.next(t); c.ID != 7 || c.Op != rdma.Receive || c.Bytes != 5000 || !c.HasImm ||
		c.Imm != 99 || c.QPN != b.qp.QPN() || c.Status != rdma.Success || c.At == 0 {
		t.Errorf("received %+v", c)
	}
	if !bytes.Equal(a.mem.Bytes[:5000], b.mem.Bytes[:5000]) {
		t.Error("SEND: memory differs")
	}
	if c := a.next(t); c.ID != 1 || c.Op != rdma.SendImm || c.Status != rdma.Success ||
		c.Posted == 0 || c.At.Sub(c.Posted) < 2*time.Microsecond {
		t.Errorf("sent %+v", c)
	}
	fill(a.mem.Bytes[:70000], 2)
	post(t, a.qp, rdma.WR{ID: 2, Op: rdma.Write, Local: a.mem.Segment(0, 70000),
		Remote: b.mem.Target(100)})
	if c := a.next(t); c.ID != 2 || c.Status != rdma.Success ||
		!bytes.Equal(a.mem.Bytes[:70000], b.mem.Bytes[100:70100]) {
		t.Errorf("WRITE: %+v", c)
	}
	post(t, a.qp, rdma.WR{ID: 3, Op: rdma.Read, Local: a.mem.Segment(200000, 3001),
		Remote: b.mem.Target(1000)})
	if c := a.next(t); c.ID != 3 || c.Status != rdma.Success ||
		!bytes.Equal(a.mem.Bytes[200000:203001], b.mem.Bytes[1000:4001]) {
		t.Errorf("READ: %+v", c)
	}
	binary.NativeEndian.PutUint64(b.mem.Bytes[800000:], 40)
	post(t, a.qp, rdma.WR{ID: 4, Op: rdma.FetchAdd, Local: a.mem.Segment(0, 8),
		Remote: b.mem.Target(800000), SwapAdd: 2})
	if c := a.next(t); c.ID != 4 || binary.NativeEndian.Uint64(a.mem.Bytes) != 40 ||
		binary.NativeEndian.Uint64(b.mem.Bytes[800000:]) != 42 {
		t.Errorf("FETCH_ADD: %+v", c)
	}
	post(t, a.qp, rdma.WR{ID: 5, Op: rdma.CmpSwap, Local: a.mem.Segment(0, 8),
		Remote: b.mem.Target(800000), Compare: 42, SwapAdd: 7})
	if c := a.next(t); c.ID != 5 || binary.NativeEndian.Uint64(a.mem.Bytes) != 42 ||
		binary.NativeEndian.Uint64(b.mem.Bytes[800000:]) != 7 {
		t.Errorf("CMP_SWAP: %+v", c)
	}
}
