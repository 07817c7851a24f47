package app

import (
	"bytes"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/conform"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/sim"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/qp"
	"pgregory.net/rapid"
)

const us = unit.Time(time.Microsecond)

type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// lab is two hosts back to back.
type lab struct {
	net     *sim.Net
	pool    *frame.Pool
	hosts   [2]*Host
	nodes   [2]*sim.Node
	watches [2]*conform.Monitor
	regions [2]*qp.Region
	locals  [2]nic.Local
}

func newLab(t tester, size int, cfg link.Config, change func(*nic.Config)) *lab {
	t.Helper()
	l := &lab{pool: frame.NewPool(4096, 1400)}
	l.net = sim.New(l.pool)
	for i := range l.hosts {
		c := nic.DefaultConfig()
		c.MAC, c.Rate, c.Seed = wire.MAC{2, 0, 0, 0, 0, byte(i + 1)}, cfg.Rate, uint64(i)
		c.IPv4 = netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)})
		if change != nil {
			change(&c)
		}
		n, err := nic.New(c, l.pool)
		if err != nil {
			t.Fatal(err)
		}
		l.hosts[i] = NewHost(n)
		l.watches[i] = conform.Watch(l.hosts[i], 1)
		l.nodes[i] = l.net.Add("host", l.watches[i], 1)
		access := qp.Access{LocalWrite: true, RemoteWrite: true, RemoteRead: true,
			RemoteAtomic: true}
		if l.regions[i], err = n.RegisterMR(size, access); err != nil {
			t.Fatal(err)
		}
		if l.locals[i], err = n.CreateQP(n.QPConfig()); err != nil {
			t.Fatal(err)
		}
	}
	l.net.Connect(l.nodes[0], 0, l.nodes[1], 0, cfg)
	l.join(t)
	return l
}

// join connects the two QPs and posts receives on the second.
func (l *lab) join(t tester) {
	t.Helper()
	for i, h := range l.hosts {
		peer, cfg := l.locals[1-i], l.hosts[1-i].NIC().Config()
		err := h.NIC().Connect(l.locals[i].QPN,
			nic.Remote{QPN: peer.QPN, PSN: peer.PSN, IP: cfg.IPv4, MAC: cfg.MAC})
		if err != nil {
			t.Fatal(err)
		}
	}
	r := l.regions[1]
	err := l.hosts[1].Listen(0, Sink{QPN: l.locals[1].QPN, Depth: 8,
		Local: qp.Local{Key: r.Key, VA: r.VA, Length: len(r.Bytes)}})
	if err != nil {
		t.Fatal(err)
	}
}

// flow is one from the start of the first host's region to that of the second's.
func (l *lab) flow(op qp.Op, size, depth int) Flow {
	return Flow{QPN: l.locals[0].QPN, Op: op, Depth: depth,
		Local:  qp.Local{Key: l.regions[0].Key, VA: l.regions[0].VA, Length: size},
		Remote: qp.Remote{VA: l.regions[1].VA, RKey: l.regions[1].Key}}
}

func (l *lab) start(t tester, f Flow) {
	t.Helper()
	l.net.Do(l.nodes[0], func(now unit.Time) {
		if _, err := l.hosts[0].Start(now, f); err != nil {
			t.Fatal(err)
		}
	})
}

func (l *lab) check(t tester) {
	t.Helper()
	if err := l.net.Check(); err != nil {
		t.Fatal(err)
	}
	for _, w := range l.watches {
		if len(w.Faults) != 0 {
			t.Fatalf("contract broken: %q", w.Faults)
		}
	}
}

func (l *lab) region(i int) []byte { return l.regions[i].Bytes }

func fill(b []byte, seed byte) {
	for i := range b {
		b[i] = byte(i*7) ^ byte(i>>8) ^ seed
	}
}

