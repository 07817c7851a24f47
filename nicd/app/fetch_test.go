package app

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/qp"
)

// Flows that fetch: READs and atomics complete over a wire with faults, the answers to READs are
// paced as data, and each atomic is executed once.
func TestFetchingOverABadWire(t *testing.T) {
	for _, op := range []qp.Op{qp.Read, qp.FetchAdd, qp.CmpSwap} {
		l := newLab(t, 50_000, link.Config{Rate: 10 * unit.GbPerSecond,
			Delay: time.Microsecond, Seed: 1,
			Faults: link.Faults{Loss: 0.02, Corrupt: 0.02, Duplicate: 0.02, Reorder: 0.02,
				ReorderBy: 3 * time.Microsecond}},
			func(c *nic.Config) { c.QP.Timeout = 6 })
		size := 8
		if op == qp.Read {
			size = 50_000
			fill(l.region(1), 9)
		}
		f := l.flow(op, size, 4)
		f.Messages = 40
		l.start(t, f)
		l.net.Run(unit.Time(time.Second))
		_, s := l.hosts[0].Flow(0)
		if !s.Done || s.Completed != 40 || s.Failed != 0 || s.Bytes != unit.Bytes(40*size) {
			t.Errorf("%v: %d messages of %d bytes, %d failed: %v", op, s.Completed, s.Bytes,
				s.Failed, s.Status)
		}
		switch op {
		case qp.Read:
			if !bytes.Equal(l.region(0), l.region(1)) {
				t.Error("READ brought other bytes")
			}
		case qp.FetchAdd:
			if n := binary.NativeEndian.Uint64(l.region(1)); n != 40 {
				t.Errorf("40 FETCH_ADD made %d", n)
			}
		}
		l.check(t)
	}
}

// One READ flow takes the wire as a WRITE flow does: goodput is the link's but for the headers.
func TestReadGoodput(t *testing.T) {
	l := newLab(t, 1<<20, link.Config{Rate: 10 * unit.GbPerSecond, Delay: time.Microsecond}, nil)
	l.start(t, l.flow(qp.Read, 1<<20, 2))
	l.net.Run(unit.Time(10 * time.Millisecond))
	_, s := l.hosts[0].Flow(0)
	rate := float64(s.Bytes) * 8 / 10e-3
	if rate < 0.85*10e9 || rate > 0.95*10e9 {
		t.Errorf("goodput %.3g b/s of 10 Gb/s", rate)
	}
	l.check(t)
}
