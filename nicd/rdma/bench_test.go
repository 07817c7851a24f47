package rdma_test

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/app"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/nicd/rdma"
	"github.com/rocelab/rocelab/nicd/uverbs"
	"github.com/rocelab/rocelab/roce/qp"
)

// depth of the benchmarks' send queues.
const depth = 64

// BenchmarkMessages compares messages of a program, by way of its daemon, with those of a flow
// inside the daemon: the ratio is what the interface costs. Both daemons and the program share the
// machine.
func BenchmarkMessages(b *testing.B) {
	var program, flow float64
	b.Run("program", func(b *testing.B) { program = programMessages(b) })
	b.Run("flow", func(b *testing.B) { flow = flowMessages(b) })
	if flow > 0 {
		b.Logf("program/flow: %.2f", program/flow)
	}
}

func programMessages(b *testing.B) float64 {
	x, y := pair(b, newLab(b, uverbs.DefaultLimits()), rdma.QPConfig{SendDepth: depth})
	wr := rdma.WR{Op: rdma.Write, Local: x.mem.Segment(0, 64), Remote: y.mem.Target(0)}
	var done [depth]rdma.Completion
	b.ReportAllocs()
	b.ResetTimer()
	for posted, completed := 0, 0; completed < b.N; {
		for posted < b.N && posted-completed < depth {
			post(b, x.qp, wr)
			posted++
		}
		n, err := x.cq.Wait(b.Context(), done[:])
		if err != nil {
			b.Fatal(err)
		}
		completed += n
	}
	return rate(b)
}

func rate(b *testing.B) float64 {
	perSecond := float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(perSecond, "msg/s")
	return perSecond
}

func flowMessages(b *testing.B) float64 {
	s := newLab(b, uverbs.DefaultLimits())
	var regions [2]*qp.Region
	var locals [2]nic.Local
	for i := range s {
		do(b, s[i], func(unit.Time) (err error) {
			n := s[i].host.NIC()
			if regions[i], err = n.RegisterMR(4096, everything); err != nil {
				return err
			}
			locals[i], err = n.CreateQP(n.QPConfig())
			return err
		})
	}
	for i := range s {
		do(b, s[i], func(unit.Time) error {
			return s[i].host.NIC().Connect(locals[i].QPN, nic.Remote{QPN: locals[1-i].QPN,
				PSN: locals[1-i].PSN, IP: s[1-i].ip, MAC: macOf(1 - i)})
		})
	}
	b.ResetTimer()
	do(b, s[0], func(now unit.Time) error {
		_, err := s[0].host.Start(now, app.Flow{Name: "bench", QPN: locals[0].QPN, Op: qp.Write,
			Local:  qp.Local{Key: regions[0].Key, VA: regions[0].VA, Length: 64},
			Remote: qp.Remote{VA: regions[1].VA, RKey: regions[1].Key},
			Depth:  depth, Messages: uint64(b.N)})
		return err
	})
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for over := false; !over; <-tick.C {
		do(b, s[0], func(unit.Time) error {
			_, stats := s[0].host.Flow(0)
			over = stats.Done
			return nil
		})
	}
	return rate(b)
}

func do(b *testing.B, s *station, fn func(now unit.Time) error) {
	b.Helper()
	var err error
	if lost := s.loop.Do(func(now unit.Time) { err = fn(now) }); lost != nil {
		b.Fatal(lost)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkWake is one message at a time: doorbell to a daemon that sleeps, the message and its
// acknowledgement, and the wake-up of the program.
func BenchmarkWake(b *testing.B) {
	x, y := pair(b, newLab(b, uverbs.DefaultLimits()), rdma.QPConfig{})
	wr := rdma.WR{Op: rdma.Write, Local: x.mem.Segment(0, 8), Remote: y.mem.Target(0)}
	var done [1]rdma.Completion
	b.ReportAllocs()
	for b.Loop() {
		post(b, x.qp, wr)
		if _, err := x.cq.Wait(b.Context(), done[:]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPost is messages in bursts: a burst in one call, one completion for all of it. The
// allocations are those of the whole process: the wire in memory copies frames.
func BenchmarkPost(b *testing.B) {
	x, y := pair(b, newLab(b, uverbs.DefaultLimits()), rdma.QPConfig{SendDepth: depth})
	wr := make([]rdma.WR, depth)
	for i := range wr {
		wr[i] = rdma.WR{Op: rdma.Write, Local: x.mem.Segment(0, 8), Remote: y.mem.Target(0),
			Unsignaled: i != depth-1}
	}
	var done [1]rdma.Completion
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += depth {
		if _, err := x.qp.Post(wr...); err != nil {
			b.Fatal(err)
		}
		if _, err := x.cq.Wait(b.Context(), done[:]); err != nil {
			b.Fatal(err)
		}
	}
}

// Post, PostReceive, Poll and Wait allocate nothing, on neither side. The link is down, so that no
// frames are copied by the wire in memory; the completions are those of requests that are flushed.
func TestPostAndPollAllocateNothing(t *testing.T) {
	s := newLab(t, uverbs.DefaultLimits())
	a, b := pair(t, s, rdma.QPConfig{SendDepth: 1024, ReceiveDepth: 1024, MaxInline: 64})
	err := s[0].loop.Do(func(now unit.Time) { s[0].host.SetLink(now, nic.Port, false) })
	if err != nil {
		t.Fatal(err)
	}
	send := []rdma.WR{{Op: rdma.Write, Local: a.mem.Segment(0, 8), Remote: b.mem.Target(0)},
		{Op: rdma.Write, Inline: make([]byte, 64), Remote: b.mem.Target(0)}}
	take := []rdma.ReceiveWR{{Local: a.mem.Segment(0, 8)}, {}}
	const rounds = 400
	posting := testing.AllocsPerRun(rounds, func() {
		if n, err := a.qp.Post(send...); n != len(send) || err != nil {
			t.Fatal(n, err)
		}
		if n, err := a.qp.PostReceive(take...); n != len(take) || err != nil {
			t.Fatal(n, err)
		}
	})
	if err := a.qp.Fail(); err != nil {
		t.Fatal(err)
	}
	var c [2]rdma.Completion
	left := (rounds + 1) * (len(send) + len(take))
	left = min(left, a.cq.Depth())
	polling := testing.AllocsPerRun(left/(2*len(c))-1, func() {
		if n, err := a.cq.Wait(t.Context(), c[:]); n != len(c) || err != nil {
			t.Fatal(n, err)
		}
		if n, err := a.cq.Poll(c[:]); n != len(c) || err != nil {
			t.Fatal(n, err)
		}
	})
	if posting != 0 || polling != 0 {
		t.Errorf("%v allocations to post, %v to poll", posting, polling)
	}
}