// Whatever the wire does to frames, all messages complete once and the peer's memory holds what
// was sent. Rapid draws sizes, faults and the seed of the faults.
func TestMessagesOverABadWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(0, 2100), rapid.IntRange(0, 50_000)).Draw(t, "size")
		p := rapid.SampledFrom([]float64{0, 0.002, 0.02}).Draw(t, "faults")
		l := newLab(t, max(size, 1), link.Config{Rate: 10 * unit.GbPerSecond,
			Delay: time.Microsecond, Seed: rapid.Uint64().Draw(t, "seed"),
			Faults: link.Faults{Loss: p, Corrupt: p, Duplicate: p, Reorder: p,
				ReorderBy: 3 * time.Microsecond}},
			func(c *nic.Config) { c.QP.Timeout = 6 })
		fill(l.region(0), byte(size))
		op := rapid.SampledFrom([]qp.Op{qp.Write, qp.Send}).Draw(t, "op")
		f := l.flow(op, size, rapid.IntRange(1, 4).Draw(t, "depth"))
		f.Messages = 20
		l.start(t, f)
		l.net.Run(unit.Time(100 * time.Millisecond))
		l.check(t)
		_, s := l.hosts[0].Flow(0)
		if !s.Done || s.Completed != 20 || s.Bytes != unit.Bytes(20*size) || s.MCT.Count != 20 {
			t.Fatalf("%d of %d completed, %d failed: %v", s.Completed, s.Posted, s.Failed, s.Status)
		}
		if !bytes.Equal(l.region(0)[:size], l.region(1)[:size]) {
			t.Fatal("the receiver's memory differs")
		}
		sink, _ := l.hosts[1].Sink(l.locals[1].QPN)
		if want := map[qp.Op]uint64{qp.Send: 20}[f.Op]; sink.Messages != want {
			t.Fatalf("%d messages received, want %d", sink.Messages, want)
		}
		if l.pool.InUse() != 0 {
			t.Fatalf("%d frames leaked", l.pool.InUse())
		}
	})
}

// A single flow without congestion fills its link: payload over what headers leave of it.
func TestGoodput(t *testing.T) {
	l := newLab(t, 1<<20, link.Config{Rate: 40 * unit.GbPerSecond, Delay: time.Microsecond}, nil)
	f := l.flow(qp.Write, 1<<20, 4)
	f.Stop = 2000 * us
	l.start(t, f)
	l.net.Run(3500 * us)
	l.check(t)
	_, s := l.hosts[0].Flow(0)
	got := s.Bytes.Over(s.Last.Sub(s.First))
	// 1024 bytes of payload in 14+20+8+12+1024+4 bytes of frame and 24 more on the line.
	if want := 40 * unit.GbPerSecond * 1024 / 1106; got < want*99/100 || got > want {
		t.Errorf("goodput %v, want just under %v", got, want)
	}
	if !s.Done || s.MCT.Quantile(0.5) == 0 || s.MCT.Quantile(0.5) > s.MCT.Max {
		t.Errorf("done %v, message completion times %v", s.Done, s.MCT.Quantile(0.5))
	}
}

// Flow start and stop are kept to the nanosecond.
func TestStartAndStop(t *testing.T) {
	l := newLab(t, 100, link.Config{Rate: 40 * unit.GbPerSecond, Delay: time.Microsecond}, nil)
	f := l.flow(qp.Write, 100, 1)
	f.Start, f.Stop = 50*us, 60*us
	l.start(t, f)
	l.net.Run(50*us - 1)
	if _, s := l.hosts[0].Flow(0); s.Posted != 0 {
		t.Error("started early")
	}
	l.net.Run(200 * us)
	_, s := l.hosts[0].Flow(0)
	if s.First != 50*us || !s.Done || s.Completed != s.Posted || s.Completed < 3 {
		t.Errorf("first %v, done %v, %d of %d", s.First, s.Done, s.Completed, s.Posted)
	}
	// There and back: two delays, a frame of 100 bytes and an acknowledgement.
	if got := s.MCT.Mean(); got < 2*time.Microsecond || got > 2200*time.Nanosecond {
		t.Errorf("message completion time %v", got)
	}
	l.check(t)
}

// A peer that has gone ends the flow with an error, and nothing hangs.
func TestPeerGone(t *testing.T) {
	l := newLab(t, 1000, link.Config{Rate: 40 * unit.GbPerSecond},
		func(c *nic.Config) { c.QP.Timeout = 4 })
	f := l.flow(qp.Write, 1000, 2)
	f.Start = us
	l.start(t, f)
	l.net.At(100*us, l.nodes[1], func(unit.Time) {
		if err := l.hosts[1].NIC().DestroyQP(l.locals[1].QPN); err != nil {
			t.Error(err)
		}
	})
	l.net.Run(unit.Time(10 * time.Millisecond))
	l.check(t)
	_, s := l.hosts[0].Flow(0)
	if !s.Done || s.Failed != 2 || s.Status != qp.RetryExceeded || s.Completed == 0 {
		t.Errorf("%+v", s.Status)
	}
	ledger := l.hosts[1].Ledger()
	if ledger.Dropped[frame.DropUnknownQP].Frames == 0 {
		t.Error("no frame was dropped for the unknown QP")
	}
}

func TestStartRefuses(t *testing.T) {
	l := newLab(t, 100, link.Config{Rate: unit.GbPerSecond}, nil)
	h := l.hosts[0]
	for name, change := range map[string]func(*Flow){
		"unknown QP": func(f *Flow) { f.QPN = 99 },
		"depth":      func(f *Flow) { f.Depth = 1000 },
		"no depth":   func(f *Flow) { f.Depth = 0 },
		"size":       func(f *Flow) { f.Local.Length = -1 },
		"op":         func(f *Flow) { f.Op = qp.Receive },
	} {
		f := l.flow(qp.Write, 100, 1)
		change(&f)
		if _, err := h.Start(0, f); !errors.Is(err, ErrFlow) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := h.Start(0, l.flow(qp.Write, 100, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Start(0, l.flow(qp.Write, 100, 1)); !errors.Is(err, ErrFlow) {
		t.Errorf("second flow on a QP: %v", err)
	}
	for name, s := range map[string]Sink{
		"unknown QP": {QPN: 99, Depth: 1}, "twice": {QPN: l.locals[1].QPN, Depth: 1},
	} {
		if err := l.hosts[1].Listen(0, s); !errors.Is(err, ErrFlow) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := h.Listen(0, Sink{QPN: l.locals[0].QPN, Depth: 1,
		Local: qp.Local{Length: 5}}); !errors.Is(err, qp.ErrLocal) {
		t.Errorf("receives outside of memory: %v", err)
	}
}

// A flow whose messages cannot be posted says why and is done.
func TestFlowOutsideOfMemory(t *testing.T) {
	l := newLab(t, 100, link.Config{Rate: unit.GbPerSecond}, nil)
	l.start(t, l.flow(qp.Write, 101, 1))
	l.net.Run(us)
	if _, s := l.hosts[0].Flow(0); !s.Done || !errors.Is(s.Err, qp.ErrLocal) {
		t.Errorf("done %v, %v", s.Done, s.Err)
	}
}

func TestHistogram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Min(0).Draw(t, "d"))
		b := bucketOf(d)
		if u := upper(b); u < d || float64(u) > float64(d)*1.125+1 {
			t.Fatalf("%d in bucket %d up to %d", d, b, u)
		}
		if b > 0 && upper(b-1) >= d {
			t.Fatalf("%d fits bucket %d already", d, b-1)
		}
	})
	var h Histogram
	for i := range 1000 {
		h.Add(time.Duration(i))
	}
	var twice Histogram
	twice.Merge(&h)
	twice.Merge(&h)
	if twice.Count != 2000 || twice.Below(512) != 1024 || twice.Max != 999 {
		t.Errorf("merged: %d, %d below 512", twice.Count, twice.Below(512))
	}
	var each uint64
	h.Each(func(upTo time.Duration, n uint64) {
		if each += n; each <= uint64(upTo)*7/8 || each > uint64(upTo)+1 {
			t.Errorf("%d durations up to %d", each, upTo)
		}
	})
	if each != h.Count {
		t.Errorf("%d in all buckets, want %d", each, h.Count)
	}
	if m := h.Quantile(0.99); m < 990 || m > 999 || h.Mean() != 499 || h.Max != 999 {
		t.Errorf("p99 %v, mean %v, max %v", m, h.Mean(), h.Max)
	}
	var few Histogram
	for _, d := range []time.Duration{1, 2, 3} {
		few.Add(d)
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.3: 1, 0.5: 2, 0.9: 3, 1: 3} {
		if got := few.Quantile(q); got != want {
			t.Errorf("quantile %v of 1, 2, 3 is %d, want %d", q, got, want)
		}
	}
}
